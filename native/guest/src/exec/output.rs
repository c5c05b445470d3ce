//! Stream 1 or 2 of an exec: read from the command only as far as the host
//! gave credit and the way to the host has room.

use std::os::fd::{AsFd, OwnedFd};

use ak_wire::payload::{KeptOutput, WindowSize};
use ak_wire::{MAX_CREDIT, MAX_DATA};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionread, read};

use super::replay::Replay;
use crate::channel::{Context, ProtocolBreach};
use crate::pty;

pub enum Flow {
    Blocked,
    Sent,
    Ended,
}

pub struct Output {
    /// None when it has ended.
    source: Option<OwnedFd>,
    pub stream: u8,
    credit: u32,
    /// EOF was sent to the present host.
    pub ended: bool,
    replay: Option<Replay>,
    pub ready: bool,
    /// The host wants no more of it.
    pub unread: bool,
    is_tty: bool,
    command_ended: bool,
    /// Once the command has ended: bytes in the pipe that may be its own.
    owed: Option<u64>,
}

impl Output {
    pub fn new(source: OwnedFd, stream: u8, credit: u32, is_tty: bool, is_kept: bool) -> Self {
        Self {
            source: Some(source),
            stream,
            credit,
            ended: false,
            replay: is_kept.then(Replay::default),
            ready: true,
            unread: false,
            is_tty,
            command_ended: false,
            owed: None,
        }
    }

    pub fn state(&self) -> KeptOutput {
        self.replay.as_ref().map_or(KeptOutput { acked: 0, sent: 0 }, Replay::state)
    }

    /// Another host takes it up; false if it cannot go on at this byte. Without one it goes on where the last host's
    /// acknowledgements ended.
    pub fn rewind(&mut self, from: Option<u64>, credit: u32) -> bool {
        let from = from.unwrap_or(self.state().acked);
        self.credit = credit;
        self.ended = false;
        self.ready = true;
        self.replay.as_mut().is_some_and(|replay| replay.rewind(from))
    }

    /// Stops reading from the command. A process that still writes gets EPIPE if the host wants no more; else the pipe
    /// is closed with the exec, which may be later, or outlives it.
    pub fn close(&mut self) {
        self.ended = true;
        if self.unread || self.replay.is_some() {
            self.source = None;
        }
    }

    pub fn resize(&self, size: WindowSize) {
        if let Some(master) = &self.source {
            // A terminal whose command is gone needs no size.
            let _ = pty::resize(master, size);
        }
    }

    pub fn add_credit(&mut self, amount: u32) -> Result<(), ProtocolBreach> {
        if self.ended {
            return Ok(());
        }
        let sum = self.credit.checked_add(amount).ok_or(ProtocolBreach)?;
        if sum > MAX_CREDIT {
            return Err(ProtocolBreach);
        }
        self.credit = sum;
        if let Some(replay) = &mut self.replay {
            replay.acknowledge(amount);
        }
        Ok(())
    }

    /// At most one frame.
    pub fn pump(&mut self, ctx: &mut Context) -> Flow {
        if self.unread {
            return Flow::Ended;
        }
        if self.replay.as_ref().is_some_and(Replay::is_behind) {
            return self.resend(ctx);
        }
        let Some(source) = &self.source else { return Flow::Ended };
        if !self.ready {
            return Flow::Blocked;
        }
        if self.credit == 0 {
            // An end needs no credit.
            return if is_over(source) && (self.command_ended || !self.is_tty) { Flow::Ended } else { Flow::Blocked };
        }
        if !ctx.outbox.has_room() {
            return Flow::Blocked;
        }
        let max = MAX_DATA.min(self.credit as usize);
        let replay = &mut self.replay;
        let fill = |space: &mut [u8]| {
            let count = read(source, &mut *space)?;
            if let Some(replay) = replay {
                replay.push(&space[..count]);
            }
            Ok(count)
        };
        match ctx.outbox.data(ctx.id, self.stream, max, fill) {
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
            // EIO from a PTY master means that no process has the terminal open. A command that still runs may open it
            // again; closing our end would hang it up.
            Err(Errno::IO) if self.is_tty && !self.command_ended => {
                self.ready = false;
                Flow::Blocked
            }
            Err(_) => Flow::Ended,
        }
    }

    fn resend(&mut self, ctx: &mut Context) -> Flow {
        let Some(replay) = self.replay.as_mut().filter(|_| self.credit > 0 && ctx.outbox.has_room()) else {
            return Flow::Blocked;
        };
        let max = MAX_DATA.min(self.credit as usize);
        let sent = ctx.outbox.data(ctx.id, self.stream, max, |space| Ok::<_, Errno>(replay.send(space)));
        self.credit -= sent.unwrap_or(0) as u32;
        Flow::Sent
    }

    /// The command has ended; what lies in the pipe now is owed to the host.
    pub fn on_command_end(&mut self) {
        self.command_ended = true;
        self.ready = true;
        // A PTY cannot tell; its session's hang-up ends it after the last byte.
        let source = self.source.as_ref().filter(|_| !self.is_tty && !self.ended);
        self.owed = source.and_then(|source| ioctl_fionread(source).ok());
    }

    /// All that the command itself wrote has been read.
    pub fn is_settled(&self) -> bool {
        let is_behind = self.replay.as_ref().is_some_and(Replay::is_behind);
        !is_behind && (!self.ready || self.owed == Some(0))
    }
}

fn is_over(source: &OwnedFd) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(source.as_fd(), PollFlags::IN)];
    let now = Timespec::default();
    let polled = poll(&mut fds, Some(&now));
    let seen = fds[0].revents();
    polled.is_ok() && seen.contains(PollFlags::HUP) && !seen.contains(PollFlags::IN)
}
