//! What is sent to the host. A host that cannot be written to is gone, and the process with it.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::Mutex;

use ak_wire::payload::{Empty, Failed};
use ak_wire::{FrameType, encode_credit, encode_frame, encode_json};
use serde::Serialize;

use crate::sys;

/// What a message to the host is cut to; the host's own limit is a little above.
const MAX_MESSAGE_CHARS: usize = 900;

pub struct Outbox {
    socket: Mutex<File>,
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
        Self { socket: Mutex::new(File::from(socket)) }
    }

    pub fn send(&self, frames: Frames) {
        let mut socket = self.socket.lock().unwrap_or_else(|_| sys::exit_now(1));
        if socket.write_all(&frames.0).is_err() {
            sys::exit_now(1);
        }
    }
}
