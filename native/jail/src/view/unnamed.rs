//! Repositories of git's that no rule protects by their name, such as a bare one: what is protected in a `.git` is
//! protected in them.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{FileType, OFlags};

use super::{
    matcher::{Match, Matcher},
    repository::{Parts, as_in_git},
    spelling::is_same,
    survey::Hit,
    walk::{Unread, Visitor, open_below, walk},
};
use crate::fault::Outcome;

/// The folder of a repository, as git names it, and the file that each has.
pub const FOLDER: &[u8] = b".git";
pub const HEAD: &[u8] = b"HEAD";

/// Whether git would take a folder with a `HEAD` for a repository.
pub fn is_repository(root: BorrowedFd<'_>, folder: &[u8]) -> rustix::io::Result<bool> {
    if in_git_folder(folder) {
        return Ok(false);
    }
    open_below(root, folder, OFlags::PATH | OFlags::DIRECTORY).map(|folder| Parts::of(folder.as_fd()).make_repository())
}

fn in_git_folder(folder: &[u8]) -> bool {
    let folder = folder.strip_suffix(b"/").unwrap_or(folder);
    folder.rsplit(|b| *b == b'/').next().is_some_and(|name| is_same(name, FOLDER))
}

pub struct InRepository<'a> {
    /// Empty or ending in `/`.
    pub path: &'a [u8],
    pub protect: &'a Matcher,
}

impl InRepository<'_> {
    /// By their paths below `root`. A repository that is gone by now is protected as a whole.
    pub fn hits(&self, root: BorrowedFd<'_>) -> Outcome<Vec<Hit>> {
        match open_below(root, self.path, OFlags::PATH | OFlags::DIRECTORY) {
            Ok(folder) => Ok(walk(folder.as_fd(), self)?.into_iter().flatten().collect()),
            Err(_) => Ok(vec![Hit { path: self.path.strip_suffix(b"/").unwrap_or(self.path).to_vec(), folder: true }]),
        }
    }
}

impl Visitor for InRepository<'_> {
    type Found = Vec<Hit>;

    fn entry(&self, folder: &[u8], name: &[u8], kind: FileType, found: &mut Vec<Hit>) -> bool {
        let (inside, is_folder) = (as_in_git(folder), kind == FileType::Directory);
        if matches!(self.protect.matches(&inside, name), Match::Yes)
            || !is_folder && self.protect.leads_in(&inside, name, kind == FileType::Symlink)
        {
            found.push(Hit { path: [self.path, folder, name].concat(), folder: is_folder });
        }
        is_folder
    }

    fn unread(&self, folder: &[u8], _why: Unread, found: &mut Vec<Hit>) {
        found.push(Hit { path: [self.path, folder].concat(), folder: true });
    }
}
