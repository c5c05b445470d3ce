//! The directory that has our programs. The engine runs one of them by its path, as root of the container, while the
//! sandbox's own processes run. So nothing of the container may be able to put another one in its place.

use ak_jail::fault::{During, Fault, Outcome};
use rustix::fs::{AtFlags, CWD, StatVfsMountFlags, StatxAttributes, StatxFlags, statvfs, statx};

pub const PLACE: &str = "/.agentkernel";

/// An image could have a symlink there: the engine follows it, and the sandbox could replace it later.
pub fn insist_on_fixed_place() -> Outcome<()> {
    let found = statx(CWD, PLACE, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS)
        .during(format_args!("look at {PLACE}"))?;
    let is_mount_point = if found.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) {
        found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
    } else {
        // Before Linux 5.8. A directory of the image is on the root's own device.
        let root = statx(CWD, "/", AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS).during("look at the root")?;
        (found.stx_dev_major, found.stx_dev_minor) != (root.stx_dev_major, root.stx_dev_minor)
    };
    let is_readonly =
        statvfs(PLACE).during(format_args!("look at {PLACE}"))?.f_flag.contains(StatVfsMountFlags::RDONLY);
    if is_mount_point && is_readonly {
        return Ok(());
    }
    Err(Fault::new("image_invalid", format!("{PLACE} is not the read-only mount that the engine was asked for"))
        .hint("the image has something else at this path: use another image"))
}
