//! Stream 1 or 2 of an exec: read from the command only as far as the host
//! gave credit and the way to the host has room.

use std::os::fd::{AsFd, OwnedFd};

use ak_wire::{MAX_CREDIT, MAX_DATA};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionread, read};

use crate::channel::{Context, ProtocolBreach};

pub enum Flow {
    Blocked,
    Sent,
    Ended,
}

pub struct Output {
    pub source: OwnedFd,
    pub stream: u8,
    pub credit: u32,
    pub ready: bool,
    /// The host wants no more of it.
    pub unread: bool,
    is_tty: bool,
    command_ended: bool,
    /// Once the command has ended: bytes in the pipe that may be its own.
    owed: Option<u64>,
}

impl Output {
    pub fn new(source: OwnedFd, stream: u8, credit: u32, is_tty: bool) -> Self {
        Self { source, stream, credit, ready: true, unread: false, is_tty, command_ended: false, owed: None }
    }

    pub fn add_credit(&mut self, amount: u32) -> Result<(), ProtocolBreach> {
        let sum = self.credit.checked_add(amount).ok_or(ProtocolBreach)?;
        if sum > MAX_CREDIT {
            return Err(ProtocolBreach);
        }
        self.credit = sum;
        Ok(())
    }

    /// At most one frame.
    pub fn pump(&mut self, ctx: &mut Context) -> Flow {
        if self.unread {
            return Flow::Ended;
        }
        if !self.ready {
            return Flow::Blocked;
        }
        if self.credit == 0 {
            // An end needs no credit.
            return if self.is_over() && (self.command_ended || !self.is_tty) { Flow::Ended } else { Flow::Blocked };
        }
        if !ctx.outbox.has_room() {
            return Flow::Blocked;
        }
        let max = MAX_DATA.min(self.credit as usize);
        let source = &self.source;
        match ctx.outbox.data(ctx.id, self.stream, max, |space| read(source, space)) {
            Ok(0) => Flow::Ended,
            Ok(count) => {
                self.credit -= count as u32;
                self.owed = self.owed.map(|owed| owed.saturating_sub(count as u64));
                Flow::Sent
            }
            Err(Errno::INTR) => Flow::Sent,
            Err(Errno::AGAIN) => {
                self.ready = false;
                Flow::Blocked
            }
            // So a PTY master says that nobody has the terminal open. A command
            // that still runs may open it again; closing ours would hang it up.
            Err(Errno::IO) if self.is_tty && !self.command_ended => {
                self.ready = false;
                Flow::Blocked
            }
            Err(_) => Flow::Ended,
        }
    }

    /// The command has ended; what lies in the pipe now is owed to the host.
    pub fn on_command_end(&mut self) {
        self.command_ended = true;
        self.ready = true;
        // A PTY cannot tell; its session's hang-up ends it after the last byte.
        self.owed = if self.is_tty { None } else { ioctl_fionread(&self.source).ok() };
    }

    /// All that the command itself wrote has been read.
    pub fn is_settled(&self) -> bool {
        !self.ready || self.owed == Some(0)
    }

    fn is_over(&self) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(self.source.as_fd(), PollFlags::IN)];
        let now = Timespec::default();
        let polled = poll(&mut fds, Some(&now));
        let seen = fds[0].revents();
        polled.is_ok() && seen.contains(PollFlags::HUP) && !seen.contains(PollFlags::IN)
    }
}
