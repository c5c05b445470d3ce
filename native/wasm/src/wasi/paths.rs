//! Files by their paths below a directory. The kernel follows each path and refuses one that leaves its directory; what is done
//! to a name is done to the last part of a path, in a directory that was found so.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, fstat, linkat, mkdirat, openat2, readlinkat, renameat, symlinkat,
    unlinkat, utimensat,
};
use rustix::io::Errno as Kernel;

use crate::wasi::descriptors::{Open, OpenDirectory, OpenFile};
use crate::wasi::errno::{Answer, Errno, Fault};
use crate::wasi::guest::Guest;
use crate::wasi::metadata::{flags, times_of, told_stat};

const FOLLOW: u32 = 1;
mod create {
    pub const CREATE: u32 = 1;
    pub const DIRECTORY: u32 = 2;
    pub const EXCLUSIVE: u32 = 4;
    pub const TRUNCATE: u32 = 8;
}
const RIGHT_TO_READ: u64 = 1 << 1 | 1 << 14;
const RIGHT_TO_WRITE: u64 = 1 | 1 << 6 | 1 << 8 | 1 << 22;
/// A process that renames directories all the time can make openat2 return EAGAIN without end.
const TRIES: usize = 64;

/// Nothing outside of the directory is ever found, not even for a moment.
fn find(directory: BorrowedFd<'_>, path: &str, how: OFlags, mode: Mode) -> Answer<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..TRIES {
        match openat2(directory, path, how | OFlags::CLOEXEC, mode, resolve) {
            Err(Kernel::AGAIN) => {}
            Err(Kernel::XDEV) => return Err(Errno::PERM.into()),
            other => return Ok(other?),
        }
    }
    Err(Errno::AGAIN.into())
}

/// The directory that a path's last part is in, and that part.
struct Place {
    directory: OwnedFd,
    name: String,
    /// It was written with a slash behind it, as only directories are.
    is_directory: bool,
}

fn place(directory: BorrowedFd<'_>, path: &str) -> Answer<Place> {
    let trimmed = path.trim_end_matches('/');
    if path.is_empty() {
        return Err(Errno::NOENT.into());
    }
    if trimmed.is_empty() || path.starts_with('/') {
        return Err(Errno::PERM.into());
    }
    let (parent, name) = trimmed.rsplit_once('/').unwrap_or((".", trimmed));
    if name == "." || name == ".." {
        return Err(Errno::INVAL.into());
    }
    let directory = find(directory, parent, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
    let is_directory = trimmed.len() < path.len();
    Ok(Place { directory, name: name.to_owned(), is_directory })
}

impl Place {
    /// The kernel would follow a link where a slash is behind it; so the slash is left out, and what it asks for checked.
    fn checked(self) -> Answer<Self> {
        if self.is_directory {
            find(
                self.directory.as_fd(),
                &self.name,
                OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW,
                Mode::empty(),
            )?;
        }
        Ok(self)
    }
}

fn how_of(open: u32, can_read: bool, can_write: bool, wanted: u32, lookup: u32) -> OFlags {
    let mut how = match (can_read, can_write) {
        (true, true) => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        _ => OFlags::RDONLY,
    };
    // O_NONBLOCK: an open must not wait for the other end of a FIFO. O_NOCTTY: no terminal becomes the controlling one.
    how |= OFlags::NONBLOCK | OFlags::NOCTTY;
    let asked = [
        (open & create::CREATE != 0, OFlags::CREATE),
        (open & create::DIRECTORY != 0, OFlags::DIRECTORY),
        (open & create::EXCLUSIVE != 0, OFlags::EXCL),
        (open & create::TRUNCATE != 0, OFlags::TRUNC),
        (lookup & FOLLOW == 0, OFlags::NOFOLLOW),
        (wanted & flags::APPEND != 0, OFlags::APPEND),
        (wanted & flags::DSYNC != 0, OFlags::DSYNC),
        (wanted & (flags::SYNC | flags::RSYNC) != 0, OFlags::SYNC),
    ];
    for (_, flag) in asked.into_iter().filter(|(is_asked, _)| *is_asked) {
        how |= flag;
    }
    how
}

impl Guest<'_> {
    #[expect(clippy::too_many_arguments, reason = "WASI's own list")]
    pub fn path_open(
        &mut self,
        fd: u32,
        lookup: u32,
        path: u32,
        length: u32,
        open: u32,
        base: u64,
        _inheriting: u64,
        wanted: u32,
        at: u32,
    ) -> Answer {
        let path = self.text(path, length)?;
        let directory = self.wasi.descriptors.directory(fd)?;
        let (can_read, can_write) = (base & RIGHT_TO_READ != 0, base & RIGHT_TO_WRITE != 0);
        let readonly = directory.readonly;
        if readonly && (can_write || open & (create::CREATE | create::TRUNCATE) != 0) {
            return Err(Errno::ROFS.into());
        }
        if open & create::DIRECTORY != 0 && open & (create::CREATE | create::EXCLUSIVE | create::TRUNCATE) != 0 {
            return Err(Errno::INVAL.into());
        }
        let how = how_of(open, can_read, can_write && open & create::DIRECTORY == 0, wanted, lookup);
        // The kernel takes a mode only where a file may be made.
        let mode = if open & create::CREATE != 0 { Mode::from_raw_mode(0o666) } else { Mode::empty() };
        let fd = find(directory.fd.as_fd(), &path, how, mode)?;
        let opened = match FileType::from_raw_mode(fstat(&fd)?.st_mode) {
            FileType::RegularFile => Open::File(OpenFile { fd, can_read, can_write, readonly }),
            FileType::Directory => Open::Directory(OpenDirectory { fd, readonly, name: None, listed: None }),
            _ => return Err(Errno::NOTSUP.into()),
        };
        let number = self.wasi.descriptors.add(opened)?;
        self.put_u32(at, number)
    }

    pub fn path_filestat_get(&mut self, fd: u32, lookup: u32, path: u32, length: u32, at: u32) -> Answer {
        let path = self.text(path, length)?;
        let directory = self.wasi.descriptors.directory(fd)?;
        let follow = if lookup & FOLLOW == 0 { OFlags::NOFOLLOW } else { OFlags::empty() };
        let found = find(directory.fd.as_fd(), &path, OFlags::PATH | follow, Mode::empty())?;
        let told = told_stat(&fstat(&found)?);
        self.put(at, &told)
    }

    #[expect(clippy::too_many_arguments, reason = "WASI's own list")]
    pub fn path_filestat_set_times(
        &mut self,
        fd: u32,
        lookup: u32,
        path: u32,
        length: u32,
        accessed: u64,
        modified: u64,
        which: u32,
    ) -> Answer {
        let path = self.text(path, length)?;
        let times = times_of(accessed, modified, which)?;
        let directory = self.wasi.descriptors.changeable(fd)?;
        if lookup & FOLLOW != 0 {
            // O_PATH names the file without opening it: a FIFO may have a process waiting for the other end.
            let found = find(directory.fd.as_fd(), &path, OFlags::PATH, Mode::empty())?;
            return Ok(utimensat(&found, "", &times, AtFlags::EMPTY_PATH)?);
        }
        let place = place(directory.fd.as_fd(), &path)?.checked()?;
        Ok(utimensat(&place.directory, &place.name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    pub fn path_create_directory(&mut self, fd: u32, path: u32, length: u32) -> Answer {
        let path = self.text(path, length)?;
        let directory = self.wasi.descriptors.changeable(fd)?;
        match place(directory.fd.as_fd(), &path) {
            Ok(place) => Ok(mkdirat(&place.directory, &place.name, Mode::from_raw_mode(0o777))?),
            Err(Fault::Told(Errno::INVAL)) => Err(Errno::EXIST.into()),
            Err(fault) => Err(fault),
        }
    }

    pub fn path_remove_directory(&mut self, fd: u32, path: u32, length: u32) -> Answer {
        let path = self.text(path, length)?;
        let directory = self.wasi.descriptors.changeable(fd)?;
        let place = place(directory.fd.as_fd(), &path)?.checked()?;
        Ok(unlinkat(&place.directory, &place.name, AtFlags::REMOVEDIR)?)
    }

    pub fn path_unlink_file(&mut self, fd: u32, path: u32, length: u32) -> Answer {
        let path = self.text(path, length)?;
        let directory = self.wasi.descriptors.changeable(fd)?;
        let place = place(directory.fd.as_fd(), &path)?;
        if place.is_directory {
            return Err(Errno::ISDIR.into());
        }
        Ok(unlinkat(&place.directory, &place.name, AtFlags::empty())?)
    }

    pub fn path_rename(
        &mut self,
        old_fd: u32,
        old: u32,
        old_length: u32,
        new_fd: u32,
        new: u32,
        new_length: u32,
    ) -> Answer {
        let (old, new) = (self.text(old, old_length)?, self.text(new, new_length)?);
        let mut from = place(self.wasi.descriptors.changeable(old_fd)?.fd.as_fd(), &old)?;
        let to = place(self.wasi.descriptors.changeable(new_fd)?.fd.as_fd(), &new)?;
        // A slash behind either name says that a directory is meant.
        from.is_directory |= to.is_directory;
        let from = from.checked()?;
        Ok(renameat(&from.directory, &from.name, &to.directory, &to.name)?)
    }

    #[expect(clippy::too_many_arguments, reason = "WASI's own list")]
    pub fn path_link(
        &mut self,
        old_fd: u32,
        lookup: u32,
        old: u32,
        old_length: u32,
        new_fd: u32,
        new: u32,
        new_length: u32,
    ) -> Answer {
        if lookup & FOLLOW != 0 {
            return Err(Errno::INVAL.into());
        }
        let (old, new) = (self.text(old, old_length)?, self.text(new, new_length)?);
        let from = place(self.wasi.descriptors.changeable(old_fd)?.fd.as_fd(), &old)?.checked()?;
        let to = place(self.wasi.descriptors.changeable(new_fd)?.fd.as_fd(), &new)?;
        if to.is_directory {
            return Err(Errno::NOENT.into());
        }
        Ok(linkat(&from.directory, &from.name, &to.directory, &to.name, AtFlags::empty())?)
    }

    /// One that starts at the root would mean another file to everybody else.
    pub fn path_symlink(&mut self, target: u32, target_length: u32, fd: u32, path: u32, length: u32) -> Answer {
        let (target, path) = (self.text(target, target_length)?, self.text(path, length)?);
        if target.starts_with('/') {
            return Err(Errno::PERM.into());
        }
        let directory = self.wasi.descriptors.changeable(fd)?;
        let place = place(directory.fd.as_fd(), &path)?;
        if place.is_directory {
            return Err(Errno::NOENT.into());
        }
        Ok(symlinkat(&target, &place.directory, &place.name)?)
    }

    pub fn path_readlink(&mut self, fd: u32, path: u32, length: u32, buffer: u32, room: u32, at: u32) -> Answer {
        let path = self.text(path, length)?;
        let directory = self.wasi.descriptors.directory(fd)?;
        let place = place(directory.fd.as_fd(), &path)?;
        let target = readlinkat(&place.directory, &place.name, Vec::new())?.into_bytes();
        // An absolute one says where things lie, and could not be followed.
        if target.starts_with(b"/") {
            return Err(Errno::PERM.into());
        }
        let size = target.len().min(room as usize);
        self.put(buffer, &target[..size])?;
        self.put_u32(at, size as u32)
    }
}
