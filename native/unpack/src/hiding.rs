//! Whiteouts. They speak of the layers below only: what this layer has made itself stays, wherever in the archive the
//! whiteout stands.

use std::{collections::HashSet, ffi::OsStr, os::fd::AsFd, os::fd::BorrowedFd, os::unix::ffi::OsStrExt};

use rustix::{
    fs::{Mode, OFlags, openat},
    io::Errno,
};

use crate::{
    refused::Refused,
    remove::{names, remove},
};

#[derive(Default)]
pub struct Hiding {
    /// Paths that this layer has made, with all directories above them.
    made: HashSet<Vec<u8>>,
    /// Directories in which nothing of the layers below is left. An archive could ask for it again and again.
    cleared: HashSet<Vec<u8>>,
}

impl Hiding {
    pub fn made(&mut self, mut path: Vec<u8>) {
        while !self.made.contains(&path) {
            let above = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
            let directory = path[..above].to_vec();
            self.made.insert(std::mem::replace(&mut path, directory));
        }
    }

    /// Hides one name of the layers below.
    pub fn hide(&mut self, directory: BorrowedFd<'_>, within: &[u8], hidden: &[u8]) -> Result<(), Refused> {
        let path = join(within, hidden);
        if !self.made.contains(&path) {
            return remove(directory, hidden);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(directory, OsStr::from_bytes(hidden), flags, Mode::empty()) {
            Ok(inner) => self.clear(inner.as_fd(), &path),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
            Err(e) => Err(Refused::during(format!("hide {:?}", String::from_utf8_lossy(hidden)))(e.into())),
        }
    }

    /// Hides everything that the layers below have in a directory.
    pub fn clear(&mut self, directory: BorrowedFd<'_>, path: &[u8]) -> Result<(), Refused> {
        if self.is_cleared(path) {
            return Ok(());
        }
        for name in names(directory).map_err(|e| Refused::during("read a directory")(e.into()))? {
            self.hide(directory, path, &name)?;
        }
        self.cleared.insert(path.to_vec());
        Ok(())
    }

    fn is_cleared(&self, path: &[u8]) -> bool {
        let above = (0..path.len()).filter(|&at| path[at] == b'/').map(|at| &path[..at]);
        self.cleared.contains(path) || above.chain([&b""[..]]).any(|directory| self.cleared.contains(directory))
    }
}

fn join(within: &[u8], name: &[u8]) -> Vec<u8> {
    if within.is_empty() { name.to_vec() } else { [within, name].join(&b'/') }
}
