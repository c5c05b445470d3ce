//! Stream 0 of an exec: what the host sends until the command takes it.
//! Bounded by the window that the guest announced.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use ak_wire::payload::KeptInput;
use rustix::io::{Errno, write};

use crate::channel::{Context, ProtocolBreach, WINDOW};
use crate::pty;

/// Credit is granted in portions of this size, to keep CREDIT frames few.
const GRANT: u32 = WINDOW / 4;

pub struct Input {
    /// Without one (no stdin asked for, or the command closed it) bytes are
    /// thrown away and still credited, so that the host never hangs on it.
    sink: Option<OwnedFd>,
    is_tty: bool,
    queue: VecDeque<Vec<u8>>,
    /// Bytes of the first queued piece that are already written.
    written: usize,
    window_left: u32,
    to_grant: u32,
    ended: bool,
    received: u64,
    /// The command was started with a stdin of the host's.
    is_given: bool,
    pub ready: bool,
}

impl Input {
    pub fn new(sink: Option<OwnedFd>, is_tty: bool) -> Self {
        Self {
            is_given: sink.is_some(),
            received: 0,
            sink,
            is_tty,
            queue: VecDeque::new(),
            written: 0,
            window_left: WINDOW,
            to_grant: 0,
            ended: false,
            ready: true,
        }
    }

    pub fn on_data(&mut self, ctx: &mut Context, payload: &[u8]) -> Result<(), ProtocolBreach> {
        let length = u32::try_from(payload.len()).map_err(|_| ProtocolBreach)?;
        if self.ended || length > self.window_left {
            return Err(ProtocolBreach);
        }
        self.window_left -= length;
        self.received += u64::from(length);
        let taken = if self.queue.is_empty() { self.offer(payload) } else { 0 };
        self.taken(ctx, taken);
        if taken < payload.len() {
            self.queue.push_back(payload[taken..].to_vec());
        }
        Ok(())
    }

    pub fn on_eof(&mut self) -> Result<(), ProtocolBreach> {
        if self.ended {
            return Err(ProtocolBreach);
        }
        self.ended = true;
        self.finish_if_drained();
        Ok(())
    }

    pub fn state(&self) -> Option<KeptInput> {
        self.is_given.then_some(KeptInput { received: self.received, ended: self.ended })
    }

    /// Another host continues the input; it learns at once how much room there is.
    pub fn resume(&mut self, ctx: &mut Context) {
        let queued: usize = self.queue.iter().map(Vec::len).sum::<usize>() - self.written;
        self.to_grant = 0;
        self.window_left = WINDOW - queued as u32;
        if self.is_given && !self.ended && self.window_left > 0 {
            ctx.outbox.credit(ctx.id, 0, self.window_left);
        }
    }

    /// Writes what the sink takes; true when something moved.
    pub fn step(&mut self, ctx: &mut Context) -> bool {
        let mut moved = false;
        while let Some(piece) = self.queue.pop_front() {
            let taken = self.offer(&piece[self.written..]);
            self.taken(ctx, taken);
            moved |= taken > 0;
            self.written += taken;
            if self.written < piece.len() {
                self.queue.push_front(piece);
                break;
            }
            self.written = 0;
        }
        self.finish_if_drained();
        moved
    }

    /// The command has ended: no process reads any more.
    pub fn close(&mut self) {
        self.sink = None;
        self.ready = true;
    }

    /// How many bytes were taken: written, or thrown away without a reader.
    fn offer(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while taken < bytes.len() {
            let Some(sink) = &self.sink else {
                return bytes.len();
            };
            if !self.ready {
                break;
            }
            match write(sink, &bytes[taken..]) {
                Ok(count) => taken += count,
                Err(Errno::AGAIN) => self.ready = false,
                Err(Errno::INTR) => {}
                Err(_) => self.sink = None,
            }
        }
        taken
    }

    fn taken(&mut self, ctx: &mut Context, count: usize) {
        // At most a window is ever queued, so the sum cannot overflow.
        self.to_grant += count as u32;
        if self.to_grant >= GRANT {
            ctx.outbox.credit(ctx.id, 0, self.to_grant);
            self.window_left += self.to_grant;
            self.to_grant = 0;
        }
    }

    fn finish_if_drained(&mut self) {
        if !self.ended || !self.queue.is_empty() {
            return;
        }
        let Some(sink) = &self.sink else {
            return;
        };
        if self.is_tty {
            match write(sink, &[pty::eof_character(sink)]) {
                Err(Errno::AGAIN) => self.ready = false,
                _ => self.sink = None,
            }
        } else {
            self.sink = None;
        }
    }
}
