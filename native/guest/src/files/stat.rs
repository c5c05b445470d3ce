//! A stat result as the protocol says it.

use ak_wire::payload::{FileType, ListEntry, Stat};
use rustix::fs::{AtFlags, CWD, FileType as Kind, readlinkat, statat};
use rustix::io::Errno;
use std::os::fd::AsFd;

use super::own;
use crate::channel::Refusal;

const PERMISSIONS: u32 = 0o7777;

pub fn permissions(stat: &rustix::fs::Stat) -> u32 {
    stat.st_mode & PERMISSIONS
}

pub fn mtime_ms(stat: &rustix::fs::Stat) -> i64 {
    stat.st_mtime * 1000 + stat.st_mtime_nsec as i64 / 1_000_000
}

pub fn size(stat: &rustix::fs::Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

fn file_type(stat: &rustix::fs::Stat) -> FileType {
    match Kind::from_raw_mode(stat.st_mode) {
        Kind::RegularFile => FileType::File,
        Kind::Directory => FileType::Dir,
        Kind::Symlink => FileType::Symlink,
        _ => FileType::Other,
    }
}

/// Does not follow a final link.
pub fn stat(path: &str) -> Result<Stat, Refusal> {
    let found = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
    own::refuse_processes_at(path, &found)?;
    let file_type = file_type(&found);
    let target = if file_type == FileType::Symlink {
        let target = readlinkat(CWD, path, Vec::new())?;
        Some(target.to_string_lossy().into_owned())
    } else {
        None
    };
    Ok(Stat {
        file_type,
        size: size(&found),
        mode: permissions(&found),
        mtime_ms: mtime_ms(&found),
        uid: found.st_uid,
        gid: found.st_gid,
        target,
    })
}

pub fn list_entry(dir: impl AsFd, name: &std::ffi::CStr) -> Result<ListEntry, Errno> {
    let found = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(ListEntry {
        name: name.to_string_lossy().into_owned(),
        file_type: file_type(&found),
        size: size(&found),
        mode: permissions(&found),
        mtime_ms: mtime_ms(&found),
    })
}
