//! The kernel's side: a mount that asks us.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount,
        fsopen,
    },
};

/// What the kernel's requests come through. It is not there where the kernel has no FUSE.
pub fn open_device() -> Result<OwnedFd, Errno> {
    open("/dev/fuse", OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
}

/// A mount that has no place yet. Nobody has to answer before something in it is looked at. Modes count for all users;
/// nothing in it can be written, be a device, or give rights.
pub fn mount(device: &OwnedFd) -> Result<OwnedFd, Errno> {
    let fs = fsopen("fuse", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let number = device.as_raw_fd().to_string();
    let options = [("source", "lazy"), ("fd", &*number), ("rootmode", "40000"), ("user_id", "0"), ("group_id", "0")];
    for (name, value) in options {
        fsconfig_set_string(&fs, name, value)?;
    }
    for flag in ["ro", "default_permissions", "allow_other"] {
        fsconfig_set_flag(&fs, flag)?;
    }
    fsconfig_create(&fs)?;
    let closed =
        MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, closed)
}
