//! An id-mapped mount: as root, image layers are shown to each sandbox through one. Rootless does without.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, statat};
use rustix::mount::{OpenTreeFlags, open_tree};
use rustix::process::geteuid;
use rustix::thread::UnshareFlags;

use super::Context;
use crate::namespace::{RANGE_START, map_range, unshare};
use crate::process::Helper;
use crate::report::{Explain, Fault, Verdict, expect};
use crate::userns_hint;

/// A directory that the `host` image shows, so its filesystem is the one that matters.
const DIRECTORY: &str = "/usr";
const HINT: &str = "id-mapped mounts need Linux 5.12 or newer and a filesystem that supports them (ext4, xfs, btrfs; overlay and most network filesystems do not): keep the image store on such a one";

pub fn probe(_: &Context) -> Verdict {
    if !geteuid().is_root() {
        return Err(Fault::not_needed("needs root; not needed rootless"));
    }
    let namespace = mapped_user_namespace()?;
    let before = statat(CWD, DIRECTORY, AtFlags::empty()).or_fault("looking at /usr", HINT)?;
    let tree = open_tree(CWD, DIRECTORY, OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC)
        .or_fault("cloning the mount of /usr", HINT)?;
    // The mount was never attached, so it goes away with its descriptor.
    set_idmap(&tree, &namespace).or_fault("id-mapping a mount of /usr", HINT)?;
    let after = statat(&tree, "", AtFlags::EMPTY_PATH).or_fault("looking through the mount", HINT)?;
    expect(
        after.st_uid == RANGE_START + before.st_uid && after.st_gid == RANGE_START + before.st_gid,
        "the mount does not show owners as mapped",
        HINT,
    )?;
    Ok("owners show as mapped through a mount of /usr".to_owned())
}

fn mapped_user_namespace() -> Result<OwnedFd, Fault> {
    let (ready_reader, ready_writer) = crate::process::pipe().or_fault("making a pipe", "try again")?;
    let maker = Helper::start(move || {
        unshare(UnshareFlags::NEWUSER).or_fault("making a user namespace", &userns_hint::hint())?;
        drop(ready_writer);
        loop {
            std::thread::park();
        }
    })?;
    let mut end = [0];
    let ready = rustix::io::read(&ready_reader, &mut end);
    let opened = ready
        .map_err(std::io::Error::from)
        .and_then(|_| map_range(maker.pid))
        .and_then(|()| File::open(format!("/proc/{}/ns/user", maker.pid.as_raw_nonzero())));
    maker.kill()?;
    Ok(opened.or_fault("mapping ids of a user namespace", &userns_hint::hint())?.into())
}

fn set_idmap(tree: &OwnedFd, namespace: &OwnedFd) -> std::io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_IDMAP,
        attr_clr: 0,
        propagation: 0,
        userns_fd: u64::try_from(namespace.as_raw_fd()).map_err(std::io::Error::other)?,
    };
    // SAFETY: both descriptors are open, the path is an empty C string, and the structure outlives the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
