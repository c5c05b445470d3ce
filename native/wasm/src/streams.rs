//! The three streams of a call, between the host's frames and WASI. Nothing is held beyond the windows.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ak_wire::{MAX_CREDIT, MAX_DATA};
use tokio::sync::Notify;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdinStream, StdoutStream};
use wasmtime_wasi_io::bytes::Bytes;
use wasmtime_wasi_io::poll::Pollable;
use wasmtime_wasi_io::streams::{InputStream, OutputStream, StreamError, StreamResult};

use crate::outbox::{Frames, Outbox};

/// What the host may send ahead of what a module reads.
pub const STDIN_WINDOW: u32 = 262_144;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing in here panics half-way; what is behind the lock is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
    granted: Notify,
}

impl Output {
    pub fn new(channel: u32, stream: u8, outbox: Arc<Outbox>, window: u32) -> Arc<Self> {
        let allowance = Mutex::new(Allowance { credit: window, unread: false });
        Arc::new(Self { channel, stream, outbox, allowance, granted: Notify::new() })
    }

    /// False where the host grants more than there may be.
    pub fn grant(&self, bytes: u32) -> bool {
        let mut allowance = locked(&self.allowance);
        let Some(credit) = allowance.credit.checked_add(bytes).filter(|sum| *sum <= MAX_CREDIT) else { return false };
        allowance.credit = credit;
        self.granted.notify_one();
        true
    }

    /// Nobody reads it any more.
    pub fn stop(&self) {
        locked(&self.allowance).unread = true;
        self.granted.notify_one();
    }

    fn room(&self) -> StreamResult<usize> {
        let allowance = locked(&self.allowance);
        if allowance.unread {
            return Err(StreamError::Closed);
        }
        Ok((allowance.credit as usize).min(MAX_DATA))
    }

    fn put(&self, bytes: &[u8]) -> StreamResult<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        {
            let mut allowance = locked(&self.allowance);
            if allowance.unread {
                return Err(StreamError::Closed);
            }
            let Some(left) = u32::try_from(bytes.len()).ok().and_then(|size| allowance.credit.checked_sub(size)) else {
                return Err(StreamError::trap("more was written than there was room for"));
            };
            allowance.credit = left;
        }
        self.outbox.send(Frames::default().data(self.channel, self.stream, bytes));
        Ok(())
    }

    /// All of it, as the host takes it; nothing where nobody reads.
    pub async fn write_all(&self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.until_room().await;
            let Ok(room) = self.room() else { return };
            let (now, rest) = bytes.split_at(room.min(bytes.len()));
            if self.put(now).is_err() {
                return;
            }
            bytes = rest;
        }
    }

    async fn until_room(&self) {
        while matches!(self.room(), Ok(0)) {
            self.granted.notified().await;
        }
    }
}

/// A module's hold on an output.
#[derive(Clone)]
pub struct Writer(pub Arc<Output>);

#[async_trait]
impl Pollable for Writer {
    async fn ready(&mut self) {
        self.0.until_room().await;
    }
}

#[async_trait]
impl OutputStream for Writer {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.0.put(&bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.0.room()
    }
}

impl IsTerminal for Writer {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Writer {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only asked for by versions of WASI that are not offered here.
        Box::new(tokio::io::empty())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[derive(Default)]
struct Waiting {
    chunks: VecDeque<Bytes>,
    bytes: usize,
    ended: bool,
}

/// Stream 0 of a channel.
pub struct Input {
    channel: u32,
    outbox: Arc<Outbox>,
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

impl Input {
    /// Where the call has no input, it has ended already.
    pub fn new(channel: u32, outbox: Arc<Outbox>, is_open: bool) -> Arc<Self> {
        let waiting = Mutex::new(Waiting { ended: !is_open, ..Waiting::default() });
        Arc::new(Self { channel, outbox, waiting, arrived: Notify::new() })
    }

    /// False where the host sends more than it was granted.
    pub fn push(&self, bytes: &[u8]) -> bool {
        let mut waiting = locked(&self.waiting);
        if waiting.ended {
            return true;
        }
        waiting.bytes += bytes.len();
        waiting.chunks.push_back(Bytes::copy_from_slice(bytes));
        self.arrived.notify_one();
        waiting.bytes <= STDIN_WINDOW as usize
    }

    pub fn end(&self) {
        locked(&self.waiting).ended = true;
        self.arrived.notify_one();
    }

    /// Everything up to the end; for what is no module's to read. Nothing where it is more than `limit`.
    pub async fn read_all(&self, limit: usize) -> Option<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            self.until_some().await;
            match self.take(MAX_DATA) {
                Some(chunk) if all.len() + chunk.len() > limit => return None,
                Some(chunk) => all.extend_from_slice(&chunk),
                None => return Some(all),
            }
        }
    }

    /// None at the end; empty where nothing has arrived.
    fn take(&self, size: usize) -> Option<Bytes> {
        let chunk = {
            let mut waiting = locked(&self.waiting);
            let Some(first) = waiting.chunks.front_mut() else {
                return (!waiting.ended).then(Bytes::new);
            };
            let chunk = first.split_to(size.min(first.len()));
            if first.is_empty() {
                waiting.chunks.pop_front();
            }
            waiting.bytes -= chunk.len();
            chunk
        };
        if let Some(size) = u32::try_from(chunk.len()).ok().filter(|size| *size > 0) {
            self.outbox.send(Frames::default().credit(self.channel, 0, size));
        }
        Some(chunk)
    }

    fn is_quiet(&self) -> bool {
        let waiting = locked(&self.waiting);
        waiting.chunks.is_empty() && !waiting.ended
    }

    async fn until_some(&self) {
        while self.is_quiet() {
            self.arrived.notified().await;
        }
    }
}

#[derive(Clone)]
pub struct Reader(pub Arc<Input>);

#[async_trait]
impl Pollable for Reader {
    async fn ready(&mut self) {
        self.0.until_some().await;
    }
}

#[async_trait]
impl InputStream for Reader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.0.take(size).ok_or(StreamError::Closed)
    }
}

impl IsTerminal for Reader {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdinStream for Reader {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncRead + Send + Sync> {
        // Only asked for by versions of WASI that are not offered here.
        Box::new(tokio::io::empty())
    }

    fn p2_stream(&self) -> Box<dyn InputStream> {
        Box::new(self.clone())
    }
}
