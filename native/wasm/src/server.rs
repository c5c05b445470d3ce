//! The conversation with the host. One thread reads, one works: so what works can be ended while it does. The host has
//! one thing done at a time; it is trusted to be the host, and a breach of the protocol ends the process.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use ak_wire::payload::{Hello, OpenExec, OpenKind, Signal};
use ak_wire::{ASSUMED_WINDOW, Decoder, Direction, Frame, FrameType, PROTOCOL};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use wasmtime::Engine;

use crate::call::Ties;
use crate::kill;
use crate::outbox::{Frames, Outbox};
use crate::requests::OpenLoad;
use crate::streams::STDIN_WINDOW;
use crate::work::{Job, Report, Worker};

/// Why there is nothing more to do.
pub enum End {
    StreamEnded,
    Violation,
}

const READ_BYTES: usize = 64 << 10;
/// How long the start of a call is not reported: most calls have ended by then.
const SOON: Timespec = Timespec { tv_sec: 0, tv_nsec: 3_000_000 };

/// The call in progress and its channel.
struct Current {
    channel: u32,
    ties: Ties,
}

pub struct Server {
    stream: File,
    outbox: Arc<Outbox>,
    jobs: Sender<Job>,
    reports: Receiver<Report>,
    /// The window in the host's HELLO: bytes that may be sent ahead on a stream.
    window: u32,
    greeted: bool,
    last_channel: u32,
    current: Option<Current>,
    engine: Option<Engine>,
}

impl Server {
    pub fn new(stream: OwnedFd) -> std::io::Result<Self> {
        let outbox = Arc::new(Outbox::new(stream.try_clone()?));
        let (jobs, todo) = channel();
        let (done, reports) = channel();
        Worker::start(todo, done, outbox.clone())?;
        let hello = Hello {
            protocol: PROTOCOL,
            guest: Some(env!("CARGO_PKG_VERSION").to_owned()),
            window: STDIN_WINDOW,
            features: ["exec", "wasm"].map(str::to_owned).to_vec(),
            execs: Vec::new(),
        };
        outbox.send(Frames::default().json(FrameType::Hello, 0, &hello));
        Ok(Self {
            stream: File::from(stream),
            outbox,
            jobs,
            reports,
            window: ASSUMED_WINDOW,
            greeted: false,
            last_channel: 0,
            current: None,
            engine: None,
        })
    }

    pub fn run(mut self) -> End {
        let mut decoder = Decoder::new(Direction::HostToGuest);
        loop {
            loop {
                match decoder.next_frame() {
                    Ok(Some(frame)) => {
                        if self.take(&frame).is_none() {
                            return End::Violation;
                        }
                    }
                    Ok(None) => break,
                    Err(_) => return End::Violation,
                }
            }
            if self.current.is_some() && !self.has_more_soon() {
                self.outbox.end_waiting();
            }
            match self.stream.read(decoder.space(READ_BYTES)) {
                Ok(0) => return End::StreamEnded,
                Ok(count) => decoder.filled(count),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return End::StreamEnded,
            }
        }
    }

    /// Waits a little for the host; false where nothing came.
    fn has_more_soon(&self) -> bool {
        let mut stream = [PollFd::new(&self.stream, PollFlags::IN)];
        !matches!(poll(&mut stream, Some(&SOON)), Ok(0))
    }

    /// None where the host does what no host does.
    fn take(&mut self, frame: &Frame<'_>) -> Option<()> {
        match frame.frame_type {
            FrameType::Hello => {
                let hello: Hello = serde_json::from_slice(frame.payload).ok()?;
                if self.greeted || hello.protocol != PROTOCOL {
                    return None;
                }
                self.greeted = true;
                self.window = hello.window;
            }
            FrameType::Ping => self.outbox.send(Frames::default().pong(frame.payload)),
            FrameType::Shutdown => return None,
            _ if !self.greeted => return None,
            FrameType::Open => self.open(frame.channel, frame.payload)?,
            _ => self.concern(frame)?,
        }
        Some(())
    }

    /// Ignores late frames about a channel that has ended.
    fn concern(&mut self, frame: &Frame<'_>) -> Option<()> {
        let Some(Current { ties, .. }) = self.current.as_ref().filter(|now| now.channel == frame.channel) else {
            return (frame.channel <= self.last_channel).then_some(());
        };
        let output = match frame.stream {
            1 => Some(&ties.stdout),
            2 => Some(&ties.stderr),
            _ => None,
        };
        match frame.frame_type {
            FrameType::Data if frame.stream == 0 => ties.stdin.push(frame.payload).then_some(()),
            FrameType::Eof => {
                output.map_or_else(|| ties.stdin.end(), |output| output.stop());
                Some(())
            }
            FrameType::Credit => output.is_none_or(|output| output.grant(frame.credit())).then_some(()),
            FrameType::Signal => {
                let Signal { signal, .. } = serde_json::from_slice(frame.payload).ok()?;
                if let Some(signal) = kill::ends(signal) {
                    ties.kill.ask(signal, self.engine.as_ref());
                }
                Some(())
            }
            FrameType::Close => {
                ties.kill.ask(libc::SIGKILL as u8, self.engine.as_ref());
                Some(())
            }
            FrameType::Resize => Some(()),
            _ => None,
        }
    }

    fn open(&mut self, channel: u32, body: &[u8]) -> Option<()> {
        if channel.is_multiple_of(2) || channel <= self.last_channel {
            return None;
        }
        self.last_channel = channel;
        // One after the other; the host knows that the one before has ended before the worker's thread can say so here.
        if self.current.take().is_some() {
            let report = self.reports.recv().ok()?;
            self.engine = report.engine.or(self.engine.take());
        }
        let OpenKind { kind } = serde_json::from_slice(body).ok()?;
        let ties = |has_input: bool| Ties::new(channel, &self.outbox, has_input, self.window);
        let (ties, job) = match kind.as_str() {
            "exec" => {
                let asked: OpenExec = serde_json::from_slice(body).ok()?;
                let ties = ties(asked.stdin);
                (ties.clone(), Job::Call { channel, asked, ties })
            }
            "wasm-load" => {
                let asked: OpenLoad = serde_json::from_slice(body).ok()?;
                (ties(false), Job::Load { channel, asked })
            }
            "wasm-compile" => {
                let ties = ties(true);
                (ties.clone(), Job::Compile { channel, ties })
            }
            _ => {
                let message = "this sandbox runs one WebAssembly module and nothing else";
                self.outbox.send(Frames::default().refused(FrameType::Failed, channel, "unsupported", message));
                return Some(());
            }
        };
        self.current = Some(Current { channel, ties });
        self.outbox.begin_waiting();
        self.jobs.send(job).ok()
    }
}
