//! A file or directory as a stream, in portions.

use std::{
    ffi::{CStr, CString},
    fmt::Display,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, SeekFrom, Stat, fstat, openat, readlinkat, seek, statat},
    io::{Errno, pread},
};

use crate::{DEEPEST, Failure, format::Record};

const CHUNK: usize = 65_536;
const SAFE: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Says of a path in the tree why it is left out.
pub type Skip = Box<dyn Fn(&[u8]) -> Option<&'static str>>;
/// Says of a file in the tree, which was just opened, why it is left out after all.
pub type Judge = Box<dyn Fn(&[u8], BorrowedFd<'_>) -> Option<&'static str>>;
/// Hears of everything in the tree, and says of what is no directory whether it is left out without a word.
pub type LeaveOut = Box<dyn FnMut(&[u8], &Stat) -> bool>;

/// Another file whose contents are sent for a path in the tree.
pub type Instead = Box<dyn Fn(&[u8]) -> Option<OwnedFd>>;

pub struct Reader {
    /// Directories on the way down.
    levels: Vec<Level>,
    file: Option<OpenFile>,
    /// Directories of other filesystems are not entered.
    device: u64,
    skip: Skip,
    judge: Judge,
    leave_out: LeaveOut,
    instead: Instead,
    tells_holes: bool,
    start: Option<(OwnedFd, Stat)>,
    is_over: bool,
}

struct Level {
    entries: Dir,
    /// Its own, empty for the root.
    path: Vec<u8>,
}

struct OpenFile {
    file: OwnedFd,
    at: u64,
    /// A file that grows meanwhile is read up to its first size. Files of procfs and sysfs report a size of 0.
    end: u64,
    /// Up to here there are no holes, or none that are sent.
    solid: u64,
}

impl Reader {
    /// The named path may be a link; nothing in it is followed.
    pub fn open(path: &Path, skip: Skip) -> Result<Self, Failure> {
        let file = openat(CWD, path, OFlags::RDONLY | SAFE, Mode::empty())
            .map_err(|errno| Failure::at(path.display(), errno))?;
        Self::of(file, path.display(), skip)
    }

    /// Reads a file that was opened with O_NONBLOCK.
    pub fn of(file: OwnedFd, shown: impl Display, skip: Skip) -> Result<Self, Failure> {
        let stat = fstat(&file).map_err(|errno| Failure::at(&shown, errno))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile | FileType::Directory => {}
            other => {
                return Err(Failure::new("not_regular", format!("{shown} is {}", kind(other))));
            }
        }
        Ok(Self {
            levels: Vec::new(),
            file: None,
            device: stat.st_dev,
            skip,
            judge: Box::new(|_, _| None),
            leave_out: Box::new(|_, _| false),
            instead: Box::new(|_| None),
            tells_holes: false,
            start: Some((file, stat)),
            is_over: false,
        })
    }

    /// The root's directory or file, before anything was read.
    pub fn root(&self) -> Option<BorrowedFd<'_>> {
        self.start.as_ref().map(|(root, _)| std::os::fd::AsFd::as_fd(root))
    }

    pub fn skip_by(&mut self, skip: Skip) {
        self.skip = skip;
    }

    pub fn judge_by(&mut self, judge: Judge) {
        self.judge = judge;
    }

    pub fn leave_out_by(&mut self, leave_out: LeaveOut) {
        self.leave_out = leave_out;
    }

    pub fn send_instead(&mut self, instead: Instead) {
        self.instead = instead;
    }

    /// For a receiver that knows of holes; they are sent as zeros otherwise.
    pub fn telling_holes(mut self) -> Self {
        self.tells_holes = true;
        self
    }

    /// Adds to `out` until it has `enough` bytes; false when there is no more.
    pub fn fill(&mut self, out: &mut Vec<u8>, enough: usize) -> bool {
        while !self.is_over && out.len() < enough {
            if let Some((root, stat)) = self.start.take() {
                self.begin(root, &stat, out);
            } else if self.file.is_some() {
                self.read_on(out);
            } else {
                self.next_entry(out);
            }
        }
        !self.is_over
    }

    fn begin(&mut self, root: OwnedFd, stat: &Stat, out: &mut Vec<u8>) {
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            self.enter(root, Vec::new(), stat, out);
        } else {
            self.start_file(root, &[], stat, out);
        }
    }

    fn next_entry(&mut self, out: &mut Vec<u8>) {
        let Some(level) = self.levels.last_mut() else {
            Record::End.write(out);
            self.is_over = true;
            return;
        };
        match level.entries.read() {
            None => {
                self.levels.pop();
            }
            Some(Err(errno)) => {
                note(out, &level.path, &errno.to_string());
                self.levels.pop();
            }
            Some(Ok(entry)) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
            Some(Ok(entry)) => {
                let name = entry.file_name().to_owned();
                let path = join(&level.path, &name);
                match (self.skip)(&path) {
                    Some(why) => note(out, &path, why),
                    None => self.entry(&name, path, out),
                }
            }
        }
    }

    fn entry(&mut self, name: &CStr, path: Vec<u8>, out: &mut Vec<u8>) {
        match self.send(name, &path, out) {
            Ok(()) => {}
            // Removed since the directory was read.
            Err(Errno::NOENT) => {}
            Err(errno) => note(out, &path, &errno.to_string()),
        }
    }

    fn send(&mut self, name: &CStr, path: &[u8], out: &mut Vec<u8>) -> Result<(), Errno> {
        let Some(level) = self.levels.last() else { return Ok(()) };
        let at = level.entries.fd()?;
        let seen = statat(at, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_left_out = (self.leave_out)(path, &seen);
        if is_left_out && FileType::from_raw_mode(seen.st_mode) != FileType::Directory {
            return Ok(());
        }
        match FileType::from_raw_mode(seen.st_mode) {
            FileType::Directory if self.levels.len() >= DEEPEST => note(out, path, "too many directories deep"),
            FileType::Directory if seen.st_dev != self.device => {
                note(out, path, "another filesystem is mounted there; copy it by its own name");
            }
            FileType::Directory => {
                let directory =
                    openat(at, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | SAFE, Mode::empty())?;
                let stat = fstat(&directory)?;
                self.enter(directory, path.to_vec(), &stat, out);
            }
            FileType::RegularFile => {
                let file = openat(at, name, OFlags::RDONLY | OFlags::NOFOLLOW | SAFE, Mode::empty())?;
                let stat = fstat(&file)?;
                match (FileType::from_raw_mode(stat.st_mode), (self.judge)(path, file.as_fd())) {
                    (FileType::RegularFile, None) => self.start_file(file, path, &stat, out),
                    (FileType::RegularFile, Some(why)) => note(out, path, why),
                    (other, _) => note(out, path, kind(other)),
                }
            }
            FileType::Symlink => {
                let target: CString = readlinkat(at, name, Vec::new())?;
                Record::Link { path, target: target.as_bytes() }.write(out);
            }
            other => note(out, path, kind(other)),
        }
        Ok(())
    }

    fn enter(&mut self, directory: OwnedFd, path: Vec<u8>, stat: &Stat, out: &mut Vec<u8>) {
        match Dir::new(directory) {
            Ok(entries) => {
                Record::Directory { path: &path, mode: stat.st_mode & 0o7777, mtime_ms: mtime_ms(stat) }.write(out);
                self.levels.push(Level { entries, path });
            }
            Err(errno) => note(out, &path, &errno.to_string()),
        }
    }

    fn start_file(&mut self, file: OwnedFd, path: &[u8], stat: &Stat, out: &mut Vec<u8>) {
        let (file, length) = match (self.instead)(path).and_then(|other| Some((fstat(&other).ok()?.st_size, other))) {
            Some((length, other)) => (other, length),
            None => (file, stat.st_size),
        };
        let size = u64::try_from(length).unwrap_or(0);
        Record::File { path, mode: stat.st_mode & 0o7777, mtime_ms: mtime_ms(stat), size }.write(out);
        let end = if size == 0 { u64::MAX } else { size };
        let solid = if size > 0 && self.tells_holes { 0 } else { end };
        self.file = Some(OpenFile { file, at: 0, end, solid });
    }

    fn read_on(&mut self, out: &mut Vec<u8>) {
        let Some(open) = &mut self.file else { return };
        let hole = open.hole();
        if hole > 0 {
            Record::Hole { length: hole }.write(out);
            open.at += hole;
            return;
        }
        let wanted = usize::try_from(open.solid.min(open.end) - open.at).unwrap_or(usize::MAX).min(CHUNK);
        let header = out.len();
        Record::Chunk { length: wanted }.write(out);
        let start = out.len();
        out.resize(start + wanted, 0);
        let read = if wanted == 0 { Ok(0) } else { pread(&open.file, &mut out[start..], open.at) };
        match read {
            Ok(0) => {
                out.truncate(header);
                Record::EndOfFile.write(out);
                self.file = None;
            }
            Ok(count) => {
                out.truncate(start + count);
                out[start - 4..start].copy_from_slice(&(count as u32).to_le_bytes());
                open.at += count as u64;
            }
            Err(Errno::INTR) => out.truncate(header),
            Err(errno) => {
                out.truncate(header);
                Record::Broken { reason: errno.to_string().as_bytes() }.write(out);
                self.file = None;
            }
        }
    }
}

impl OpenFile {
    /// How many bytes from here on are a hole. A filesystem that cannot tell has none.
    fn hole(&mut self) -> u64 {
        if self.at < self.solid || self.at >= self.end {
            return 0;
        }
        let data = match seek(&self.file, SeekFrom::Data(self.at)) {
            Ok(data) => data.clamp(self.at, self.end),
            Err(Errno::NXIO) => self.end,
            Err(_) => self.at,
        };
        self.solid = seek(&self.file, SeekFrom::Hole(data)).map_or(self.end, |next| next.clamp(data, self.end));
        // A file that changes meanwhile may give the same offset for SEEK_DATA and SEEK_HOLE.
        if self.solid == data {
            self.solid = self.end;
        }
        data - self.at
    }
}

fn note(out: &mut Vec<u8>, path: &[u8], reason: &str) {
    Record::Note { path, reason: reason.as_bytes() }.write(out);
}

fn kind(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "not a file",
    }
}

fn mtime_ms(stat: &Stat) -> i64 {
    stat.st_mtime.saturating_mul(1000).saturating_add(stat.st_mtime_nsec as i64 / 1_000_000)
}

fn join(path: &[u8], name: &CStr) -> Vec<u8> {
    if path.is_empty() { name.to_bytes().to_vec() } else { [path, b"/", name.to_bytes()].concat() }
}
