//! The layer that makes hidden files vanish: a tree of whiteouts laid over the project. It hides by name, so it
//! also holds when the host replaces the file while the sandbox runs.

use std::{
    ffi::CString,
    os::fd::{AsFd, BorrowedFd},
};

use rustix::{
    fs::{
        AtFlags, FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid, chmodat, chownat, fstat, mkdirat,
        mknodat, utimensat,
    },
    io::Errno,
};

use super::{survey::Hit, walk::open_below};
use crate::fault::{During, Outcome};

/// Fills `mask` with whiteouts for `hidden`. `lower` is the folder they hide, seen from inside.
pub fn build(mask: BorrowedFd<'_>, lower: BorrowedFd<'_>, hidden: &[Hit]) -> Outcome<()> {
    let mut folders: Vec<CString> = Vec::new();
    for hit in hidden {
        for (end, _) in hit.path.iter().enumerate().filter(|(_, b)| **b == b'/') {
            let folder = c_path(&hit.path[..end])?;
            match mkdirat(mask, folder.as_c_str(), Mode::from_raw_mode(0o700)) {
                Ok(()) => folders.push(folder),
                Err(Errno::EXIST) => {}
                Err(e) => return Err(e).during("make the mask"),
            }
        }
        let path = c_path(&hit.path)?;
        mknodat(mask, path.as_c_str(), FileType::CharacterDevice, Mode::empty(), 0).during("make a whiteout")?;
    }
    // Deepest first: a folder's time changes when something is made in it.
    for folder in folders.iter().rev() {
        // Without following what may have taken the place of a folder above it.
        let Ok(stat) = open_below(lower, folder.as_bytes(), OFlags::PATH).and_then(fstat) else {
            continue;
        };
        resemble(mask, folder, &stat)?;
    }
    Ok(())
}

/// Gives a folder of ours the mode, owner and time of the one it stands for.
pub fn resemble(at: BorrowedFd<'_>, path: &CString, like: &Stat) -> Outcome<()> {
    match chownat(
        at.as_fd(),
        path.as_c_str(),
        Some(Uid::from_raw(like.st_uid)),
        Some(Gid::from_raw(like.st_gid)),
        AtFlags::SYMLINK_NOFOLLOW,
    ) {
        // An owner that has no id inside (shown as nobody) cannot be given.
        Ok(()) | Err(Errno::INVAL | Errno::PERM | Errno::OVERFLOW) => {}
        Err(e) => return Err(e).during("own a folder of the mask"),
    }
    chmodat(at.as_fd(), path.as_c_str(), Mode::from_raw_mode(like.st_mode & 0o7777), AtFlags::empty())
        .during("set the mode of a folder of the mask")?;
    let time = Timespec { tv_sec: like.st_mtime, tv_nsec: like.st_mtime_nsec as _ };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(at.as_fd(), path.as_c_str(), &times, AtFlags::SYMLINK_NOFOLLOW)
        .during("set the time of a folder of the mask")
}

fn c_path(path: &[u8]) -> Outcome<CString> {
    CString::new(path).during("a path of the mask")
}
