//! Writes a stream as files and directories. The stream may be hostile.

mod temporary;

use std::{
    ffi::CString,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, fchmod, futimens, mkdirat, openat, statat},
    io::Errno,
};

use crate::{DEEPEST, Destination, Failure, Links, Report, failure::is_fatal, format::Record, place::Place};
use temporary::Temporary;

/// A set-id bit never crosses.
const PERMISSIONS: u32 = 0o777;
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub bytes: u64,
    pub entries: u64,
}

pub struct Writer {
    destination: Destination,
    links: Links,
    limits: Limits,
    /// Bytes of a record that is not complete yet.
    pending: Vec<u8>,
    /// Bytes that are still to come of a chunk.
    chunk: usize,
    /// Where the root goes, until it is there.
    place: Option<Place>,
    levels: Vec<Level>,
    file: Current,
    /// A directory that was not made, with all below it.
    skipped: Option<Vec<u8>>,
    entries: u64,
    is_complete: bool,
    takes_any_name: bool,
    takes_holes: bool,
    report: Report,
}

struct Level {
    directory: OwnedFd,
    path: Vec<u8>,
    /// The mode and mtime that a new directory gets when nothing more comes into it.
    finish: Option<(u32, i64)>,
}

enum Current {
    None,
    /// Its content is discarded.
    Refused,
    Open {
        temporary: Temporary,
        name: CString,
        path: Vec<u8>,
        mode: u32,
        mtime_ms: i64,
    },
}

impl Writer {
    pub fn new(destination: Destination, links: Links, limits: Limits) -> Self {
        Self {
            destination,
            links,
            limits,
            pending: Vec::new(),
            chunk: 0,
            place: None,
            levels: Vec::new(),
            file: Current::None,
            skipped: None,
            entries: 0,
            is_complete: false,
            takes_any_name: false,
            takes_holes: false,
            report: Report::default(),
        }
    }

    /// Also accepts names that would mislead a reader on a terminal; output of them has to be escaped.
    pub fn taking_any_name(self) -> Self {
        Self { takes_any_name: true, ..self }
    }

    /// Writes holes. Only data counts against the limit, not the size that a sparse file claims.
    pub fn taking_holes(self) -> Self {
        Self { takes_holes: true, ..self }
    }

    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend(bytes);
        let used = self.take(&pending)?;
        pending.drain(..used);
        self.pending = pending;
        Ok(())
    }

    /// The stream has ended.
    pub fn finish(mut self) -> Result<Report, Failure> {
        if !self.is_complete {
            return Err(Failure::new("io", "the copy broke off before its end"));
        }
        Ok(std::mem::take(&mut self.report))
    }

    fn take(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        let mut at = 0;
        while at < bytes.len() {
            if self.chunk > 0 {
                let length = self.chunk.min(bytes.len() - at);
                self.content(&bytes[at..at + length])?;
                self.chunk -= length;
                at += length;
                continue;
            }
            let Some((record, length)) = Record::parse(&bytes[at..])? else { break };
            self.record(&record)?;
            at += length;
        }
        Ok(at)
    }

    fn record(&mut self, record: &Record<'_>) -> Result<(), Failure> {
        if self.is_complete {
            return Err(Failure::malformed("something after its end"));
        }
        let is_in_file = !matches!(self.file, Current::None);
        match record {
            Record::Chunk { length } if is_in_file => self.chunk = *length,
            Record::Hole { length } if is_in_file && self.takes_holes => self.hole(*length)?,
            Record::EndOfFile if is_in_file => self.end_file()?,
            Record::Broken { reason } if is_in_file => {
                if let Current::Open { path, .. } = std::mem::replace(&mut self.file, Current::None) {
                    self.report.note(&path, reason);
                }
            }
            Record::Chunk { .. } | Record::Hole { .. } | Record::EndOfFile | Record::Broken { .. } => {
                return Err(Failure::malformed("content of no file"));
            }
            _ if is_in_file => return Err(Failure::malformed("a file without an end")),
            Record::Note { path, reason } => self.report.note(path, reason),
            Record::End if self.entries == 0 => return Err(Failure::malformed("nothing in it")),
            Record::End => {
                while let Some(level) = self.levels.pop() {
                    level.close();
                }
                self.is_complete = true;
            }
            Record::Directory { path, mode, mtime_ms } => self.directory(path, *mode, *mtime_ms)?,
            Record::File { path, mode, mtime_ms, size } => self.start_file(path, *mode, *mtime_ms, *size)?,
            Record::Link { path, target } => self.link(path, target)?,
        }
        Ok(())
    }

    /// Counts an entry and finds the directory that it goes into and its name there; None where it is left out.
    fn at(&mut self, path: &[u8], is_directory: bool) -> Result<Option<CString>, Failure> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(Failure::new("too_large", format!("more than {} files and directories", self.limits.entries)));
        }
        if self.entries == 1 {
            if !path.is_empty() {
                return Err(Failure::malformed("it does not begin with its root"));
            }
            self.place = Some(self.destination.resolve(is_directory)?);
            return Ok(None);
        }
        if path.is_empty() {
            return Err(Failure::malformed("a second root"));
        }
        if self.skipped.as_ref().is_some_and(|directory| is_below(path, directory)) {
            return Ok(None);
        }
        self.skipped = None;
        let (directory, name) = match path.iter().rposition(|&b| b == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&b""[..], path),
        };
        if matches!(name, b"" | b"." | b"..") || name.contains(&0) {
            return Err(Failure::malformed("a name that is none"));
        }
        while let Some(level) = self.levels.pop_if(|level| level.path != directory) {
            level.close();
        }
        if self.levels.is_empty() {
            return Err(Failure::malformed("a path whose directory did not come before it"));
        }
        if !self.takes_any_name && name.iter().any(u8::is_ascii_control) {
            self.refuse(path, is_directory, "its name has control characters");
            return Ok(None);
        }
        CString::new(name).map(Some).map_err(|_| Failure::malformed("a name that is none"))
    }

    fn refuse(&mut self, path: &[u8], is_directory: bool, why: &str) {
        self.report.note(path, why.as_bytes());
        if is_directory {
            self.skipped = Some(path.to_vec());
        }
    }

    /// Notes the error of one entry, unless it would stop all others too.
    fn failed(&mut self, path: &[u8], is_directory: bool, errno: Errno) -> Result<(), Failure> {
        if path.is_empty() || is_fatal(errno) {
            let shown =
                String::from_utf8_lossy(if path.is_empty() { &self.destination.name } else { path }).into_owned();
            return Err(Failure::at(shown, errno));
        }
        self.refuse(path, is_directory, &errno.to_string());
        Ok(())
    }

    fn directory(&mut self, path: &[u8], mode: u32, mtime_ms: i64) -> Result<(), Failure> {
        let name = self.at(path, true)?;
        let made = match (name, self.place.take()) {
            (None, Some(Place::Directory(directory))) => Ok((directory, None)),
            (None, Some(Place::Named(parent, name))) => make_directory(&parent, &name, (mode, mtime_ms)),
            (Some(_), _) if self.levels.len() >= DEEPEST => {
                self.refuse(path, true, "too many directories deep");
                return Ok(());
            }
            (Some(name), _) => match self.levels.last() {
                Some(level) => make_directory(&level.directory, &name, (mode, mtime_ms)),
                None => return Ok(()),
            },
            (None, None) => return Ok(()),
        };
        match made {
            Ok((directory, finish)) => {
                self.report.directories += 1;
                self.levels.push(Level { directory, path: path.to_vec(), finish });
                Ok(())
            }
            Err(Errno::NOTDIR | Errno::LOOP) if !path.is_empty() => {
                self.refuse(path, true, "something else is in its place");
                Ok(())
            }
            Err(errno) => self.failed(path, true, errno),
        }
    }

    fn start_file(&mut self, path: &[u8], mode: u32, mtime_ms: i64, size: u64) -> Result<(), Failure> {
        let name = self.at(path, false)?;
        if !self.takes_holes && size > self.limits.bytes - self.report.bytes {
            return Err(self.too_large(path, size));
        }
        let root = match self.place.take() {
            Some(Place::Named(parent, name)) => Some((parent, name)),
            Some(Place::Directory(_)) => return Err(Failure::malformed("a file in place of a directory")),
            None => None,
        };
        let opened = match (&root, name, self.levels.last()) {
            (Some((parent, name)), ..) => Temporary::create(parent.as_fd()).map(|t| (t, name.clone())),
            (None, Some(name), Some(level)) => Temporary::create(level.directory.as_fd()).map(|t| (t, name)),
            _ => {
                self.file = Current::Refused;
                return Ok(());
            }
        };
        match opened {
            Ok((temporary, name)) => {
                self.file = Current::Open { temporary, name, path: path.to_vec(), mode, mtime_ms };
                Ok(())
            }
            Err(errno) => {
                self.file = Current::Refused;
                self.failed(path, false, errno)
            }
        }
    }

    fn content(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let Current::Open { temporary, path, .. } = &mut self.file else { return Ok(()) };
        let length = bytes.len() as u64;
        if length > self.limits.bytes - self.report.bytes {
            let path = path.clone();
            return Err(self.too_large(&path, length));
        }
        self.report.bytes += length;
        match temporary.write(bytes) {
            Ok(()) => Ok(()),
            Err(errno) => {
                let path = path.clone();
                self.file = Current::Refused;
                self.failed(&path, false, errno)
            }
        }
    }

    fn hole(&mut self, length: u64) -> Result<(), Failure> {
        let Current::Open { temporary, path, .. } = &mut self.file else { return Ok(()) };
        let Err(errno) = temporary.skip(length) else { return Ok(()) };
        let path = path.clone();
        self.file = Current::Refused;
        self.failed(&path, false, errno)
    }

    fn end_file(&mut self) -> Result<(), Failure> {
        let Current::Open { temporary, name, path, mode, mtime_ms } = std::mem::replace(&mut self.file, Current::None)
        else {
            return Ok(());
        };
        match temporary.place(&name, mode & PERMISSIONS, times(mtime_ms)) {
            Ok(()) => {
                self.report.files += 1;
                Ok(())
            }
            Err(errno) => self.failed(&path, false, errno),
        }
    }

    fn link(&mut self, path: &[u8], target: &[u8]) -> Result<(), Failure> {
        let Some(name) = self.at(path, false)? else {
            return if self.place.take().is_some() { Err(Failure::malformed("a link as its root")) } else { Ok(()) };
        };
        if let Some(why) = self.links.refusal(path, target) {
            self.refuse(path, false, why);
            return Ok(());
        }
        let Some(level) = self.levels.last() else { return Ok(()) };
        match temporary::link(level.directory.as_fd(), target, &name) {
            Ok(()) => {
                self.report.links += 1;
                Ok(())
            }
            Err(errno) => self.failed(path, false, errno),
        }
    }

    fn too_large(&self, path: &[u8], size: u64) -> Failure {
        let name = String::from_utf8_lossy(if path.is_empty() { &self.destination.name } else { path });
        let (limit, so_far) = (self.limits.bytes, self.report.bytes);
        Failure::new(
            "too_large",
            format!("{name}: {size} bytes more than the {so_far} before it are above the limit of {limit}"),
        )
    }
}

impl Level {
    /// Sets the mode and mtime. Where that is not permitted (another user's directory, a filesystem without modes), it
    /// is left out.
    fn close(self) {
        if let Some((mode, mtime_ms)) = self.finish {
            let _ = fchmod(&self.directory, Mode::from_raw_mode(mode & PERMISSIONS));
            let _ = futimens(&self.directory, &times(mtime_ms));
        }
    }
}

fn make_directory(
    parent: &OwnedFd,
    name: &CString,
    finish: (u32, i64),
) -> Result<(OwnedFd, Option<(u32, i64)>), Errno> {
    match mkdirat(parent, name.as_c_str(), Mode::from_raw_mode(0o700)) {
        Ok(()) => Ok((openat(parent, name.as_c_str(), DIRECTORY, Mode::empty())?, Some(finish))),
        Err(Errno::EXIST) => {
            let there = statat(parent, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(there.st_mode) != FileType::Directory {
                return Err(Errno::NOTDIR);
            }
            Ok((openat(parent, name.as_c_str(), DIRECTORY, Mode::empty())?, None))
        }
        Err(errno) => Err(errno),
    }
}

fn is_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.first() == Some(&b'/'))
}

fn times(mtime_ms: i64) -> Timestamps {
    let time = Timespec { tv_sec: mtime_ms.div_euclid(1000), tv_nsec: (mtime_ms.rem_euclid(1000) * 1_000_000) as _ };
    Timestamps { last_access: time, last_modification: time }
}
