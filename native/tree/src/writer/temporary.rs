//! A file or link under a name of ours, until it is whole and takes its place.

use std::{
    ffi::CStr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{
        AtFlags, FileType, Gid, Mode, OFlags, Timestamps, Uid, fchmod, fchown, ftruncate, futimens, openat, renameat,
        statat, unlinkat,
    },
    io::{Errno, fcntl_dupfd_cloexec, pwrite},
};

const ATTEMPTS: usize = 8;

/// Removes its file unless that took its place.
pub struct Temporary {
    directory: OwnedFd,
    name: String,
    file: OwnedFd,
    /// Where the next bytes go.
    at: u64,
    is_placed: bool,
}

impl Temporary {
    pub fn create(directory: BorrowedFd<'_>) -> Result<Self, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..ATTEMPTS {
            let name = new_name()?;
            match openat(directory, &name, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => {
                    let directory = fcntl_dupfd_cloexec(directory, 0)?;
                    return Ok(Self { directory, name, file, at: 0, is_placed: false });
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::EXIST)
    }

    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), Errno> {
        while !bytes.is_empty() {
            match pwrite(&self.file, bytes, self.at) {
                Ok(0) => return Err(Errno::IO),
                Ok(count) => {
                    bytes = &bytes[count..];
                    self.at += count as u64;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Leaves a hole. The file gets its full size at once, so that one that is too large fails here.
    pub fn skip(&mut self, length: u64) -> Result<(), Errno> {
        let at = self.at.checked_add(length).ok_or(Errno::FBIG)?;
        ftruncate(&self.file, at)?;
        self.at = at;
        Ok(())
    }

    /// A link of that name is replaced and never followed; a directory, pipe or device stays.
    pub fn place(mut self, name: &CStr, mode: u32, times: Timestamps) -> Result<(), Errno> {
        if let Some(old) = replaceable(self.directory.as_fd(), name)? {
            // Who may not give files away keeps them.
            let _ = fchown(&self.file, Some(Uid::from_raw(old.st_uid)), Some(Gid::from_raw(old.st_gid)));
        }
        fchmod(&self.file, Mode::from_raw_mode(mode))?;
        futimens(&self.file, &times)?;
        renameat(&self.directory, &self.name, &self.directory, name)?;
        self.is_placed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_placed {
            // Another process may have removed it already.
            let _ = unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
    }
}

/// The regular file of that name, if there is one.
fn replaceable(directory: BorrowedFd<'_>, name: &CStr) -> Result<Option<rustix::fs::Stat>, Errno> {
    let old = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(old) => old,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    match FileType::from_raw_mode(old.st_mode) {
        FileType::RegularFile => Ok(Some(old)),
        FileType::Symlink => Ok(None),
        FileType::Directory => Err(Errno::ISDIR),
        _ => Err(Errno::EXIST),
    }
}

/// Makes a link beside its place and renames it.
pub fn link(directory: BorrowedFd<'_>, target: &[u8], name: &CStr) -> Result<(), Errno> {
    replaceable(directory, name)?;
    let temporary = new_name()?;
    rustix::fs::symlinkat(target, directory, &temporary)?;
    renameat(directory, &temporary, directory, name).inspect_err(|_| {
        // The first error is the one to tell.
        let _ = unlinkat(directory, &temporary, AtFlags::empty());
    })
}

fn new_name() -> Result<String, Errno> {
    let mut random = [0u8; 8];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
    Ok(format!(".ak-{:016x}.tmp", u64::from_ne_bytes(random)))
}
