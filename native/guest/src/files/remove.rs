//! file-op `remove`. Recursion holds one descriptor whatever the depth: it goes
//! back up through `..` and checks that it arrived in the directory it came from.
//! Links are removed, never followed.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, statat, unlinkat};
use rustix::io::Errno;

use super::ops::answer;
use super::{SAFE_OPEN, absolute};
use crate::channel::{Context, Refusal, Step};
use ak_wire::FrameType;
use ak_wire::payload::Empty;

/// Entries per turn of the loop.
const PORTION: usize = 256;
/// How often a directory is read again because another process fills it meanwhile.
const MAX_RESCANS: usize = 16;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(SAFE_OPEN);

/// A directory on the way down.
struct Level {
    /// Its name in the level above.
    name: CString,
    identity: (u64, u64),
    /// None once all were read: only the deepest level reads.
    entries: Option<Dir>,
    subdirectories: Vec<CString>,
    rescans: usize,
}

pub struct Removal {
    /// The ancestor of `current` whose name is removed at the end.
    base: OwnedFd,
    current: Option<OwnedFd>,
    levels: Vec<Level>,
    single: Option<CString>,
}

impl Removal {
    pub fn open(path: &str, recursive: bool) -> Result<Self, Refusal> {
        let trimmed = match absolute(path)?.trim_end_matches('/') {
            "" => return Err(Refusal::invalid("the root cannot be removed")),
            trimmed => trimmed,
        };
        let (parent, name) = trimmed.rsplit_once('/').unwrap_or(("", trimmed));
        if matches!(name, "." | "..") {
            return Err(Refusal::invalid("the last part of the path is no name"));
        }
        let parent = if parent.is_empty() { "/" } else { parent };
        let name = CString::new(name).map_err(Refusal::invalid)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let base = openat(CWD, parent, flags, Mode::empty())?;
        let found = statat(&base, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW)?;
        let is_directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        let mut removal = Self { base, current: None, levels: Vec::new(), single: None };
        if is_directory && recursive {
            removal.enter(name)?;
        } else {
            removal.single = Some(name);
        }
        Ok(removal)
    }

    pub fn step(&mut self, ctx: &mut Context) -> Step {
        let outcome = match self.single.take() {
            Some(name) => remove_one(&self.base, &name).map(|()| true),
            None => self.advance(),
        };
        match outcome {
            Ok(false) => Step::Progress,
            Ok(true) => {
                answer(ctx, &Empty {});
                Step::Ended
            }
            Err(errno) => {
                let failed = Refusal::from(errno).payload();
                ctx.outbox.json(FrameType::Failed, ctx.id, &failed);
                Step::Ended
            }
        }
    }

    /// One portion; true when all is gone.
    fn advance(&mut self) -> Result<bool, Errno> {
        for _ in 0..PORTION {
            let (Some(level), Some(current)) = (self.levels.last_mut(), &self.current) else {
                return Ok(true);
            };
            match level.entries.as_mut().and_then(Dir::read) {
                Some(entry) => {
                    let entry = entry?;
                    let name = entry.file_name();
                    if !matches!(name.to_bytes(), b"." | b"..") {
                        match unlinkat(current, name, AtFlags::empty()) {
                            Ok(()) | Err(Errno::NOENT) => {}
                            Err(Errno::ISDIR) => level.subdirectories.push(name.to_owned()),
                            Err(errno) => return Err(errno),
                        }
                    }
                }
                None => {
                    level.entries = None;
                    match level.subdirectories.pop() {
                        Some(name) => self.enter(name)?,
                        None => self.leave()?,
                    }
                }
            }
        }
        Ok(false)
    }

    fn enter(&mut self, name: CString) -> Result<(), Errno> {
        let above = self.current.as_ref().unwrap_or(&self.base);
        let directory = match openat(above, name.as_c_str(), DIRECTORY, Mode::empty()) {
            Ok(directory) => directory,
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(errno),
        };
        let found = fstat(&directory)?;
        self.levels.push(Level {
            name,
            identity: (found.st_dev, found.st_ino),
            entries: Some(Dir::read_from(&directory)?),
            subdirectories: Vec::new(),
            rescans: 0,
        });
        self.current = Some(directory);
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Errno> {
        let Some(mut level) = self.levels.pop() else {
            return Ok(());
        };
        let above = match (self.levels.last(), &self.current) {
            (Some(parent), Some(current)) => {
                let above = openat(current, c"..", DIRECTORY, Mode::empty())?;
                let found = fstat(&above)?;
                if (found.st_dev, found.st_ino) != parent.identity {
                    // Moved while it was being removed.
                    return Err(Errno::BUSY);
                }
                Some(above)
            }
            _ => None,
        };
        let parent = above.as_ref().unwrap_or(&self.base);
        match unlinkat(parent, level.name.as_c_str(), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {
                self.current = above;
                Ok(())
            }
            Err(Errno::NOTEMPTY) if level.rescans < MAX_RESCANS => {
                level.rescans += 1;
                level.entries = self.current.as_ref().map(Dir::read_from).transpose()?;
                self.levels.push(level);
                Ok(())
            }
            Err(errno) => Err(errno),
        }
    }
}

fn remove_one(directory: &OwnedFd, name: &CStr) -> Result<(), Errno> {
    match unlinkat(directory, name, AtFlags::empty()) {
        Err(Errno::ISDIR) => unlinkat(directory, name, AtFlags::REMOVEDIR),
        done => done,
    }
}
