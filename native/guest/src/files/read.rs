//! file-read: a regular file to stream 1.

use std::os::fd::OwnedFd;

use ak_wire::FrameType;
use ak_wire::payload::{Empty, OpenFileRead, OpenedFile};
use rustix::fs::{FileType, OFlags, fstat};
use rustix::io::{Errno, pread};

use super::credit::Credit;
use super::stat::{mtime_ms, permissions, size};
use super::{SAFE_OPEN, absolute, own};
use crate::channel::{Context, Refusal, Step};

pub struct FileRead {
    file: OwnedFd,
    offset: u64,
    left: u64,
    pub credit: Credit,
}

impl FileRead {
    pub fn open(open: &OpenFileRead, window: u32, ctx: &mut Context) -> Result<Self, Refusal> {
        let path = absolute(&open.path)?;
        let file = own::open(path, OFlags::RDONLY | SAFE_OPEN)?;
        let found = fstat(&file)?;
        own::refuse_processes(&file, &found)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(Refusal::new("not_regular", "not a regular file"));
        }
        let opened = OpenedFile { size: size(&found), mode: permissions(&found), mtime_ms: mtime_ms(&found) };
        ctx.outbox.json(FrameType::Opened, ctx.id, &opened);
        Ok(Self { file, offset: open.offset, left: open.limit.unwrap_or(u64::MAX), credit: Credit::new(window) })
    }

    pub fn step(&mut self, ctx: &mut Context) -> Step {
        if !ctx.outbox.has_room() {
            return Step::Waiting;
        }
        let limit = usize::try_from(self.left).unwrap_or(usize::MAX);
        let max = self.credit.frame_max().min(limit);
        if max == 0 {
            return self.end_or_wait(ctx);
        }
        let (file, offset) = (&self.file, self.offset);
        match ctx.outbox.data(ctx.id, 1, max, |space| pread(file, space, offset)) {
            Ok(0) => end(ctx),
            Ok(count) => {
                self.credit.spend(count);
                self.offset = self.offset.saturating_add(count as u64);
                self.left -= count as u64;
                Step::Progress
            }
            Err(Errno::INTR) => Step::Progress,
            Err(errno) => fail(ctx, errno),
        }
    }

    /// Without credit: the end of the file still needs none.
    fn end_or_wait(&self, ctx: &mut Context) -> Step {
        if self.left == 0 {
            return end(ctx);
        }
        match pread(&self.file, &mut [0u8; 1], self.offset) {
            Ok(0) => end(ctx),
            Ok(_) | Err(Errno::INTR) => Step::Waiting,
            Err(errno) => fail(ctx, errno),
        }
    }
}

fn end(ctx: &mut Context) -> Step {
    ctx.outbox.eof(ctx.id, 1);
    ctx.outbox.json(FrameType::Close, ctx.id, &Empty {});
    Step::Ended
}

fn fail(ctx: &mut Context, errno: Errno) -> Step {
    ctx.outbox.eof(ctx.id, 1);
    let failed = Refusal::from(errno).payload();
    ctx.outbox.json(FrameType::Close, ctx.id, &failed);
    Step::Ended
}
