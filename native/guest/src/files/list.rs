//! file-op `list`: a directory's entries as lines of JSON on stream 1.

use std::os::fd::OwnedFd;

use ak_wire::FrameType;
use ak_wire::payload::{Empty, Truncated};
use rustix::fs::{Dir, OFlags, fstat};
use rustix::io::Errno;

use super::credit::Credit;
use super::stat::list_entry;
use super::{SAFE_OPEN, absolute, own};
use crate::channel::{Context, Refusal, Step};

const MAX_ENTRIES: usize = 100_000;
/// Enough lines for one turn.
const PORTION: usize = 32 * 1024;

pub struct Listing {
    directory: OwnedFd,
    entries: Dir,
    count: usize,
    lines: Vec<u8>,
    finished: Option<Finish>,
    pub credit: Credit,
}

#[derive(Clone, Copy)]
enum Finish {
    Complete,
    Truncated,
    Failed(Errno),
}

impl Listing {
    pub fn open(path: &str, window: u32, ctx: &mut Context) -> Result<Self, Refusal> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | SAFE_OPEN;
        let directory = own::open(absolute(path)?, flags)?;
        own::refuse_processes(&directory, &fstat(&directory)?)?;
        let entries = Dir::read_from(&directory)?;
        ctx.outbox.json(FrameType::Opened, ctx.id, &Empty {});
        Ok(Self { directory, entries, count: 0, lines: Vec::new(), finished: None, credit: Credit::new(window) })
    }

    pub fn step(&mut self, ctx: &mut Context) -> Step {
        if !ctx.outbox.has_room() {
            return Step::Waiting;
        }
        while self.finished.is_none() && self.lines.len() < PORTION {
            self.finished = self.read_entry().err();
        }
        let count = self.lines.len().min(self.credit.frame_max());
        if count > 0 {
            ctx.outbox.frame(FrameType::Data, ctx.id, 1, &self.lines[..count]);
            self.credit.spend(count);
            self.lines.drain(..count);
        }
        match self.finished {
            Some(finish) if self.lines.is_empty() => end(ctx, finish),
            _ if count > 0 => Step::Progress,
            _ => Step::Waiting,
        }
    }

    fn read_entry(&mut self) -> Result<(), Finish> {
        let entry = match self.entries.read() {
            None => return Err(Finish::Complete),
            Some(Err(errno)) => return Err(Finish::Failed(errno)),
            Some(Ok(entry)) => entry,
        };
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            return Ok(());
        }
        if self.count == MAX_ENTRIES {
            return Err(Finish::Truncated);
        }
        match list_entry(&self.directory, name) {
            Ok(line) => {
                let written = serde_json::to_writer(&mut self.lines, &line);
                written.map_err(|_| Finish::Failed(Errno::IO))?;
                self.lines.push(b'\n');
                self.count += 1;
                Ok(())
            }
            // Removed since the directory was read.
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(Finish::Failed(errno)),
        }
    }
}

fn end(ctx: &mut Context, finish: Finish) -> Step {
    ctx.outbox.eof(ctx.id, 1);
    match finish {
        Finish::Complete => ctx.outbox.json(FrameType::Close, ctx.id, &Empty {}),
        Finish::Truncated => {
            let cut = Truncated { truncated: true };
            ctx.outbox.json(FrameType::Close, ctx.id, &cut);
        }
        Finish::Failed(errno) => {
            let failed = Refusal::from(errno).payload();
            ctx.outbox.json(FrameType::Close, ctx.id, &failed);
        }
    }
    Step::Ended
}
