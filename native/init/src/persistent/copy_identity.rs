//! A copy of a machine that was saved while it ran becomes another machine: time, entropy, names, boot id and whom to
//! trust are its own before anything of the sandbox runs again. The sandbox stands still since before it was saved, and
//! what lies in its files is as hostile as ever: nothing is opened through them, and ours takes the place of whatever
//! has its name.

use std::{
    fs::{self, File},
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use ak_jail::{
    etc_files,
    fault::{During, Outcome},
    image_root,
    place::{self, Root},
    spec::Network,
    trust,
};
use rustix::{
    mount::{MountFlags, mount_remount},
    rand::{GetRandomFlags, getrandom},
    system::sethostname,
    thread::{LinkNameSpaceType, move_into_link_name_space},
    time::{ClockId, clock_settime},
};

use super::freezer::Thaw;
use crate::{
    ended::EndedSandbox,
    identity::{self, MACHINE_ID},
    shape::Shape,
    sys,
    wake::Wake,
};

/// A file of this program's own filesystem, mounted over the kernel's boot id, which cannot be changed.
const BOOT_ID: &str = "/boot-id";
const KERNELS_BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The part of a sandbox's shape that matters here.
#[derive(Clone, Copy)]
pub struct Kind {
    network: Network,
    is_root_readonly: bool,
}

impl Kind {
    pub fn of(shape: &Shape) -> Self {
        Self { network: shape.network(), is_root_readonly: shape.root_readonly }
    }
}

/// In a process of its own, which ends with it. `pid`: of the sandbox's first process.
pub fn take_identity(wake: &Wake<'_>, pid: libc::pid_t, ended: &EndedSandbox, kind: Kind) -> Outcome<()> {
    let thaw = Thaw::open()?;
    clock_settime(ClockId::Realtime, wake.now).during("set the clock")?;
    sys::reseed(&identity::open_random()?, wake.entropy).during("give the machine entropy of its own")?;
    let boot_id = new_boot_id()?;
    let names = File::open(format!("/proc/{pid}/ns/uts")).during("look into the sandbox")?;
    move_into_link_name_space(names.as_fd(), Some(LinkNameSpaceType::HostNameAndNISDomainName))
        .during("look into the sandbox")?;
    sethostname(wake.hostname.as_bytes()).during("set the host name")?;
    ended.enter()?;
    if let Some(boot_id) = boot_id {
        place::attach_at(&boot_id, Path::new(KERNELS_BOOT_ID)).during("change the boot id")?;
    }
    let root = Root::new(File::open("/").during("open the root")?.into());
    close_root(kind, false)?;
    write_files(&root, wake, kind)?;
    close_root(kind, true)?;
    thaw.now()
}

fn write_files(root: &Root, wake: &Wake<'_>, kind: Kind) -> Outcome<()> {
    let mut files: Vec<_> = etc_files::of_the_machine(wake.hostname, kind.network).into();
    let digits: String = wake.machine_id.iter().map(|byte| format!("{byte:02x}")).collect();
    files.push((MACHINE_ID, format!("{digits}\n")));
    image_root::write_machine(root, &files)?;
    match wake.rest()?.and_then(|rest| rest.trusted_certificate) {
        Some(certificate) => trust::install(root, &certificate),
        None => Ok(()),
    }
}

/// A read-only root becomes writable for these moments.
fn close_root(kind: Kind, is_closed: bool) -> Outcome<()> {
    if !kind.is_root_readonly {
        return Ok(());
    }
    let plain = MountFlags::BIND | MountFlags::NOSUID | MountFlags::NODEV;
    let flags = if is_closed { plain | MountFlags::RDONLY } else { plain };
    mount_remount("/", flags, "").during("close the root")
}

/// As a mount that can be put anywhere; none where what was put there before has it now.
fn new_boot_id() -> Outcome<Option<OwnedFd>> {
    let mut bytes = [0; 16];
    let length = getrandom(&mut bytes[..], GetRandomFlags::empty()).during("make a boot id")?;
    debug_assert_eq!(length, bytes.len());
    let is_shown = fs::exists(BOOT_ID).during("make a boot id")?;
    fs::write(BOOT_ID, format!("{}\n", random_uuid(bytes))).during("make a boot id")?;
    if is_shown {
        return Ok(None);
    }
    place::clone_readonly(Path::new(BOOT_ID)).during("make a boot id").map(Some)
}

/// Version 4, as the kernel has it.
fn random_uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_id_looks_like_the_kernels() {
        assert_eq!(random_uuid([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(random_uuid([0; 16]), "00000000-0000-4000-8000-000000000000");
    }
}
