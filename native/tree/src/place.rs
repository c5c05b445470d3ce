//! Where a copy goes: into a folder under its own name, under a new name, or what is in it into a folder.

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
    /// As whoever asked has named it; links in it are followed.
    pub path: PathBuf,
    /// The name of the copy in a directory that exists.
    pub name: Vec<u8>,
    /// Whether the contents of the directory are copied, and not the directory itself.
    pub contents: bool,
}

pub enum Place {
    /// This folder itself.
    Folder(OwnedFd),
    Named(OwnedFd, CString),
}

impl Destination {
    pub fn resolve(&self, is_folder: bool) -> Result<Place, Failure> {
        let (path, shown) = (&self.path, self.path.display());
        match open_folder(path) {
            Ok(folder) => {
                let is_name =
                    !self.name.is_empty() && self.name != b"." && self.name != b".." && !self.name.contains(&b'/');
                if is_folder && (self.contents || !is_name) {
                    return Ok(Place::Folder(folder));
                }
                if !is_name {
                    return Err(Failure::new("is_dir", format!("{shown} is a folder; name the file in it")));
                }
                Ok(Place::Named(folder, c_name(&self.name)?))
            }
            Err(Errno::NOTDIR) if is_folder => {
                Err(Failure::new("not_dir", format!("{shown} is no folder, and a folder is to be copied there")))
            }
            Err(Errno::NOENT | Errno::NOTDIR) => {
                if !is_folder && path.as_os_str().as_bytes().ends_with(b"/") {
                    return Err(Failure::new("not_found", format!("the folder {shown} does not exist")));
                }
                let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                    return Err(Failure::new("invalid", format!("{shown} has no name")));
                };
                let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
                let folder = open_folder(parent)
                    .map_err(|errno| Failure::at(format!("the folder {}", parent.display()), errno))?;
                Ok(Place::Named(folder, c_name(name.as_bytes())?))
            }
            Err(errno) => Err(Failure::at(shown, errno)),
        }
    }
}

fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn c_name(name: &[u8]) -> Result<CString, Failure> {
    CString::new(name).map_err(|_| Failure::new("invalid", "a NUL byte in a name"))
}
