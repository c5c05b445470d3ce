//! Stream 0 of a connection: what the host sends until the program takes it.
//! Bounded by what was granted; a program that reads fast is granted more.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use rustix::io::{Errno, write};
use rustix::net::{Shutdown, shutdown};

use super::NetContext;
use crate::channel::ProtocolBreach;

/// How far the window of one connection may grow.
const MAX_WINDOW: u32 = 1 << 20;

pub struct Sink {
    queue: VecDeque<Vec<u8>>,
    /// Bytes of the first queued piece that are already written.
    written: usize,
    /// Bytes that the host may still send.
    window_left: u32,
    to_grant: u32,
    window: u32,
    initial_window: u32,
    /// The host has sent its last byte.
    pub ended: bool,
    is_shut: bool,
    pub writable: bool,
}

impl Sink {
    pub fn new(window: u32) -> Self {
        Self {
            queue: VecDeque::new(),
            written: 0,
            window_left: window,
            to_grant: 0,
            window,
            initial_window: window,
            ended: false,
            is_shut: false,
            writable: true,
        }
    }

    /// Everything that the host sent has reached the program, its end too.
    pub fn is_done(&self) -> bool {
        self.is_shut
    }

    pub fn on_data(
        &mut self,
        context: &mut NetContext,
        id: u32,
        socket: &OwnedFd,
        payload: &[u8],
    ) -> Result<Result<(), Errno>, ProtocolBreach> {
        let length = u32::try_from(payload.len()).map_err(|_| ProtocolBreach)?;
        if self.ended || length > self.window_left {
            return Err(ProtocolBreach);
        }
        self.window_left -= length;
        let taken = if self.queue.is_empty() { self.offer(socket, payload) } else { Ok(0) };
        let taken = match taken {
            Ok(taken) => taken,
            Err(errno) => return Ok(Err(errno)),
        };
        if taken < payload.len() {
            self.queue.push_back(payload[taken..].to_vec());
        }
        self.taken(context, id, taken);
        Ok(Ok(()))
    }

    /// Writes what the program takes; true when something moved.
    pub fn step(&mut self, context: &mut NetContext, id: u32, socket: &OwnedFd) -> Result<bool, Errno> {
        let mut moved = false;
        while let Some(piece) = self.queue.pop_front() {
            let taken = self.offer(socket, &piece[self.written..])?;
            self.written += taken;
            moved |= taken > 0;
            if self.written < piece.len() {
                self.queue.push_front(piece);
                self.taken(context, id, taken);
                break;
            }
            self.written = 0;
            self.taken(context, id, taken);
        }
        if self.queue.is_empty() && self.queue.capacity() > 0 {
            self.queue = VecDeque::new();
        }
        if self.ended && self.queue.is_empty() && !self.is_shut {
            self.is_shut = true;
            moved = true;
            // A program that is gone already is noticed where it is read from.
            let _ = shutdown(socket, Shutdown::Write);
        }
        Ok(moved)
    }

    fn offer(&mut self, socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
        let mut taken = 0;
        while taken < bytes.len() && self.writable {
            match write(socket, &bytes[taken..]) {
                Ok(count) => taken += count,
                Err(Errno::AGAIN) => self.writable = false,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(taken)
    }

    fn taken(&mut self, context: &mut NetContext, id: u32, count: usize) {
        // At most a window is ever queued, so the sum cannot overflow.
        self.to_grant += count as u32;
        if self.to_grant < self.window / 4 || self.ended {
            return;
        }
        let mut grant = self.to_grant;
        self.to_grant = 0;
        // It takes as fast as the host sends: let the host send further ahead.
        if self.queue.is_empty() && self.window < MAX_WINDOW && context.budget.take(self.window) {
            grant += self.window;
            self.window *= 2;
        }
        context.outbox.credit(id, 0, grant);
        self.window_left += grant;
    }

    /// The bytes taken from the budget beyond the first window.
    pub fn borrowed(&self) -> u32 {
        self.window - self.initial_window
    }
}
