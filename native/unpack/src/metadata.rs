//! Owner, mode, time and extended attributes of an entry.

use std::{
    ffi::OsStr,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::ffi::OsStrExt,
    },
};

use rustix::{
    fs::{
        AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags, chmodat, chownat, flistxattr, fremovexattr,
        fsetxattr, openat, utimensat,
    },
    io::Errno,
};

use crate::{
    archive::{Kind, Member, Time},
    refused::Refused,
};

/// As much as the kernel lists at most.
const MAX_NAMES: usize = 64 << 10;

/// The kernel takes the highest number for "no change".
fn id(number: u64) -> Result<u32, Refused> {
    u32::try_from(number)
        .ok()
        .filter(|&id| id != u32::MAX)
        .ok_or_else(|| Refused::Hostile("an entry has an owner that is no id".into()))
}

/// Gives an entry its owner, mode and attributes. Ids that this user namespace lacks stay those of the current user. A
/// symlink has no mode.
pub fn give(directory: BorrowedFd<'_>, name: &OsStr, member: &Member) -> Result<(), Refused> {
    let failed = |what: &'static str| move |e: Errno| Refused::during(format!("{what} of {name:?}"))(e.into());
    let (uid, gid) = (Uid::from_raw(id(member.uid)?), Gid::from_raw(id(member.gid)?));
    for ids in [(Some(uid), None), (None, Some(gid))] {
        match chownat(directory, name, ids.0, ids.1, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(()) | Err(Errno::INVAL | Errno::PERM) => {}
            Err(e) => return Err(failed("the owner")(e)),
        }
    }
    if member.kind == Kind::Symlink {
        return Ok(());
    }
    let is_directory = member.kind == Kind::Directory;
    if is_directory || !member.attributes.is_empty() {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(directory, name, flags, Mode::empty()).map_err(failed("the attributes"))?;
        if is_directory {
            clear_attributes(file.as_fd());
        }
        for (key, value) in &member.attributes {
            give_attribute(file.as_fd(), key, value)?;
        }
    }
    // After the owner, which takes setuid bits away.
    chmodat(directory, name, Mode::from_raw_mode(member.mode), AtFlags::empty()).map_err(failed("the mode"))
}

/// A directory that lower layers have is given new attributes, not further ones. What may not be removed was not given by
/// an image.
fn clear_attributes(directory: BorrowedFd<'_>) {
    let mut names = vec![0u8; MAX_NAMES];
    let Ok(length) = flistxattr(directory, &mut names) else { return };
    for name in names[..length].split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        let _ = fremovexattr(directory, OsStr::from_bytes(name));
    }
}

/// The union filesystem's own attributes would let a layer redirect or hide what is below it.
fn give_attribute(file: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> Result<(), Refused> {
    let shown = String::from_utf8_lossy(key);
    if key.starts_with(b"user.overlay.") {
        return Err(Refused::Hostile(format!("the layer sets the attribute {shown:?}")));
    }
    match fsetxattr(file, OsStr::from_bytes(key), value, XattrFlags::empty()) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::PERM | Errno::INVAL) => Ok(()),
        Err(e) => Err(Refused::during(format!("set the attribute {shown:?}"))(e.into())),
    }
}

pub fn set_time(directory: BorrowedFd<'_>, name: &OsStr, time: Time) -> Result<(), Refused> {
    let time = Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(directory, name, &times, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|e| Refused::Io(format!("the time of {name:?}: {e}")))
}
