//! The open descriptors of a module, by number.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::wasi::directory::Listed;
use crate::wasi::errno::{Answer, Errno};
use crate::wasi::guest::Guest;

/// A descriptor each, which the jail counts as well.
const MOST_OPEN: usize = 4096;

pub enum Open {
    Stdin { is_nonblocking: bool },
    Stdout,
    Stderr,
    File(OpenFile),
    Directory(OpenDirectory),
}

pub struct OpenFile {
    pub fd: OwnedFd,
    pub can_read: bool,
    pub can_write: bool,
    /// Whether the directory that it was opened in is read-only.
    pub readonly: bool,
}

pub struct OpenDirectory {
    pub fd: OwnedFd,
    /// Nothing below it may be changed.
    pub readonly: bool,
    /// The name of a descriptor that the module has from the start.
    pub name: Option<String>,
    pub listed: Option<Listed>,
}

pub struct Descriptors(Vec<Option<Open>>);

impl Default for Descriptors {
    fn default() -> Self {
        Self(vec![Some(Open::Stdin { is_nonblocking: false }), Some(Open::Stdout), Some(Open::Stderr)])
    }
}

impl Descriptors {
    pub fn preopen(&mut self, path: &Path, name: &str, readonly: bool) -> io::Result<()> {
        let fd = openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        self.0.push(Some(Open::Directory(OpenDirectory { fd, readonly, name: Some(name.to_owned()), listed: None })));
        Ok(())
    }

    /// The lowest number that is free.
    pub fn add(&mut self, open: Open) -> Answer<u32> {
        let number = self.0.iter().position(Option::is_none).unwrap_or(self.0.len());
        if number >= MOST_OPEN {
            return Err(Errno::MFILE.into());
        }
        if number == self.0.len() {
            self.0.push(None);
        }
        self.0[number] = Some(open);
        Ok(number as u32)
    }

    pub fn get(&mut self, number: u32) -> Answer<&mut Open> {
        Ok(self.0.get_mut(number as usize).and_then(Option::as_mut).ok_or(Errno::BADF)?)
    }

    pub fn file(&mut self, number: u32) -> Answer<&mut OpenFile> {
        match self.get(number)? {
            Open::File(file) => Ok(file),
            Open::Directory(_) => Err(Errno::ISDIR.into()),
            _ => Err(Errno::SPIPE.into()),
        }
    }

    pub fn directory(&mut self, number: u32) -> Answer<&mut OpenDirectory> {
        match self.get(number)? {
            Open::Directory(directory) => Ok(directory),
            _ => Err(Errno::NOTDIR.into()),
        }
    }

    /// One that something is to be changed in.
    pub fn changeable(&mut self, number: u32) -> Answer<&mut OpenDirectory> {
        let directory = self.directory(number)?;
        if directory.readonly { Err(Errno::ROFS.into()) } else { Ok(directory) }
    }

    fn take(&mut self, number: u32) -> Answer<Open> {
        Ok(self.0.get_mut(number as usize).and_then(Option::take).ok_or(Errno::BADF)?)
    }
}

impl Guest<'_> {
    pub fn fd_close(&mut self, fd: u32) -> Answer {
        self.wasi.descriptors.take(fd).map(drop)
    }

    /// Closes the descriptor that had the number `to`; a number that is not in use is refused.
    pub fn fd_renumber(&mut self, from: u32, to: u32) -> Answer {
        self.wasi.descriptors.get(to)?;
        if from == to {
            return Ok(());
        }
        let open = self.wasi.descriptors.take(from)?;
        *self.wasi.descriptors.get(to)? = open;
        Ok(())
    }

    pub fn fd_prestat_get(&mut self, fd: u32, at: u32) -> Answer {
        let length = self.name_of(fd)?.len() as u32;
        self.put_u32(at, 0)?;
        self.put_u32(at.checked_add(4).ok_or(Errno::FAULT)?, length)
    }

    pub fn fd_prestat_dir_name(&mut self, fd: u32, at: u32, length: u32) -> Answer {
        let name = self.name_of(fd)?;
        if name.len() > length as usize {
            return Err(Errno::NAMETOOLONG.into());
        }
        self.put(at, name.as_bytes())
    }

    fn name_of(&mut self, fd: u32) -> Answer<String> {
        match self.wasi.descriptors.get(fd)? {
            Open::Directory(directory) => Ok(directory.name.clone().ok_or(Errno::BADF)?),
            _ => Err(Errno::BADF.into()),
        }
    }

    pub fn sock_accept(&mut self, fd: u32, _flags: u32, _at: u32) -> Answer {
        self.no_socket(fd)
    }

    pub fn sock_recv(&mut self, fd: u32, _pieces: u32, _count: u32, _flags: u32, _at: u32, _out: u32) -> Answer {
        self.no_socket(fd)
    }

    pub fn sock_send(&mut self, fd: u32, _pieces: u32, _count: u32, _flags: u32, _at: u32) -> Answer {
        self.no_socket(fd)
    }

    pub fn sock_shutdown(&mut self, fd: u32, _how: u32) -> Answer {
        self.no_socket(fd)
    }

    fn no_socket(&mut self, fd: u32) -> Answer {
        self.wasi.descriptors.get(fd)?;
        Err(Errno::NOTSOCK.into())
    }
}
