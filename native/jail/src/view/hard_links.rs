//! Other names of hidden files: what is hidden under one name must not be readable under another.

use std::{
    collections::HashSet,
    os::fd::{AsFd, BorrowedFd},
};

use rustix::{
    fs::{FileType, OFlags, Stat, fstat},
    io::Errno,
};

use super::{
    link_target,
    survey::Hit,
    walk::{Unread, Visitor, list, open_below},
};

/// Device and number.
type Inode = (u64, u64);

/// What hidden names lead to.
#[derive(Default)]
pub struct Linked {
    /// Files with other names too.
    pub inodes: HashSet<Inode>,
    /// Where hidden symlinks lead.
    pub targets: Vec<Hit>,
    /// Something hidden went away before it could be looked at.
    pub are_incomplete: bool,
}

impl Linked {
    pub fn add(&mut self, other: Self) {
        self.inodes.extend(other.inodes);
        self.targets.extend(other.targets);
        self.are_incomplete |= other.are_incomplete;
    }

    /// Remembers files with several names at or below a hidden path.
    pub fn note(&mut self, root: BorrowedFd<'_>, host: BorrowedFd<'_>, path: &[u8]) {
        match self.stat(root, path).map(|stat| (FileType::from_raw_mode(stat.st_mode), stat)) {
            Some((FileType::Symlink, _)) => {
                if let Some(target) = link_target::below(host, path) {
                    // What it leads to is no link, so this goes one step further and no more.
                    self.note(root, host, &target.path);
                    self.targets.push(target);
                }
            }
            Some((FileType::Directory, _)) => self.note_below(root, path),
            Some((FileType::RegularFile, stat)) => self.note_file(&stat),
            _ => {}
        }
    }

    fn note_below(&mut self, root: BorrowedFd<'_>, path: &[u8]) {
        let mut queue = vec![[path, b"/"].concat()];
        while let Some(folder) = queue.pop() {
            let entries = match list(root, &folder) {
                Ok(Ok(entries)) => entries,
                Ok(Err(Unread::Denied)) | Err(_) => continue,
                Ok(Err(Unread::Gone)) => {
                    self.are_incomplete = true;
                    continue;
                }
            };
            for (name, _) in entries.iter() {
                let inner = [&folder[..], name].concat();
                match self.stat(root, &inner).map(|stat| (FileType::from_raw_mode(stat.st_mode), stat)) {
                    Some((FileType::Directory, _)) => queue.push([&inner[..], b"/"].concat()),
                    Some((FileType::RegularFile, stat)) => self.note_file(&stat),
                    _ => {}
                }
            }
        }
    }

    fn note_file(&mut self, stat: &Stat) {
        if stat.st_nlink > 1 {
            self.inodes.insert(inode(stat));
        }
    }

    fn stat(&mut self, root: BorrowedFd<'_>, path: &[u8]) -> Option<Stat> {
        let found = stat_below(root, path);
        self.are_incomplete |= matches!(found, Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP));
        found.ok()
    }
}

/// A second walk, only where a hidden file has several names: the other names.
pub struct ByInode<'a> {
    pub root: BorrowedFd<'a>,
    pub linked: &'a HashSet<Inode>,
    /// Hidden already, with all below.
    pub known: HashSet<&'a [u8]>,
}

impl Visitor for ByInode<'_> {
    type Found = Vec<Hit>;

    fn entry(&self, folder: &[u8], name: &[u8], kind: FileType, found: &mut Vec<Hit>) -> bool {
        let path = [folder, name].concat();
        if self.known.contains(path.as_slice()) {
            return false;
        }
        if kind == FileType::RegularFile
            // One that is gone by now may have been such a name, and may come back.
            && stat_below(self.root, &path).map_or(true, |stat| self.linked.contains(&inode(&stat)))
        {
            found.push(Hit { path, folder: false });
        }
        kind == FileType::Directory
    }

    fn unread(&self, folder: &[u8], _why: Unread, found: &mut Vec<Hit>) {
        found.push(Hit { path: folder.to_vec(), folder: true });
    }
}

fn stat_below(root: BorrowedFd<'_>, path: &[u8]) -> rustix::io::Result<Stat> {
    fstat(open_below(root, path, OFlags::PATH)?.as_fd())
}

fn inode(stat: &Stat) -> Inode {
    (stat.st_dev, stat.st_ino)
}
