//! Where a link in a folder leads: what is hidden under the link's name must not be readable under its own.

use std::{
    fs,
    os::{
        fd::{AsRawFd, BorrowedFd},
        unix::ffi::OsStrExt,
    },
    path::PathBuf,
};

use rustix::fs::{FileType, OFlags, fstat, openat};

use super::survey::Hit;

/// What the link at `path` leads to, if that lies below `root`.
pub fn below(root: BorrowedFd<'_>, path: &[u8]) -> Option<Hit> {
    let target = openat(root, path, OFlags::PATH | OFlags::CLOEXEC, rustix::fs::Mode::empty()).ok()?;
    let stat = fstat(&target).ok()?;
    let inside = path_of(&target)?.strip_prefix(path_of(root)?).ok()?.as_os_str().as_bytes().to_vec();
    let folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    // A link to the root itself would hide everything and says nothing about where a secret is.
    (!inside.is_empty()).then_some(Hit { path: inside, folder })
}

fn path_of(fd: impl std::os::fd::AsFd) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd())).ok()
}
