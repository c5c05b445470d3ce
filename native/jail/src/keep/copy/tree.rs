//! A tree that a sandbox wrote, copied name by name. It may be deeper than any path and than there can be descriptors, so
//! only the folder that is worked on is open, and the way up is `..`, which must lead to where it came from.

use std::{
    ffi::{CStr, CString, OsStr},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
};

use rustix::{
    fs::{
        AtFlags, Dir, FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid, chmodat, chownat, fstat, linkat,
        mkdirat, mknodat, openat, readlinkat, statat, symlinkat, utimensat,
    },
    io::Errno,
};

use super::{Copied, FOLDER, contents, failed};
use crate::fault::{During, Fault, Outcome};

/// A folder and its copy.
struct Pair {
    from: OwnedFd,
    into: OwnedFd,
}

struct Level {
    /// Folders that are still to be copied.
    pending: Vec<CString>,
    from: Stat,
    into: Stat,
}

/// The folder `name` with everything in it. `links` is an empty folder on the copy's filesystem.
pub fn copy(from: &OwnedFd, into: &OwnedFd, name: &OsStr, links: &OwnedFd, copied: &mut Copied) -> Outcome<()> {
    let name = CString::new(name.as_bytes()).during("a name")?;
    let mut at = descend(from, into, &name)?;
    let mut levels = vec![fill(&at, links, copied)?];
    while let Some(level) = levels.last_mut() {
        if let Some(name) = level.pending.pop() {
            at = descend(&at.from, &at.into, &name)?;
            levels.push(fill(&at, links, copied)?);
            continue;
        }
        contents::resemble(&at.from, &at.into, &level.from)?;
        copied.entries += 1;
        levels.pop();
        if let Some(above) = levels.last() {
            at = ascend(&at, above)?;
        }
    }
    Ok(())
}

fn descend(from: &OwnedFd, into: &OwnedFd, name: &CStr) -> Outcome<Pair> {
    mkdirat(into, name, Mode::from_raw_mode(0o700)).map_err(|e| failed("copy a folder", e))?;
    let open = |at: &OwnedFd| openat(at, name, FOLDER, Mode::empty()).during("open a folder to copy");
    Ok(Pair { from: open(from)?, into: open(into)? })
}

fn ascend(at: &Pair, above: &Level) -> Outcome<Pair> {
    let up = |folder: &OwnedFd, expected: &Stat| {
        let opened = openat(folder, "..", FOLDER, Mode::empty()).during("go back to a folder")?;
        let found = fstat(&opened).during("go back to a folder")?;
        if (found.st_dev, found.st_ino) == (expected.st_dev, expected.st_ino) {
            Ok(opened)
        } else {
            Err(Fault::new("conflict", "the sandbox's files were moved while they were copied").hint("try again"))
        }
    };
    Ok(Pair { from: up(&at.from, &above.from)?, into: up(&at.into, &above.into)? })
}

/// Copies everything in it that is no folder.
fn fill(at: &Pair, links: &OwnedFd, copied: &mut Copied) -> Outcome<Level> {
    let look = |folder: &OwnedFd| fstat(folder).during("look at a folder to copy");
    let mut level = Level { pending: Vec::new(), from: look(&at.from)?, into: look(&at.into)? };
    for entry in Dir::read_from(&at.from).during("read a folder to copy")? {
        let entry = entry.during("read a folder to copy")?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let stat = statat(&at.from, name, AtFlags::SYMLINK_NOFOLLOW).during("look at a file to copy")?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            level.pending.push(name.to_owned());
        } else {
            entry_of(at, name, &stat, links, copied)?;
            copied.entries += 1;
        }
    }
    Ok(level)
}

fn entry_of(at: &Pair, name: &CStr, stat: &Stat, links: &OwnedFd, copied: &mut Copied) -> Outcome<()> {
    if stat.st_nlink < 2 {
        return fresh(at, name, stat, copied);
    }
    let known = format!("{:x}", stat.st_ino);
    match linkat(links, known.as_str(), &at.into, name, AtFlags::empty()) {
        Ok(()) => Ok(()),
        Err(Errno::NOENT) => {
            fresh(at, name, stat, copied)?;
            linkat(&at.into, name, links, known.as_str(), AtFlags::empty()).map_err(|e| failed("copy a link", e))
        }
        Err(e) => Err(failed("copy a link", e)),
    }
}

fn fresh(at: &Pair, name: &CStr, stat: &Stat, copied: &mut Copied) -> Outcome<()> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => contents::copy_file(&at.from, &at.into, name, stat, copied),
        FileType::Symlink => {
            let target = readlinkat(&at.from, name, Vec::new()).during("read a link")?;
            symlinkat(target.as_c_str(), &at.into, name).map_err(|e| failed("copy a link", e))?;
            own(at, name, stat)?;
            set_times(at, name, stat)
        }
        kind => {
            // A whiteout is a device without a driver, which everybody may make. No sandbox can make another.
            let is_whiteout = kind == FileType::CharacterDevice && stat.st_rdev == 0;
            if !is_whiteout && kind != FileType::Fifo && kind != FileType::Socket {
                return Err(Fault::new("unsupported", "there is a device among the sandbox's files")
                    .hint("no sandbox can have made it; take it out of the sandbox's folder"));
            }
            let mode = Mode::from_raw_mode(stat.st_mode & 0o7777);
            mknodat(&at.into, name, kind, mode, 0).map_err(|e| failed("copy a special file", e))?;
            own(at, name, stat)?;
            // It was made just now, and is no link.
            chmodat(&at.into, name, mode, AtFlags::empty()).map_err(|e| failed("copy a special file", e))?;
            set_times(at, name, stat)
        }
    }
}

fn own(at: &Pair, name: &CStr, stat: &Stat) -> Outcome<()> {
    let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    chownat(at.into.as_fd(), name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|e| failed("give a copy its owner", e))
}

fn set_times(at: &Pair, name: &CStr, stat: &Stat) -> Outcome<()> {
    utimensat(&at.into, name, &times_of(stat), AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|e| failed("give a copy its times", e))
}

pub fn times_of(stat: &Stat) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: stat.st_atime, tv_nsec: stat.st_atime_nsec as _ },
        last_modification: Timespec { tv_sec: stat.st_mtime, tv_nsec: stat.st_mtime_nsec as _ },
    }
}

pub const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
