//! The incremental decoder: bytes in any pieces go in, whole frames come out.

use crate::payload::is_json_object;
use crate::{Direction, FrameType, HEADER_LEN, Header, MAX_CREDIT, Violation};

/// One frame; its payload lies in the decoder's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    pub frame_type: FrameType,
    pub channel: u32,
    pub stream: u8,
    pub payload: &'a [u8],
}

impl Frame<'_> {
    /// The amount of a CREDIT frame; zero for every other type.
    pub fn credit(&self) -> u32 {
        match (self.frame_type, self.payload) {
            (FrameType::Credit, &[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
            _ => 0,
        }
    }
}

/// Holds at most one unfinished frame and what was read behind it. The buffer
/// grows with bytes that arrived, never with bytes that a header announced.
pub struct Decoder {
    direction: Direction,
    buf: Vec<u8>,
    start: usize,
    end: usize,
    violation: Option<Violation>,
}

impl Decoder {
    pub fn new(direction: Direction) -> Self {
        Self { direction, buf: Vec::new(), start: 0, end: 0, violation: None }
    }

    /// Free space of at least `min` bytes to read into; then call [`Self::filled`].
    pub fn space(&mut self, min: usize) -> &mut [u8] {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
        if self.buf.len() - self.end < min && self.start > 0 {
            self.buf.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.buf.len() - self.end < min {
            self.buf.resize(self.end + min, 0);
        }
        &mut self.buf[self.end..]
    }

    /// `count` bytes of the last [`Self::space`] now hold input.
    pub fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.buf.len());
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.space(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.filled(bytes.len());
    }

    /// Bytes that have been given and not yet come out as a frame.
    pub fn pending(&self) -> usize {
        self.end - self.start
    }

    /// Gives the buffer's memory back when it holds nothing.
    pub fn release_memory(&mut self) {
        if self.pending() == 0 {
            self.buf = Vec::new();
            self.start = 0;
            self.end = 0;
        }
    }

    /// The next whole frame, or `None` until more bytes came. A violation is final.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Violation> {
        if let Some(violation) = self.violation {
            return Err(violation);
        }
        match self.locate() {
            Ok(None) => Ok(None),
            Ok(Some((header, from, to))) => {
                self.start = to;
                Ok(Some(Frame {
                    frame_type: header.frame_type,
                    channel: header.channel,
                    stream: header.stream,
                    payload: &self.buf[from..to],
                }))
            }
            Err(violation) => {
                self.violation = Some(violation);
                Err(violation)
            }
        }
    }

    fn locate(&self) -> Result<Option<(Header, usize, usize)>, Violation> {
        let pending = &self.buf[self.start..self.end];
        let Some((head, rest)) = pending.split_first_chunk::<HEADER_LEN>() else {
            return Ok(None);
        };
        let header = Header::decode(head, self.direction)?;
        let Some(payload) = rest.get(..header.length) else {
            return Ok(None);
        };
        check_payload(header.frame_type, payload)?;
        let from = self.start + HEADER_LEN;
        Ok(Some((header, from, from + header.length)))
    }
}

fn check_payload(frame_type: FrameType, payload: &[u8]) -> Result<(), Violation> {
    match (frame_type, payload) {
        (FrameType::Credit, &[a, b, c, d]) => {
            let credit = u32::from_le_bytes([a, b, c, d]);
            if credit == 0 || credit > MAX_CREDIT {
                return Err(Violation::BadCredit);
            }
            Ok(())
        }
        (kind, bytes) if kind.is_json() && !is_json_object(bytes) => Err(Violation::BadJson),
        _ => Ok(()),
    }
}
