//! Owner, mode, time and extended attributes of an entry.

use std::{
    ffi::OsStr,
    io::Read,
    os::fd::{AsFd, BorrowedFd},
};

use rustix::{
    fs::{
        AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags, chmodat, chownat, fsetxattr, openat,
        utimensat,
    },
    io::Errno,
};
use tar::Entry;

use crate::refused::Refused;

#[derive(Debug, Clone, Copy)]
pub struct Time {
    seconds: i64,
    nanoseconds: u32,
}

pub struct About {
    uid: u32,
    gid: u32,
    mode: u32,
    pub time: Time,
    attributes: Vec<(String, Vec<u8>)>,
}

const XATTR: &str = "SCHILY.xattr.";

pub fn read<R: Read>(entry: &mut Entry<'_, R>) -> Result<About, Refused> {
    let bad = |e: std::io::Error| Refused::Hostile(format!("an entry's header: {e}"));
    let header = entry.header();
    let id = |value: u64| u32::try_from(value).map_err(|_| Refused::Hostile("an owner that is no id".into()));
    let mut about = About {
        uid: id(header.uid().map_err(bad)?)?,
        gid: id(header.gid().map_err(bad)?)?,
        mode: header.mode().map_err(bad)? & 0o7777,
        time: Time { seconds: i64::try_from(header.mtime().map_err(bad)?).unwrap_or(0), nanoseconds: 0 },
        attributes: Vec::new(),
    };
    let Some(extensions) = entry.pax_extensions().map_err(bad)? else { return Ok(about) };
    for extension in extensions {
        let extension = extension.map_err(bad)?;
        let Ok(key) = extension.key() else { continue };
        match (key, extension.value()) {
            ("mtime", Ok(text)) => about.time = parse_time(text).unwrap_or(about.time),
            ("uid", Ok(text)) => {
                about.uid = text.parse().map_err(|_| Refused::Hostile("an owner that is no id".into()))?
            }
            ("gid", Ok(text)) => {
                about.gid = text.parse().map_err(|_| Refused::Hostile("a group that is no id".into()))?
            }
            _ => {
                if let Some(name) = key.strip_prefix(XATTR) {
                    about.attributes.push((name.to_owned(), extension.value_bytes().to_vec()));
                }
            }
        }
    }
    Ok(about)
}

fn parse_time(text: &str) -> Option<Time> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let nanoseconds: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
    Some(Time { seconds: seconds.parse().ok()?, nanoseconds: nanoseconds.parse().ok()? })
}

/// Gives an entry its owner, mode and attributes. Ids that this user namespace does not have (a user with a single id)
/// stay those of the user. A link has no mode.
pub fn give(folder: BorrowedFd<'_>, name: &OsStr, about: &About, is_link: bool) -> Result<(), Refused> {
    let failed = |what: &'static str| move |e: Errno| Refused::during(format!("{what} of {name:?}"))(e.into());
    let ids = (Some(Uid::from_raw(about.uid)), Some(Gid::from_raw(about.gid)));
    match chownat(folder, name, ids.0, ids.1, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(()) | Err(Errno::INVAL | Errno::PERM) => {}
        Err(e) => return Err(failed("the owner")(e)),
    }
    if is_link {
        return Ok(());
    }
    if !about.attributes.is_empty() {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(folder, name, flags, Mode::empty()).map_err(failed("the attributes"))?;
        for (key, value) in &about.attributes {
            give_attribute(file.as_fd(), key, value)?;
        }
    }
    // After the owner, which takes setuid bits away.
    chmodat(folder, name, Mode::from_raw_mode(about.mode), AtFlags::empty()).map_err(failed("the mode"))
}

/// The union filesystem's own attributes would let a layer redirect or hide what is below it.
fn give_attribute(file: BorrowedFd<'_>, key: &str, value: &[u8]) -> Result<(), Refused> {
    if key.starts_with("user.overlay.") {
        return Err(Refused::Hostile(format!("the layer sets the attribute {key:?}")));
    }
    match fsetxattr(file, key, value, XattrFlags::empty()) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::PERM | Errno::INVAL) => Ok(()),
        Err(e) => Err(Refused::during(format!("set the attribute {key:?}"))(e.into())),
    }
}

pub fn set_time(folder: BorrowedFd<'_>, name: &OsStr, time: Time) -> Result<(), Refused> {
    let time = Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(folder, name, &times, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|e| Refused::Io(format!("the time of {name:?}: {e}")))
}
