//! The host's side. It answers one request after the other and remembers nothing of them: no handles, no positions. So a
//! hostile guest can make it read what the view shows, again and again, and nothing else; what it may send ahead is what
//! fits into the stream.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Read, Write},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, Stat, fstat, openat2, readlinkat, statat},
    io::{Errno, pread},
};

use crate::{
    message::{Answer, Attributes, Entry, MAX_PART, MAX_PATH, Request, answer, take_request},
    shown::Shown,
};

/// Answers are gathered up to here before they are written, where more requests are there already.
const GATHERED: usize = 256 << 10;
const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

pub struct Host {
    root: OwnedFd,
    shown: Shown,
}

impl Host {
    pub fn new(root: OwnedFd, shown: Shown) -> Self {
        Self { root, shown }
    }

    /// Until the guest hangs up. A guest that breaks the rules of the stream is not heard any more.
    pub fn serve(&self, input: &mut impl Read, output: &mut impl Write) -> io::Result<()> {
        let (mut heard, mut answers) = (Vec::new(), Vec::new());
        let mut chunk = vec![0; 64 << 10];
        loop {
            let mut at = 0;
            while let Some((id, request, length)) = take_request(&heard[at..])? {
                self.answer(id, &request, &mut answers, output)?;
                at += length;
                if answers.len() >= GATHERED {
                    flush(&mut answers, output)?;
                }
            }
            heard.drain(..at);
            flush(&mut answers, output)?;
            match input.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(count) => heard.extend_from_slice(&chunk[..count]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    fn answer(&self, id: u32, request: &Request<'_>, out: &mut Vec<u8>, output: &mut impl Write) -> io::Result<()> {
        let failed = match *request {
            Request::List { path } => match self.open_directory(path) {
                Ok(directory) => return self.list(id, path, directory, out, output),
                Err(errno) => errno,
            },
            Request::Read { path, version, offset, length } => match self.read(path, version, offset, length) {
                Ok(Contents::Same(bytes)) => {
                    answer(id, &Answer::Data(&bytes), out);
                    return Ok(());
                }
                Ok(Contents::Other(attributes)) => {
                    answer(id, &Answer::Changed(attributes), out);
                    return Ok(());
                }
                Err(errno) => errno,
            },
        };
        answer(id, &Answer::Failed(failed.raw_os_error() as u32), out);
        Ok(())
    }

    /// None where it lies on another file system, of which the view shows nothing.
    fn open_directory(&self, path: &[u8]) -> Result<Option<OwnedFd>, Errno> {
        if !is_plain(path) {
            return Err(Errno::INVAL);
        }
        if self.shown.hides_below(path) {
            return Err(Errno::NOENT);
        }
        match self.open(path, OFlags::RDONLY | OFlags::DIRECTORY) {
            Ok(directory) => Ok(Some(directory)),
            Err(Errno::XDEV) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    fn list(
        &self,
        id: u32,
        path: &[u8],
        directory: Option<OwnedFd>,
        out: &mut Vec<u8>,
        output: &mut impl Write,
    ) -> io::Result<()> {
        let mut entries = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); 32 << 10];
        if let Some(directory) = directory {
            let mut names = RawDir::new(&directory, &mut buffer);
            while let Some(found) = names.next() {
                let found = match found {
                    Ok(found) => found,
                    Err(errno) => {
                        // Not a part of it for the whole.
                        answer(id, &Answer::Failed(errno.raw_os_error() as u32), out);
                        return Ok(());
                    }
                };
                self.entry(path, directory.as_fd(), found.file_name(), &mut entries);
                if entries.len() >= MAX_PART {
                    answer(id, &Answer::Entries { are_last: false, entries: &entries }, out);
                    entries.clear();
                    flush(out, output)?;
                }
            }
        }
        answer(id, &Answer::Entries { are_last: true, entries: &entries }, out);
        Ok(())
    }

    /// Leaves out what is hidden, what is neither a file, a directory nor a link, and what is gone by now.
    fn entry(&self, folder: &[u8], directory: BorrowedFd<'_>, name: &std::ffi::CStr, out: &mut Vec<u8>) {
        let bytes = name.to_bytes();
        if matches!(bytes, b"." | b"..") {
            return;
        }
        let path = if folder.is_empty() { bytes.to_vec() } else { [folder, b"/", bytes].concat() };
        if path.len() > MAX_PATH || self.shown.hides(&path) {
            return;
        }
        let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let Some(attributes) = self.attributes(&path, &stat) else { return };
        let target = match attributes.kind {
            FileType::Symlink => match readlinkat(directory, name, Vec::new()) {
                Ok(target) => target.into_bytes(),
                Err(_) => return,
            },
            FileType::RegularFile if self.shown.asks_content(&path) => {
                // One that cannot be read holds nothing that could be shown.
                let is_shown =
                    self.open(&path, OFlags::RDONLY).is_ok_and(|file| !self.shown.holds_secret(&path, file.as_fd()));
                if !is_shown {
                    return;
                }
                Vec::new()
            }
            _ => Vec::new(),
        };
        Entry { name: bytes, attributes, target: &target }.write(out);
    }

    /// None of what is not shown.
    fn attributes(&self, path: &[u8], stat: &Stat) -> Option<Attributes> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        if !matches!(kind, FileType::RegularFile | FileType::Directory | FileType::Symlink) {
            return None;
        }
        let instead = self.shown.instead(path);
        if instead.is_none() && self.shown.hides_inode(stat.st_dev, stat.st_ino) {
            return None;
        }
        let size = instead.and_then(|other| fstat(other).ok()).map_or(stat.st_size, |other| other.st_size);
        Some(Attributes {
            kind,
            mode: (stat.st_mode & 0o777) as u16,
            inode: stat.st_ino,
            size: if kind == FileType::RegularFile { u64::try_from(size).unwrap_or(0) } else { 0 },
            modified: (stat.st_mtime, stat.st_mtime_nsec as u32),
            changed: (stat.st_ctime, stat.st_ctime_nsec as u32),
            version: version(stat),
        })
    }

    fn read(&self, path: &[u8], listed: u64, offset: u64, length: u32) -> Result<Contents, Errno> {
        if path.is_empty() || !is_plain(path) {
            return Err(Errno::INVAL);
        }
        if self.shown.hides_below(path) {
            return Err(Errno::NOENT);
        }
        let length = MAX_PART.min(length as usize);
        if let Some(other) = self.shown.instead(path) {
            return part(other, offset, length).map(Contents::Same);
        }
        let file = self.open(path, OFlags::RDONLY)?;
        let before = self.attributes(path, &fstat(&file)?).ok_or(Errno::NOENT)?;
        if before.kind != FileType::RegularFile {
            return Err(Errno::STALE);
        }
        if self.shown.holds_secret(path, file.as_fd()) {
            return Err(Errno::NOENT);
        }
        if before.version != listed {
            return Ok(Contents::Other(before));
        }
        let bytes = part(file.as_fd(), offset, length)?;
        let after = self.attributes(path, &fstat(&file)?).ok_or(Errno::NOENT)?;
        Ok(if after.version == listed { Contents::Same(bytes) } else { Contents::Other(after) })
    }

    fn open(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() { b"." } else { path };
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match openat2(&self.root, path, flags | OFlags::NOATIME, Mode::empty(), BENEATH) {
            // Of somebody else's file only the owner may do that.
            Err(Errno::PERM) => openat2(&self.root, path, flags, Mode::empty(), BENEATH),
            opened => opened,
        }
    }
}

enum Contents {
    Same(Vec<u8>),
    Other(Attributes),
}

fn part(file: BorrowedFd<'_>, offset: u64, length: usize) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match pread(file, &mut bytes[filled..], offset.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn flush(answers: &mut Vec<u8>, output: &mut impl Write) -> io::Result<()> {
    output.write_all(answers)?;
    answers.clear();
    output.flush()
}

/// One path for one file: rules are about paths, and the kernel would understand others too.
fn is_plain(path: &[u8]) -> bool {
    let is_name = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.contains(&0);
    path.is_empty() || path.len() <= MAX_PATH && path.split(|&byte| byte == b'/').all(is_name)
}

/// Of what can be told from outside. No call sets the time of the last change.
fn version(stat: &Stat) -> u64 {
    let mut hasher = DefaultHasher::new();
    (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec).hash(&mut hasher);
    (stat.st_ctime, stat.st_ctime_nsec, stat.st_mode).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
