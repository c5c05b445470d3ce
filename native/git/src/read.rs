//! Files below a repository, reached step by step without following a symlink.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::{
    fs::{Dir, FileType, Mode, OFlags, ResolveFlags, fgetxattr, fstat, openat2},
    io::{Errno, pread, read},
};

use crate::malformed::{Malformed, Result};

const SAFE: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// None if it is not there.
pub fn open(at: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<Option<OwnedFd>> {
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // With O_PATH the kernel takes no other flags.
    let flags = if flags.contains(OFlags::PATH) { flags | OFlags::CLOEXEC } else { flags | SAFE };
    match openat2(at, path, flags, Mode::empty(), beneath) {
        Ok(file) => Ok(Some(file)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        // An overlayfs whiteout stands for a deletion in a layer.
        Err(Errno::NXIO | Errno::NODEV | Errno::ACCESS) if is_whiteout(at, path) => Ok(None),
        Err(e) => Err(Malformed::new(format!("{path} cannot be opened: {e}"))),
    }
}

pub fn is_whiteout(at: BorrowedFd<'_>, path: &str) -> bool {
    rustix::fs::statat(at, path, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0)
}

/// Whether a layer's directory has nothing of the one below it.
pub fn is_opaque(at: BorrowedFd<'_>, path: &str) -> Result<bool> {
    let Some(directory) = open(at, path, OFlags::DIRECTORY)? else { return Ok(false) };
    let mut value = [0u8; 4];
    Ok(fgetxattr(&directory, "user.overlay.opaque", &mut value).is_ok_and(|n| n == 1 && value[0] == b'y'))
}

/// A whole regular file; None if there is none.
pub fn file(at: BorrowedFd<'_>, path: &str, limit: u64) -> Result<Option<Vec<u8>>> {
    let Some(file) = open(at, path, OFlags::empty())? else { return Ok(None) };
    let stat = fstat(&file).map_err(|e| Malformed::new(format!("{path}: {e}")))?;
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if size <= limit => {}
        FileType::CharacterDevice if stat.st_rdev == 0 => return Ok(None),
        FileType::RegularFile => return Err(Malformed::new(format!("{path} is too large to be looked into"))),
        _ => return Err(Malformed::new(format!("{path} is not a regular file"))),
    }
    let mut bytes = vec![0; size as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match read(&file, &mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(e) => return Err(Malformed::new(format!("{path} cannot be read: {e}"))),
        }
    }
    bytes.truncate(filled);
    Ok(Some(bytes))
}

/// A part of an open file, as long as there is.
pub fn part(file: BorrowedFd<'_>, at: u64, length: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match pread(file, &mut bytes[filled..], at + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(e) => return Err(Malformed::new(format!("a pack cannot be read: {e}"))),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Names and kinds in a directory; none where it does not exist.
pub fn names(at: BorrowedFd<'_>, path: &str, limit: usize) -> Result<Vec<(String, FileType)>> {
    let failed = |e: Errno| Malformed::new(format!("{path} cannot be read: {e}"));
    let Some(directory) = open(at, path, OFlags::DIRECTORY)? else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for entry in Dir::read_from(directory.as_fd()).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // git has no others.
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name == "." || name == ".." {
            continue;
        }
        if names.len() == limit {
            return Err(Malformed::new(format!("{path} has too many entries")));
        }
        names.push((name.to_owned(), entry.file_type()));
    }
    Ok(names)
}
