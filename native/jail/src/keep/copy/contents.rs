//! What is in a file, and what is said of a file or folder: owner, mode, attributes, times.

use std::{
    ffi::CStr,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    fs::{
        FileType, Gid, Mode, OFlags, SeekFrom, Stat, Uid, XattrFlags, copy_file_range, fchmod, fchown, fgetxattr,
        flistxattr, fsetxattr, fstat, ftruncate, futimens, ioctl_ficlone, openat, seek,
    },
    io::{Errno, pread, pwrite},
};

use super::{
    Copied, failed,
    tree::{READ, times_of},
};
use crate::fault::{During, Fault, Outcome};

/// What one call may copy: a process that is to end, ends between two.
const CHUNK: u64 = 64 << 20;
const BUFFER: usize = 256 << 10;
/// The kernel's own limits for one file.
const MAX_NAMES: usize = 64 << 10;
const MAX_VALUE: usize = 64 << 10;

pub fn copy_file(from: &OwnedFd, into: &OwnedFd, name: &CStr, stat: &Stat, copied: &mut Copied) -> Outcome<()> {
    let source = openat(from, name, READ, Mode::empty()).during("open a file to copy")?;
    let found = fstat(&source).during("open a file to copy")?;
    let is_same = found.st_ino == stat.st_ino && FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    if !is_same {
        return Err(Fault::new("conflict", "the sandbox's files changed while they were copied").hint("try again"));
    }
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let target = openat(into, name, flags, Mode::from_raw_mode(0o600)).map_err(|e| failed("copy a file", e))?;
    if ioctl_ficlone(&target, &source).is_ok() {
        copied.bytes += (found.st_blocks as u64) * 512;
    } else {
        copied.bytes += copy_data(&source, &target, found.st_size as u64)?;
    }
    resemble(&source, &target, stat)
}

/// Only what is there: a file of holes can have any length.
fn copy_data(from: &OwnedFd, into: &OwnedFd, size: u64) -> Outcome<u64> {
    ftruncate(into, size).map_err(|e| failed("copy a file", e))?;
    let (mut bytes, mut at) = (0, 0);
    while at < size {
        let start = match seek(from, SeekFrom::Data(at)) {
            Ok(start) => start,
            Err(Errno::NXIO) => break,
            Err(e) => return Err(failed("read a file to copy", e)),
        };
        let end = seek(from, SeekFrom::Hole(start)).during("read a file to copy")?.min(size);
        if end <= start {
            break;
        }
        copy_range(from, into, start, end)?;
        bytes += end - start;
        at = end;
    }
    Ok(bytes)
}

fn copy_range(from: &OwnedFd, into: &OwnedFd, start: u64, end: u64) -> Outcome<()> {
    let (mut read_at, mut write_at) = (start, start);
    while read_at < end {
        let length = (end - read_at).min(CHUNK) as usize;
        match copy_file_range(from, Some(&mut read_at), into, Some(&mut write_at), length) {
            Ok(0) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::XDEV | Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP) => {
                return copy_bytes(from, into, read_at, end);
            }
            Err(e) => return Err(failed("copy a file", e)),
        }
    }
    Ok(())
}

fn copy_bytes(from: &OwnedFd, into: &OwnedFd, mut at: u64, end: u64) -> Outcome<()> {
    let mut buffer = vec![0; BUFFER];
    while at < end {
        let wanted = (end - at).min(BUFFER as u64) as usize;
        let count = match pread(from, &mut buffer[..wanted], at) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(e) => return Err(failed("read a file to copy", e)),
        };
        let mut written = 0;
        while written < count {
            match pwrite(into, &buffer[written..count], at + written as u64) {
                Ok(length) => written += length,
                Err(Errno::INTR) => {}
                Err(e) => return Err(failed("copy a file", e)),
            }
        }
        at += count as u64;
    }
    Ok(())
}

/// The owner first: that takes set-id bits and capabilities away. The times last, since all else changes them.
pub fn resemble(from: impl AsFd, into: impl AsFd, stat: &Stat) -> Outcome<()> {
    let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    fchown(&into, Some(uid), Some(gid)).map_err(|e| failed("give a copy its owner", e))?;
    fchmod(&into, Mode::from_raw_mode(stat.st_mode & 0o7777)).map_err(|e| failed("give a copy its mode", e))?;
    copy_attributes(&from, &into)?;
    futimens(&into, &times_of(stat)).map_err(|e| failed("give a copy its times", e))
}

fn copy_attributes(from: impl AsFd, into: impl AsFd) -> Outcome<()> {
    let mut names = vec![0; MAX_NAMES];
    let length = match flistxattr(&from, &mut names) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP) => return Ok(()),
        Err(e) => return Err(failed("read the attributes of a file to copy", e)),
    };
    for name in names[..length].split(|&b| b == 0).filter(|name| is_kept(name)) {
        let name = std::str::from_utf8(name).during("the name of an attribute")?;
        let mut value = vec![0; MAX_VALUE];
        let size = fgetxattr(&from, name, &mut value).map_err(|e| failed(format_args!("read {name}"), e))?;
        fsetxattr(&into, name, &value[..size], XattrFlags::empty())
            .map_err(|e| failed(format_args!("give a copy its attribute {name}"), e))?;
    }
    Ok(())
}

/// What a sandbox, or its overlay, can have set. Labels of security modules belong to a place, not to contents.
fn is_kept(name: &[u8]) -> bool {
    [&b"user."[..], b"system.posix_acl_", b"trusted.overlay."].iter().any(|prefix| name.starts_with(prefix))
        || name == b"security.capability"
}
