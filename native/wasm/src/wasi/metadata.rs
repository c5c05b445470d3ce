//! Metadata of files and descriptors.

use std::os::fd::AsFd;

use rustix::fs::{
    FileType, OFlags, Stat, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, fcntl_getfl, fcntl_setfl, fstat, futimens,
};

use crate::wasi::descriptors::Open;
use crate::wasi::errno::{Answer, Errno};
use crate::wasi::guest::Guest;
use crate::wasi::surroundings::nanoseconds;

const READ: u64 = 1 << 1;
const SEEK_AND_TELL: u64 = 1 << 2 | 1 << 5;
const WRITE: u64 = 1 << 6;
const POLL: u64 = 1 << 27;
/// Those that change a file's contents.
const CHANGING: u64 = 1 | WRITE | 1 << 8 | 1 << 22;
/// Rights of files: all that do not concern paths or sockets.
const OF_FILES: u64 = 0x1ff & !(READ | CHANGING) | 1 << 21 | 1 << 23 | POLL;
const ALL: u64 = (1 << 28) - 1;

pub mod flags {
    pub const APPEND: u32 = 1;
    pub const DSYNC: u32 = 2;
    pub const NONBLOCK: u32 = 4;
    pub const RSYNC: u32 = 8;
    pub const SYNC: u32 = 16;
}

impl Guest<'_> {
    /// Kind, flags, and rights, which say no more than how something was opened.
    pub fn fd_fdstat_get(&mut self, fd: u32, at: u32) -> Answer {
        let (kind, flags, base, inheriting) = match self.wasi.descriptors.get(fd)? {
            // An unknown file type tells modules that this is no terminal.
            Open::Stdin { is_nonblocking } => {
                (0, if *is_nonblocking { flags::NONBLOCK } else { 0 }, READ | POLL | 1 << 3, 0)
            }
            Open::Stdout | Open::Stderr => (0, flags::APPEND, WRITE | POLL | 1 << 3, 0),
            Open::File(file) => {
                let base = OF_FILES | if file.can_read { READ } else { 0 } | if file.can_write { CHANGING } else { 0 };
                (kind_of(fstat(&file.fd)?.st_mode), told_flags(fcntl_getfl(&file.fd)?), base | SEEK_AND_TELL, 0)
            }
            Open::Directory(_) => (3, 0, ALL & !(READ | WRITE | SEEK_AND_TELL), ALL),
        };
        let mut told = [0; 24];
        told[0] = kind;
        told[2..4].copy_from_slice(&(flags as u16).to_le_bytes());
        told[8..16].copy_from_slice(&base.to_le_bytes());
        told[16..24].copy_from_slice(&inheriting.to_le_bytes());
        self.put(at, &told)
    }

    pub fn fd_fdstat_set_flags(&mut self, fd: u32, wanted: u32) -> Answer {
        match self.wasi.descriptors.get(fd)? {
            Open::Stdin { is_nonblocking } => {
                *is_nonblocking = wanted & flags::NONBLOCK != 0;
                Ok(())
            }
            Open::Stdout | Open::Stderr => Ok(()),
            Open::File(file) => {
                let kept = fcntl_getfl(&file.fd)? - OFlags::APPEND;
                let append = if wanted & flags::APPEND != 0 { OFlags::APPEND } else { OFlags::empty() };
                Ok(fcntl_setfl(&file.fd, kept | append)?)
            }
            Open::Directory(_) => Err(Errno::BADF.into()),
        }
    }

    /// Rights are given up by not using them.
    pub fn fd_fdstat_set_rights(&mut self, fd: u32, _base: u64, _inheriting: u64) -> Answer {
        self.wasi.descriptors.get(fd).map(|_| ())
    }

    pub fn fd_filestat_get(&mut self, fd: u32, at: u32) -> Answer {
        let stat = match self.wasi.descriptors.get(fd)? {
            Open::File(file) => fstat(&file.fd)?,
            Open::Directory(directory) => fstat(&directory.fd)?,
            _ => return self.put(at, &[0; 64]),
        };
        self.put(at, &told_stat(&stat))
    }

    pub fn fd_filestat_set_times(&mut self, fd: u32, accessed: u64, modified: u64, which: u32) -> Answer {
        let times = times_of(accessed, modified, which)?;
        let (fd, readonly) = match self.wasi.descriptors.get(fd)? {
            Open::File(file) => (file.fd.as_fd(), file.readonly),
            Open::Directory(directory) => (directory.fd.as_fd(), directory.readonly),
            _ => return Err(Errno::INVAL.into()),
        };
        if readonly { Err(Errno::ROFS.into()) } else { Ok(futimens(fd, &times)?) }
    }
}

fn told_flags(flags: OFlags) -> u32 {
    let append = if flags.contains(OFlags::APPEND) { flags::APPEND } else { 0 };
    let sync = if flags.contains(OFlags::SYNC) { flags::SYNC | flags::RSYNC } else { 0 };
    append | sync | if flags.contains(OFlags::DSYNC) { flags::DSYNC } else { 0 }
}

pub fn kind_of(mode: u32) -> u8 {
    kind_number(FileType::from_raw_mode(mode))
}

pub fn kind_number(kind: FileType) -> u8 {
    match kind {
        FileType::BlockDevice => 1,
        FileType::CharacterDevice => 2,
        FileType::Directory => 3,
        FileType::RegularFile => 4,
        FileType::Socket => 6,
        FileType::Symlink => 7,
        _ => 0,
    }
}

#[allow(clippy::unnecessary_cast, reason = "the kernel's own types differ between processors")]
pub fn told_stat(stat: &Stat) -> [u8; 64] {
    let mut told = [0; 64];
    told[16] = kind_of(stat.st_mode);
    let numbers = [
        (0, stat.st_dev),
        (8, stat.st_ino),
        (24, stat.st_nlink as u64),
        (32, u64::try_from(stat.st_size).unwrap_or(0)),
        (40, nanoseconds(stat.st_atime as i64, stat.st_atime_nsec as i64)),
        (48, nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64)),
        (56, nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64)),
    ];
    for (at, number) in numbers {
        told[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }
    told
}

/// Times as they are set: given, now, or left.
pub fn times_of(accessed: u64, modified: u64, which: u32) -> Answer<Timestamps> {
    let one = |given: u64, is_given: bool, is_now: bool| -> Answer<Timespec> {
        Ok(match (is_given, is_now) {
            (true, true) => return Err(Errno::INVAL.into()),
            (true, false) => Timespec {
                tv_sec: i64::try_from(given / 1_000_000_000).map_err(|_| Errno::INVAL)?,
                tv_nsec: (given % 1_000_000_000) as _,
            },
            (false, true) => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW as _ },
            (false, false) => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT as _ },
        })
    };
    Ok(Timestamps {
        last_access: one(accessed, which & 1 != 0, which & 2 != 0)?,
        last_modification: one(modified, which & 4 != 0, which & 8 != 0)?,
    })
}
