//! Removes something with all below it, never following a link.

use std::{
    ffi::OsStr,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::ffi::OsStrExt,
    },
};

use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags, openat, unlinkat},
    io::Errno,
};

use crate::refused::Refused;

/// What is not there is removed already.
pub fn remove(folder: BorrowedFd<'_>, name: &[u8]) -> Result<(), Refused> {
    let at = OsStr::from_bytes(name);
    let failed = |e: Errno| Refused::during(format!("remove {:?}", String::from_utf8_lossy(name)))(e.into());
    match unlinkat(folder, at, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR) => {}
        Err(e) => return Err(failed(e)),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inner = openat(folder, at, flags, Mode::empty()).map_err(failed)?;
    for child in names(inner.as_fd())? {
        remove(inner.as_fd(), &child)?;
    }
    unlinkat(folder, at, AtFlags::REMOVEDIR).map_err(failed)
}

pub fn names(folder: BorrowedFd<'_>) -> Result<Vec<Vec<u8>>, Refused> {
    let failed = |e: Errno| Refused::Io(format!("read a folder: {e}"));
    let mut names = Vec::new();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = openat(folder, ".", flags, Mode::empty()).map_err(failed)?;
    for entry in Dir::read_from(&readable).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    Ok(names)
}
