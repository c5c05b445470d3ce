//! A client that asks over TCP: messages with their length before them, in both
//! directions. Bounded both ways: one that does not read its answers is not read.

use std::os::fd::OwnedFd;

use rustix::io::{Errno, read, write};

use crate::poller::Ready;

/// No question that the stub could answer is longer.
const MAX_QUESTION: usize = 1024;
const MAX_UNSENT: usize = 16 * 1024;

pub struct DnsStream {
    socket: OwnedFd,
    received: Vec<u8>,
    unsent: Vec<u8>,
    readable: bool,
    writable: bool,
    /// The client asks no more.
    ended: bool,
    /// Questions that the host has not answered yet.
    pub unanswered: usize,
}

impl DnsStream {
    pub fn new(socket: OwnedFd) -> Self {
        let (received, unsent) = (Vec::new(), Vec::new());
        Self { socket, received, unsent, readable: true, writable: true, ended: false, unanswered: 0 }
    }

    pub fn on_ready(&mut self, ready: &Ready) {
        self.readable |= ready.is_readable();
        self.writable |= ready.is_writable();
    }

    /// The next whole question; an error ends the connection.
    pub fn question(&mut self) -> Result<Option<Vec<u8>>, Errno> {
        loop {
            if let Some(question) = self.take_question()? {
                return Ok(Some(question));
            }
            if !self.readable || self.ended || self.unsent.len() > MAX_UNSENT {
                return Ok(None);
            }
            let mut part = [0; 2 + MAX_QUESTION];
            match read(&self.socket, &mut part) {
                Ok(0) => self.ended = true,
                Ok(count) => self.received.extend_from_slice(&part[..count]),
                Err(Errno::AGAIN) => self.readable = false,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    fn take_question(&mut self) -> Result<Option<Vec<u8>>, Errno> {
        let Some((head, rest)) = self.received.split_first_chunk::<2>() else { return Ok(None) };
        let length = usize::from(u16::from_be_bytes(*head));
        if length > MAX_QUESTION {
            return Err(Errno::MSGSIZE);
        }
        let Some(question) = rest.get(..length) else { return Ok(None) };
        let question = question.to_vec();
        self.received.drain(..2 + length);
        Ok(Some(question))
    }

    pub fn answer(&mut self, message: &[u8]) {
        self.unsent.extend_from_slice(&(message.len() as u16).to_be_bytes());
        self.unsent.extend_from_slice(message);
    }

    /// Sends what the client takes. False when nothing more can come of the connection.
    pub fn flush(&mut self) -> Result<bool, Errno> {
        while self.writable && !self.unsent.is_empty() {
            match write(&self.socket, &self.unsent) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(Errno::AGAIN) => self.writable = false,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(!self.ended || self.unanswered > 0 || !self.unsent.is_empty())
    }
}
