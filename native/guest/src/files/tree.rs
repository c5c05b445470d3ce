//! tree-read and tree-write: whole directories as one stream, so that a copy costs few round trips.

use ak_tree::{Destination, Failure, Limits, Links, Reader, Writer};
use ak_wire::FrameType;
use ak_wire::payload::{Empty, OpenTreeRead, OpenTreeWrite};
use rustix::fs::{OFlags, fstat};

use super::credit::Credit;
use super::{SAFE_OPEN, absolute, own};
use crate::channel::{Context, ProtocolBreach, Refusal, Step, WINDOW};

/// Enough for one turn.
const PORTION: usize = 128 * 1024;
/// The host's own limits come before it sends anything; inside, the sandbox's disk is the limit.
const UNLIMITED: Limits = Limits { bytes: u64::MAX, entries: u64::MAX };
/// The payload of a CLOSE frame, with room to spare.
const MAX_REPORT: usize = 60_000;

impl From<Failure> for Refusal {
    fn from(Failure { code, message }: Failure) -> Self {
        Self::new(code, message)
    }
}

pub struct TreeRead {
    reader: Reader,
    /// Read and not sent.
    portion: Vec<u8>,
    sent: usize,
    has_more: bool,
    pub credit: Credit,
}

impl TreeRead {
    pub fn open(open: &OpenTreeRead, window: u32, ctx: &mut Context) -> Result<Self, Refusal> {
        let path = absolute(&open.path)?;
        let file = own::open(path, OFlags::RDONLY | SAFE_OPEN).map_err(|errno| Failure::at(path, errno))?;
        own::refuse_processes(&file, &fstat(&file)?)?;
        let reader = Reader::of(file, path, Box::new(|_| None))?;
        ctx.outbox.json(FrameType::Opened, ctx.id, &Empty {});
        Ok(Self { reader, portion: Vec::new(), sent: 0, has_more: true, credit: Credit::new(window) })
    }

    pub fn step(&mut self, ctx: &mut Context) -> Step {
        if !ctx.outbox.has_room() {
            return Step::Waiting;
        }
        if self.sent == self.portion.len() && self.has_more {
            self.portion.clear();
            self.sent = 0;
            self.has_more = self.reader.fill(&mut self.portion, PORTION);
        }
        let count = (self.portion.len() - self.sent).min(self.credit.frame_max());
        if count > 0 {
            ctx.outbox.frame(FrameType::Data, ctx.id, 1, &self.portion[self.sent..self.sent + count]);
            self.credit.spend(count);
            self.sent += count;
        }
        if self.sent == self.portion.len() && !self.has_more {
            ctx.outbox.eof(ctx.id, 1);
            ctx.outbox.json(FrameType::Close, ctx.id, &Empty {});
            return Step::Ended;
        }
        if count > 0 { Step::Progress } else { Step::Waiting }
    }
}

pub struct TreeWrite {
    /// None once it is finished.
    writer: Option<Writer>,
    ungranted: u32,
}

impl TreeWrite {
    pub fn open(open: OpenTreeWrite, ctx: &mut Context) -> Result<Self, Refusal> {
        let path = absolute(&open.path)?.into();
        let destination = Destination { path, name: open.name.into_bytes(), contents: open.contents };
        ctx.outbox.json(FrameType::Opened, ctx.id, &Empty {});
        Ok(Self { writer: Some(Writer::new(destination, Links::Any, UNLIMITED)), ungranted: 0 })
    }

    pub fn on_data(&mut self, ctx: &mut Context, payload: &[u8]) -> Result<Step, ProtocolBreach> {
        // Credit that was not granted back is the part of the window that the host has used.
        let length = u32::try_from(payload.len()).map_err(|_| ProtocolBreach)?;
        if length > WINDOW - self.ungranted {
            return Err(ProtocolBreach);
        }
        if let Some(Err(failure)) = self.writer.as_mut().map(|writer| writer.push(payload)) {
            return Ok(fail(ctx, failure));
        }
        self.ungranted += length;
        if self.ungranted >= WINDOW / 4 {
            ctx.outbox.credit(ctx.id, 0, self.ungranted);
            self.ungranted = 0;
        }
        Ok(Step::Progress)
    }

    pub fn on_eof(&mut self, ctx: &mut Context) -> Step {
        let Some(writer) = self.writer.take() else { return Step::Ended };
        match writer.finish() {
            Ok(mut report) => {
                while serde_json::to_vec(&report).is_ok_and(|text| text.len() > MAX_REPORT) {
                    report.notes.pop();
                    report.omitted += 1;
                }
                ctx.outbox.json(FrameType::Close, ctx.id, &report);
            }
            Err(failure) => return fail(ctx, failure),
        }
        Step::Ended
    }
}

fn fail(ctx: &mut Context, failure: Failure) -> Step {
    ctx.outbox.json(FrameType::Close, ctx.id, &Refusal::from(failure).payload());
    Step::Ended
}
