//! file-write: stream 0 to a temporary file, which then takes the name. Until
//! that moment the old content stands; nothing unfinished is ever left.

use std::fs::DirBuilder;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use ak_wire::FrameType;
use ak_wire::payload::{Empty, OpenFileWrite, Written};
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Uid, fchmod, fchown, openat, renameat, statat, unlinkat};
use rustix::io::{Errno, write};

use super::stat::permissions;
use super::{SAFE_OPEN, absolute, own};
use crate::channel::{Context, ProtocolBreach, Refusal, Step, WINDOW};

const DEFAULT_MODE: u32 = 0o644;
const PARENTS_MODE: u32 = 0o755;

pub struct FileWrite {
    temporary: Temporary,
    name: String,
    size: u64,
    ungranted: u32,
}

impl FileWrite {
    pub fn open(open: &OpenFileWrite, ctx: &mut Context) -> Result<Self, Refusal> {
        let path = Path::new(absolute(&open.path)?);
        let parts = (path.parent(), path.file_name().and_then(|n| n.to_str()));
        let (Some(parent), Some(name)) = parts else {
            return Err(Refusal::new("not_regular", "the path names a directory"));
        };
        if open.path.ends_with('/') {
            return Err(Refusal::new("not_regular", "the path names a directory"));
        }
        if open.parents {
            make_parents(parent)?;
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = own::open(parent, flags)?;
        let existing = existing_file(&directory, name)?;
        let temporary = Temporary::create(directory)?;
        let kept = existing.as_ref().map(permissions);
        let mode = open.mode.or(kept).unwrap_or(DEFAULT_MODE);
        if let Some(old) = existing {
            let (uid, gid) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
            // A guest without the right to give files away keeps its own.
            let _ = fchown(&temporary.file, Some(uid), Some(gid));
        }
        // After the change of owner, which takes set-id bits away.
        fchmod(&temporary.file, Mode::from_raw_mode(mode & 0o7777))?;
        ctx.outbox.json(FrameType::Opened, ctx.id, &Empty {});
        Ok(Self { temporary, name: name.to_owned(), size: 0, ungranted: 0 })
    }

    pub fn on_data(&mut self, ctx: &mut Context, payload: &[u8]) -> Result<Step, ProtocolBreach> {
        // Credit that was not granted back is the part of the window that the host has used.
        let length = u32::try_from(payload.len()).map_err(|_| ProtocolBreach)?;
        if length > WINDOW - self.ungranted {
            return Err(ProtocolBreach);
        }
        if let Err(errno) = write_all(&self.temporary.file, payload) {
            return Ok(fail(ctx, errno));
        }
        self.size += u64::from(length);
        self.ungranted += length;
        if self.ungranted >= WINDOW / 4 {
            ctx.outbox.credit(ctx.id, 0, self.ungranted);
            self.ungranted = 0;
        }
        Ok(Step::Progress)
    }

    pub fn on_eof(&mut self, ctx: &mut Context) -> Step {
        // Looked at again: something else may have taken the name meanwhile.
        let committed = existing_file(&self.temporary.directory, &self.name)
            .and_then(|_| self.temporary.rename_to(&self.name).map_err(Refusal::from));
        match committed {
            Ok(()) => {
                let written = Written { size: self.size };
                ctx.outbox.json(FrameType::Close, ctx.id, &written);
            }
            Err(refusal) => ctx.outbox.json(FrameType::Close, ctx.id, &refusal.payload()),
        }
        Step::Ended
    }
}

fn fail(ctx: &mut Context, errno: Errno) -> Step {
    let failed = Refusal::from(errno).payload();
    ctx.outbox.json(FrameType::Close, ctx.id, &failed);
    Step::Ended
}

/// A regular file of that name, if any. A link counts as absent: it is replaced
/// and never followed. Everything else cannot be written.
fn existing_file(directory: &OwnedFd, name: &str) -> Result<Option<rustix::fs::Stat>, Refusal> {
    let found = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => found,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Ok(Some(found)),
        FileType::Symlink => Ok(None),
        _ => Err(Refusal::new("not_regular", "not a regular file")),
    }
}

pub fn make_parents(directory: &Path) -> Result<(), Refusal> {
    let made = DirBuilder::new().recursive(true).mode(PARENTS_MODE).create(directory);
    made.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO).into())
}

fn write_all(file: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match write(&file, bytes) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Removes its file unless that was renamed.
struct Temporary {
    directory: OwnedFd,
    name: String,
    file: OwnedFd,
    renamed: bool,
}

impl Temporary {
    fn create(directory: OwnedFd) -> Result<Self, Errno> {
        const ATTEMPTS: usize = 8;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | SAFE_OPEN;
        let mut last = Errno::EXIST;
        for _ in 0..ATTEMPTS {
            let mut random = [0u8; 8];
            rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
            let name = format!(".ak-{:016x}.tmp", u64::from_ne_bytes(random));
            match openat(&directory, &name, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => {
                    return Ok(Self { directory, name, file, renamed: false });
                }
                Err(Errno::EXIST) => last = Errno::EXIST,
                Err(errno) => return Err(errno),
            }
        }
        Err(last)
    }

    fn rename_to(&mut self, name: &str) -> Result<(), Errno> {
        renameat(&self.directory, &self.name, &self.directory, name)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // A process inside may have removed it already.
            let _ = unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
    }
}
