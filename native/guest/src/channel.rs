//! The parts that all kinds of channels share, and the table entry that holds one.

use std::fmt::Display;
use std::time::Instant;

use ak_wire::FrameType;
use ak_wire::payload::Failed;

use crate::exec::Exec;
use crate::files::{FileRead, FileWrite, Listing, Removal, TreeRead, TreeWrite};
use crate::outbox::Outbox;
use crate::poller::Ready;

/// The window that the guest announces in its HELLO and accepts on each stream.
pub const WINDOW: u32 = 262_144;

/// The host broke the protocol; the guest ends.
#[derive(Debug)]
pub struct ProtocolBreach;

/// Why an OPEN is answered with FAILED.
#[derive(Debug)]
pub struct Refusal {
    pub code: &'static str,
    pub message: String,
}

impl Refusal {
    pub fn new(code: &'static str, message: impl Display) -> Self {
        Self { code, message: message.to_string() }
    }

    pub fn invalid(message: impl Display) -> Self {
        Self::new("invalid", message)
    }

    pub fn payload(self) -> Failed {
        Failed { code: self.code.into(), message: self.message }
    }
}

/// The parts of the server that a channel may use while it works.
pub struct Context<'a> {
    pub id: u32,
    pub outbox: &'a mut Outbox,
    pub now: Instant,
    /// Live keepers of all execs.
    pub keepers: &'a [i32],
}

pub enum Step {
    /// Nothing to do until an event.
    Waiting,
    /// Something moved; more may be possible at once.
    Progress,
    /// The terminal frame is sent.
    Ended,
}

pub enum Channel {
    Exec(Box<Exec>),
    FileRead(FileRead),
    FileWrite(FileWrite),
    Listing(Listing),
    Removal(Removal),
    TreeRead(Box<TreeRead>),
    TreeWrite(Box<TreeWrite>),
}

impl Channel {
    pub fn on_ready(&mut self, ready: &Ready) {
        if let Self::Exec(exec) = self {
            exec.on_ready(ready);
        }
    }

    pub fn look_again(&mut self) {
        if let Self::Exec(exec) = self {
            exec.look_again();
        }
    }

    pub fn on_data(&mut self, ctx: &mut Context, payload: &[u8]) -> Result<Step, ProtocolBreach> {
        match self {
            Self::Exec(exec) => exec.on_data(ctx, payload).map(|()| Step::Progress),
            Self::FileWrite(file) => file.on_data(ctx, payload),
            Self::TreeWrite(tree) => tree.on_data(ctx, payload),
            _ => Err(ProtocolBreach),
        }
    }

    pub fn on_eof(&mut self, ctx: &mut Context) -> Result<Step, ProtocolBreach> {
        match self {
            Self::Exec(exec) => exec.on_eof().map(|()| Step::Progress),
            Self::FileWrite(file) => Ok(file.on_eof(ctx)),
            Self::TreeWrite(tree) => Ok(tree.on_eof(ctx)),
            _ => Err(ProtocolBreach),
        }
    }

    pub fn on_credit(&mut self, stream: u8, amount: u32) -> Result<(), ProtocolBreach> {
        match self {
            Self::Exec(exec) => exec.on_credit(stream, amount),
            Self::FileRead(file) if stream == 1 => file.credit.add(amount),
            Self::Listing(listing) if stream == 1 => listing.credit.add(amount),
            Self::TreeRead(tree) if stream == 1 => tree.credit.add(amount),
            _ => Ok(()),
        }
    }

    /// One turn of a fair round over all channels.
    pub fn step(&mut self, ctx: &mut Context) -> Step {
        match self {
            Self::Exec(exec) => exec.step(ctx),
            Self::FileRead(file) => file.step(ctx),
            Self::FileWrite(_) | Self::TreeWrite(_) => Step::Waiting,
            Self::TreeRead(tree) => tree.step(ctx),
            Self::Listing(listing) => listing.step(ctx),
            Self::Removal(removal) => removal.step(ctx),
        }
    }

    /// The host asked for the end. Execs end later, when they are dead.
    pub fn on_close(&mut self, ctx: &mut Context) -> Step {
        if let Self::Exec(exec) = self {
            exec.on_close(ctx);
            return Step::Progress;
        }
        self.abandon(ctx);
        Step::Ended
    }

    /// Sends the terminal frame now, whatever is unfinished.
    pub fn abandon(&mut self, ctx: &mut Context) {
        let cut = || Refusal::new("io", "abandoned").payload();
        match self {
            Self::Exec(exec) if exec.has_started() => exec.end(ctx),
            Self::Exec(_) | Self::Removal(_) => {
                ctx.outbox.json(FrameType::Failed, ctx.id, &cut());
            }
            _ => ctx.outbox.json(FrameType::Close, ctx.id, &cut()),
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Exec(exec) => exec.deadline(),
            _ => None,
        }
    }
}
