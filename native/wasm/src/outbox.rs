//! Frames to the host. If a write fails, the host is gone and the process exits.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard};

use ak_wire::payload::{Empty, Failed};
use ak_wire::{FrameType, encode_credit, encode_frame, encode_json};
use serde::Serialize;

use crate::sys;

/// The length that a message to the host is cut to; the host's own limit is a little above.
const MAX_MESSAGE_CHARS: usize = 900;

/// Frames that can wait a little go out with those that follow them: most calls are over before a host would react.
pub struct Outbox {
    line: Mutex<Line>,
}

struct Line {
    socket: File,
    waiting: Vec<u8>,
    /// A frame has waited long enough.
    is_prompt: bool,
}

/// Frames that are sent with one write.
#[derive(Default)]
pub struct Frames(Vec<u8>);

impl Frames {
    pub fn json<T: Serialize>(mut self, frame_type: FrameType, channel: u32, body: &T) -> Self {
        // Our own payloads are structs of texts and numbers, which cannot fail to be written.
        if encode_json(&mut self.0, frame_type, channel, body).is_err() {
            sys::exit_now(1);
        }
        self
    }

    pub fn data(mut self, channel: u32, stream: u8, bytes: &[u8]) -> Self {
        encode_frame(&mut self.0, FrameType::Data, channel, stream, bytes);
        self
    }

    pub fn eof(mut self, channel: u32, stream: u8) -> Self {
        encode_frame(&mut self.0, FrameType::Eof, channel, stream, &[]);
        self
    }

    pub fn credit(mut self, channel: u32, stream: u8, bytes: u32) -> Self {
        encode_credit(&mut self.0, channel, stream, bytes);
        self
    }

    pub fn pong(mut self, payload: &[u8]) -> Self {
        encode_frame(&mut self.0, FrameType::Pong, 0, 0, payload);
        self
    }

    pub fn done(self, channel: u32) -> Self {
        self.json(FrameType::Close, channel, &Empty {})
    }

    pub fn opened(self, channel: u32) -> Self {
        self.json(FrameType::Opened, channel, &Empty {})
    }

    /// As FAILED where the channel was not answered yet, else as CLOSE.
    pub fn refused(self, frame_type: FrameType, channel: u32, code: &str, message: &str) -> Self {
        let message = message.chars().take(MAX_MESSAGE_CHARS).collect();
        self.json(frame_type, channel, &Failed { code: code.to_owned(), message })
    }
}

impl Outbox {
    pub fn new(socket: OwnedFd) -> Self {
        Self { line: Mutex::new(Line { socket: File::from(socket), waiting: Vec::new(), is_prompt: true }) }
    }

    pub fn send(&self, frames: Frames) {
        let mut line = self.line();
        line.waiting.extend_from_slice(&frames.0);
        line.write();
    }

    /// With the next that is sent, but no later than the waiting ends.
    pub fn send_soon(&self, frames: Frames) {
        let mut line = self.line();
        line.waiting.extend_from_slice(&frames.0);
        if line.is_prompt {
            line.write();
        }
    }

    /// From now on what can wait does, until [`Self::end_waiting`].
    pub fn begin_waiting(&self) {
        self.line().is_prompt = false;
    }

    pub fn end_waiting(&self) {
        let mut line = self.line();
        line.is_prompt = true;
        line.write();
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(|_| sys::exit_now(1))
    }
}

impl Line {
    fn write(&mut self) {
        if self.socket.write_all(&self.waiting).is_err() {
            sys::exit_now(1);
        }
        self.waiting.clear();
    }
}
