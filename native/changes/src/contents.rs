//! Opening and reading files of either side. The path is the sandbox's choice, so no link is followed on the way.

use std::{
    ffi::CString,
    os::fd::{BorrowedFd, OwnedFd},
};

use ak_jail::{
    fault::{During, Fault, Outcome},
    place,
};
use rustix::{
    fs::{AtFlags, FileType, OFlags, ResolveFlags, Stat, fstat, statat},
    io::{Errno, pread},
};

/// As git looks for a NUL in it.
const LOOKED_AT: usize = 8000;

fn open_below(root: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let path = if path.is_empty() { c".".to_owned() } else { CString::new(path).map_err(|_| Errno::INVAL)? };
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    place::open_within(root, path.as_c_str(), flags, resolve)
}

pub fn open_directory(root: BorrowedFd<'_>, path: &[u8]) -> rustix::io::Result<OwnedFd> {
    open_below(root, path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// A regular file and what it is now.
pub fn open_file(root: BorrowedFd<'_>, path: &[u8]) -> Outcome<(OwnedFd, Stat)> {
    let shown = || String::from_utf8_lossy(path).into_owned();
    let file = open_below(root, path, OFlags::RDONLY).during(format_args!("open {}", shown()))?;
    let stat = fstat(&file).during("look at a file")?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Fault::new("conflict", format!("{} is no file any more", shown())).hint("try again"));
    }
    Ok((file, stat))
}

pub fn stat(directory: BorrowedFd<'_>, name: &std::ffi::CStr) -> Outcome<Option<Stat>> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(e) => Err(e).during("look at a file"),
    }
}

/// Also where it cannot be said.
pub fn is_there(directory: Option<BorrowedFd<'_>>, name: &std::ffi::CStr) -> bool {
    directory.is_some_and(|directory| !matches!(stat(directory, name), Ok(None)))
}

/// At most `limit` bytes from the beginning of a file.
pub fn read_start(file: &OwnedFd, limit: usize) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let start = bytes.len();
        let room = (limit - start).min(1 << 16);
        bytes.resize(start + room, 0);
        let n = if room == 0 { 0 } else { pread(file, &mut bytes[start..], start as u64).during("read a file")? };
        bytes.truncate(start + n);
        if n == 0 {
            return Ok(bytes);
        }
    }
}

pub fn is_binary(start: &[u8]) -> bool {
    start[..start.len().min(LOOKED_AT)].contains(&0)
}

pub fn looks_binary(root: BorrowedFd<'_>, path: &[u8]) -> Outcome<bool> {
    let (file, _) = open_file(root, path)?;
    Ok(is_binary(&read_start(&file, LOOKED_AT)?))
}
