//! The three streams of a call, between the host's frames and the module. Nothing is held beyond the windows.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use ak_wire::{MAX_CREDIT, MAX_DATA};

use crate::bell::{Bell, locked};
use crate::kill::{Kill, Killed};
use crate::outbox::{Frames, Outbox};

/// Bytes that the host may send ahead of what a module reads.
pub const STDIN_WINDOW: u32 = 262_144;

/// Why nothing more is written.
pub enum Stopped {
    Unread,
    Killed,
}

impl From<Killed> for Stopped {
    fn from(_: Killed) -> Self {
        Self::Killed
    }
}

struct Allowance {
    credit: u32,
    unread: bool,
}

/// Stream 1 or 2 of a channel.
pub struct Output {
    channel: u32,
    stream: u8,
    outbox: Arc<Outbox>,
    allowance: Mutex<Allowance>,
    bell: Arc<Bell>,
}

impl Output {
    pub fn new(channel: u32, stream: u8, outbox: Arc<Outbox>, window: u32, bell: Arc<Bell>) -> Arc<Self> {
        let allowance = Mutex::new(Allowance { credit: window, unread: false });
        Arc::new(Self { channel, stream, outbox, allowance, bell })
    }

    /// False where the host grants more than there may be.
    pub fn grant(&self, bytes: u32) -> bool {
        {
            let mut allowance = locked(&self.allowance);
            let Some(credit) = allowance.credit.checked_add(bytes).filter(|sum| *sum <= MAX_CREDIT) else {
                return false;
            };
            allowance.credit = credit;
        }
        self.bell.ring();
        true
    }

    /// The host reads it no more.
    pub fn stop(&self) {
        locked(&self.allowance).unread = true;
        self.bell.ring();
    }

    /// As much as the host takes now, at least one byte of what is not empty. Waits for room.
    pub fn write(&self, bytes: &[u8], kill: &Kill) -> Result<usize, Stopped> {
        if bytes.is_empty() {
            return Ok(0);
        }
        kill.wait_until(None, || {
            let allowance = locked(&self.allowance);
            allowance.unread || allowance.credit > 0
        })?;
        let size = {
            let mut allowance = locked(&self.allowance);
            if allowance.unread {
                return Err(Stopped::Unread);
            }
            let size = bytes.len().min(allowance.credit as usize).min(MAX_DATA);
            allowance.credit -= size as u32;
            size
        };
        self.outbox.send_soon(Frames::default().data(self.channel, self.stream, &bytes[..size]));
        Ok(size)
    }

    pub fn write_all(&self, mut bytes: &[u8], kill: &Kill) -> Result<(), Stopped> {
        while !bytes.is_empty() {
            let size = self.write(bytes, kill)?;
            bytes = &bytes[size..];
        }
        Ok(())
    }
}

#[derive(Default)]
struct Waiting {
    bytes: VecDeque<u8>,
    ended: bool,
}

/// Stream 0 of a channel.
pub struct Input {
    channel: u32,
    outbox: Arc<Outbox>,
    waiting: Mutex<Waiting>,
    bell: Arc<Bell>,
}

impl Input {
    /// Where the call has no input, it has ended already.
    pub fn new(channel: u32, outbox: Arc<Outbox>, is_open: bool, bell: Arc<Bell>) -> Arc<Self> {
        let waiting = Mutex::new(Waiting { ended: !is_open, ..Waiting::default() });
        Arc::new(Self { channel, outbox, waiting, bell })
    }

    /// False where the host sends more than it was granted.
    pub fn push(&self, bytes: &[u8]) -> bool {
        let fits = {
            let mut waiting = locked(&self.waiting);
            if waiting.ended {
                return true;
            }
            waiting.bytes.extend(bytes);
            waiting.bytes.len() <= STDIN_WINDOW as usize
        };
        self.bell.ring();
        fits
    }

    pub fn end(&self) {
        locked(&self.waiting).ended = true;
        self.bell.ring();
    }

    /// There is something to read, if only its end.
    pub fn is_ready(&self) -> bool {
        let waiting = locked(&self.waiting);
        waiting.ended || !waiting.bytes.is_empty()
    }

    pub fn available(&self) -> usize {
        locked(&self.waiting).bytes.len()
    }

    /// Waits for something; nothing is the end.
    pub fn read(&self, into: &mut [u8], kill: &Kill) -> Result<usize, Killed> {
        if into.is_empty() {
            return Ok(0);
        }
        kill.wait_until(None, || self.is_ready())?;
        let size = {
            let mut waiting = locked(&self.waiting);
            let (first, _) = waiting.bytes.as_slices();
            let size = first.len().min(into.len());
            into[..size].copy_from_slice(&first[..size]);
            waiting.bytes.drain(..size);
            size
        };
        if size > 0 {
            self.outbox.send(Frames::default().credit(self.channel, 0, size as u32));
        }
        Ok(size)
    }

    /// Everything up to the end. Nothing where it is more than `limit`.
    pub fn read_all(&self, limit: usize, kill: &Kill) -> Result<Option<Vec<u8>>, Killed> {
        let mut all = Vec::new();
        let mut piece = vec![0; MAX_DATA];
        loop {
            match self.read(&mut piece, kill)? {
                0 => return Ok(Some(all)),
                size if all.len() + size > limit => return Ok(None),
                size => all.extend_from_slice(&piece[..size]),
            }
        }
    }
}
