//! Where a copy goes: into a directory under its own name, under a new name, or what is in it into a directory.

use std::{
    ffi::CString,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    io::Errno,
};

use crate::Failure;

#[derive(Debug, Clone)]
pub struct Destination {
    /// The path as it was requested; symlinks in it are followed.
    pub path: PathBuf,
    /// The name of the copy in a directory that exists.
    pub name: Vec<u8>,
    /// Whether the contents of the directory are copied, and not the directory itself.
    pub contents: bool,
}

pub enum Place {
    /// This directory itself.
    Directory(OwnedFd),
    Named(OwnedFd, CString),
}

impl Destination {
    pub fn resolve(&self, is_directory: bool) -> Result<Place, Failure> {
        let (path, shown) = (&self.path, self.path.display());
        match open_directory(path) {
            Ok(directory) => {
                let is_name =
                    !self.name.is_empty() && self.name != b"." && self.name != b".." && !self.name.contains(&b'/');
                if is_directory && (self.contents || !is_name) {
                    return Ok(Place::Directory(directory));
                }
                if !is_name {
                    return Err(Failure::new("is_dir", format!("{shown} is a directory; name the file in it")));
                }
                Ok(Place::Named(directory, c_name(&self.name)?))
            }
            Err(Errno::NOTDIR) if is_directory => {
                Err(Failure::new("not_dir", format!("{shown} is no directory, and a directory is to be copied there")))
            }
            Err(Errno::NOENT | Errno::NOTDIR) => {
                if !is_directory && path.as_os_str().as_bytes().ends_with(b"/") {
                    return Err(Failure::new("not_found", format!("the directory {shown} does not exist")));
                }
                let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                    return Err(Failure::new("invalid", format!("{shown} has no name")));
                };
                let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
                let directory = open_directory(parent)
                    .map_err(|errno| Failure::at(format!("the directory {}", parent.display()), errno))?;
                Ok(Place::Named(directory, c_name(name.as_bytes())?))
            }
            Err(errno) => Err(Failure::at(shown, errno)),
        }
    }
}

fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn c_name(name: &[u8]) -> Result<CString, Failure> {
    CString::new(name).map_err(|_| Failure::new("invalid", "a NUL byte in a name"))
}
