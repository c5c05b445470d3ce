//! Messages on the container's standard streams: a length of four bytes, little-endian, and so many bytes. Nothing is
//! read ahead, for what follows the last message belongs to the guest.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use ak_jail::{
    fault::{During, Fault, Outcome},
    sys,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

/// An order with long lists is far below this, and so is a part of a tree.
const MAX_MESSAGE: usize = 4 << 20;
const PART: usize = 256 << 10;
/// A host that lives ends the container long before.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);

pub struct HostChannel {
    input: File,
    output: File,
}

impl HostChannel {
    pub fn open() -> io::Result<Self> {
        let input = sys::above_placed(sys::inherited(0)?)?;
        let output = sys::above_placed(sys::inherited(1)?)?;
        Ok(Self { input: File::from(input), output: File::from(output) })
    }

    /// On one descriptor for both directions.
    pub fn on(stream: OwnedFd) -> io::Result<Self> {
        Ok(Self { input: File::from(stream.try_clone()?), output: File::from(stream) })
    }

    pub fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    pub fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// The next message; none where the host is gone.
    pub fn hear(&mut self) -> Outcome<Option<Vec<u8>>> {
        let mut length = [0; 4];
        match self.input.read_exact(&mut length) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(e) => return Err(e).during("hear the host"),
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_MESSAGE {
            return Err(Fault::new("internal", format!("a message of {length} bytes")));
        }
        let mut message = vec![0; length];
        self.input.read_exact(&mut message).during("hear the host")?;
        Ok(Some(message))
    }

    /// Messages up to an empty one, as one.
    pub fn hear_all(&mut self, most: usize) -> Outcome<Vec<u8>> {
        let mut whole = Vec::new();
        loop {
            let part = self.hear()?.ok_or_else(|| Fault::start("the host is gone"))?;
            if part.is_empty() {
                return Ok(whole);
            }
            whole.extend(part);
            if whole.len() > most {
                return Err(Fault::new("internal", "the host sends too much"));
            }
        }
    }

    /// In messages that are not too long, and an empty one.
    pub fn send_all(&mut self, whole: &[u8]) -> Outcome<()> {
        for part in whole.chunks(PART) {
            self.send(part)?;
        }
        self.send(&[])
    }

    pub fn send(&mut self, message: &[u8]) -> Outcome<()> {
        let length = u32::try_from(message.len()).during("send a message")?;
        self.output.write_all(&length.to_le_bytes()).during("send a message")?;
        self.output.write_all(message).during("send a message")
    }

    pub fn say(&mut self, what: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_vec(what).map_err(io::Error::other)?;
        let length = u32::try_from(text.len()).map_err(io::Error::other)?;
        self.output.write_all(&[&length.to_le_bytes()[..], &text].concat())
    }

    /// Takes what still comes until the host hangs up. An engine closes the streams of a container that has ended,
    /// also on a host that is still sending, and the last word would be lost with them.
    pub fn drain_until_close(&mut self) {
        let until = Instant::now() + DRAIN_LIMIT;
        let mut ignored = vec![0; PART];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(timeout) = Timespec::try_from(left) else { return };
            match poll(&mut [PollFd::new(&self.input, PollFlags::IN)], Some(&timeout)) {
                Ok(0) => return,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
                Ok(_) if matches!(self.input.read(&mut ignored), Ok(0) | Err(_)) => return,
                Ok(_) => {}
            }
        }
    }
}
