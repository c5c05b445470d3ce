//! Frames on their way to the host. Bounded: readers of pipes and files ask
//! [`Outbox::has_room`] first, and only small control frames go beyond it.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use ak_wire::{FrameType, HEADER_LEN, Header, MAX_DATA, encode_credit, encode_frame, encode_json};
use rustix::io;
use serde::Serialize;

const HIGH_MARK: usize = 1 << 20;
const LARGE: usize = HEADER_LEN + MAX_DATA;
/// Frames up to this size are copied together, so that many small ones do not
/// hold a large buffer each and leave in one write.
const SMALL: usize = 16 * 1024;
/// The capacity of a quiet connection's buffer.
const QUIET: usize = 2048;
const MAX_SPARES: usize = 4;
const MAX_SLICES: usize = 8;
/// How long a frame waits that says nothing of use before another one: most commands are short, and the host is woken
/// once for all that there is to say of one.
const COALESCE_FOR: Duration = Duration::from_millis(2);

struct Chunk {
    bytes: Vec<u8>,
    end: usize,
}

#[derive(Default)]
pub struct Outbox {
    chunks: VecDeque<Chunk>,
    /// Bytes of the first chunk that are already written.
    sent: usize,
    queued: usize,
    spares: Vec<Vec<u8>>,
    /// For the next small frame of a quiet connection.
    small: Option<Vec<u8>>,
    stalled: bool,
    /// Until then all that is here waits for company.
    flush_at: Option<Instant>,
    is_void: bool,
}

impl Outbox {
    /// An outbox without a host: it takes no output of commands, and drops every frame.
    pub fn void() -> Self {
        Self { is_void: true, ..Self::default() }
    }

    pub fn is_void(&self) -> bool {
        self.is_void
    }

    pub fn has_room(&self) -> bool {
        self.queued < HIGH_MARK && !self.is_void
    }

    pub fn is_empty(&self) -> bool {
        self.queued == 0
    }

    pub fn is_stalled(&self) -> bool {
        self.stalled
    }

    /// When there is something to write although nothing else will have happened.
    pub fn waits_until(&self) -> Option<Instant> {
        self.flush_at
    }

    /// Lets frames that can wait go out together with one that cannot.
    pub fn coalesce<T>(&mut self, now: Instant, say: impl FnOnce(&mut Self) -> T) -> T {
        let until = if self.is_empty() { Some(now + COALESCE_FOR) } else { self.flush_at };
        let said = say(self);
        self.flush_at = until.filter(|_| !self.is_empty());
        said
    }

    /// Nothing waits for company any more.
    pub fn stop_coalescing(&mut self) {
        self.flush_at = None;
    }

    /// The stream can take bytes again.
    pub fn unstall(&mut self) {
        self.stalled = false;
    }

    pub fn release_memory(&mut self) {
        if self.is_empty() {
            self.spares = Vec::new();
            self.small = None;
            self.chunks = VecDeque::new();
        }
    }

    /// Allocates the buffers of the first frames before they are needed.
    pub fn make_ready(&mut self) {
        self.chunks.reserve(1);
        self.keep_spare(Vec::with_capacity(QUIET));
        self.keep_spare(vec![0; LARGE]);
    }

    pub fn frame(&mut self, frame_type: FrameType, channel: u32, stream: u8, payload: &[u8]) {
        self.append(HEADER_LEN + payload.len(), |bytes| {
            encode_frame(bytes, frame_type, channel, stream, payload);
        });
    }

    pub fn eof(&mut self, channel: u32, stream: u8) {
        self.frame(FrameType::Eof, channel, stream, &[]);
    }

    pub fn credit(&mut self, channel: u32, stream: u8, amount: u32) {
        self.append(HEADER_LEN + 4, |bytes| {
            encode_credit(bytes, channel, stream, amount);
        });
    }

    pub fn json<T: Serialize>(&mut self, frame_type: FrameType, channel: u32, value: &T) {
        self.append(1024, |bytes| {
            // Our payload types have string keys and no failing serialisers.
            let encoded = encode_json(bytes, frame_type, channel, value);
            debug_assert!(encoded.is_ok());
        });
    }

    /// Sends one DATA frame of what `fill` puts into the space it is given, at
    /// most `max` bytes of it; none when `fill` yields nothing.
    pub fn data<E>(
        &mut self,
        channel: u32,
        stream: u8,
        max: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        let mut bytes = self.spares.pop().unwrap_or_else(|| vec![0; LARGE]);
        let space = &mut bytes[HEADER_LEN..HEADER_LEN + max.min(MAX_DATA)];
        let length = match fill(space) {
            Ok(length) if length > 0 => length,
            nothing => {
                self.keep_spare(bytes);
                return nothing;
            }
        };
        let end = HEADER_LEN + length;
        if end <= SMALL {
            let payload = &bytes[HEADER_LEN..end];
            self.frame(FrameType::Data, channel, stream, payload);
            self.keep_spare(bytes);
        } else {
            let header = Header { length, channel, frame_type: FrameType::Data, stream };
            bytes[..HEADER_LEN].copy_from_slice(&header.encode());
            self.queued += end;
            self.flush_at = None;
            self.chunks.push_back(Chunk { bytes, end });
        }
        Ok(length)
    }

    /// Writes until all is gone or the stream takes no more.
    pub fn flush(&mut self, host: impl AsFd, now: Instant) -> io::Result<()> {
        if self.flush_at.is_some_and(|until| now < until) {
            return Ok(());
        }
        self.flush_at = None;
        while !self.stalled && !self.is_empty() {
            let mut slices: [IoSlice; MAX_SLICES] = std::array::from_fn(|_| IoSlice::new(&[]));
            let mut count = 0;
            for (index, chunk) in self.chunks.iter().take(MAX_SLICES).enumerate() {
                let from = if index == 0 { self.sent } else { 0 };
                slices[index] = IoSlice::new(&chunk.bytes[from..chunk.end]);
                count = index + 1;
            }
            let written = match &slices[..count] {
                [only] => io::write(&host, only),
                all => io::writev(&host, all),
            };
            match written {
                Ok(written) => self.consume(written),
                Err(io::Errno::AGAIN) => self.stalled = true,
                Err(io::Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn consume(&mut self, written: usize) {
        self.queued -= written;
        self.sent += written;
        while let Some(first) = self.chunks.front() {
            if self.sent < first.end {
                break;
            }
            self.sent -= first.end;
            if let Some(chunk) = self.chunks.pop_front() {
                self.keep_spare(chunk.bytes);
            }
        }
    }

    fn append(&mut self, size_hint: usize, write: impl FnOnce(&mut Vec<u8>)) {
        if self.is_void {
            return;
        }
        let fits = |chunk: &Chunk| chunk.bytes.len() == chunk.end && chunk.bytes.capacity() - chunk.end >= size_hint;
        if !self.chunks.back().is_some_and(fits) {
            let busy = self.chunks.back().is_some();
            // The first small frame of a quiet connection is mostly alone.
            let capacity = size_hint.max(if busy { 2 * SMALL } else { QUIET });
            let spare = self.small.take_if(|spare| spare.capacity() >= capacity);
            let bytes = spare.unwrap_or_else(|| Vec::with_capacity(capacity));
            self.chunks.push_back(Chunk { bytes, end: 0 });
        }
        if let Some(chunk) = self.chunks.back_mut() {
            write(&mut chunk.bytes);
            self.flush_at = None;
            self.queued += chunk.bytes.len() - chunk.end;
            chunk.end = chunk.bytes.len();
        }
    }

    fn keep_spare(&mut self, mut bytes: Vec<u8>) {
        if bytes.len() == LARGE && self.spares.len() < MAX_SPARES {
            self.spares.push(bytes);
        } else if bytes.capacity() == QUIET {
            bytes.clear();
            self.small = Some(bytes);
        }
    }
}
