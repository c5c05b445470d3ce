//! Handles each frame of the host. A violation of the protocol ends the guest.

use ak_wire::payload::{
    Hello, OpenExec, OpenExecAttach, OpenExecForget, OpenFileOp, OpenFileRead, OpenFileWrite, OpenKind, OpenTcpIn,
    OpenTreeRead, OpenTreeWrite, Shutdown, Signal, WindowSize,
};
use ak_wire::{Frame, FrameType, MAX_HOST_CHANNELS, WINDOW_RANGE};
use serde::de::DeserializeOwned;

use crate::channel::{Channel, Context, ProtocolBreach, Refusal, Step};
use crate::exec::Exec;
use crate::files::{self, FileRead, FileWrite, TreeRead, TreeWrite};
use crate::server::{End, Server};

const EXEC: &[u8] = br#"{"kind":"exec","#;

impl Server {
    pub(crate) fn on_frame(&mut self, frame: &Frame) -> Result<(), End> {
        let is_hello = frame.frame_type == FrameType::Hello;
        if is_hello != self.host_window.is_none() {
            return Err(End::Violation);
        }
        match frame.frame_type {
            FrameType::Hello => {
                let hello: Hello = parse(frame.payload)?;
                if !WINDOW_RANGE.contains(&hello.window) {
                    return Err(End::Violation);
                }
                self.host_window = Some(hello.window);
                Ok(())
            }
            FrameType::Ping => {
                self.outbox.frame(FrameType::Pong, 0, 0, frame.payload);
                Ok(())
            }
            FrameType::Pong => Ok(()),
            FrameType::Shutdown => {
                let Shutdown { grace_ms } = parse(frame.payload)?;
                self.start_shutdown(grace_ms);
                Ok(())
            }
            FrameType::Open => self.on_open(frame),
            _ => self.on_channel_frame(frame),
        }
    }

    fn on_open(&mut self, frame: &Frame) -> Result<(), End> {
        let id = frame.channel;
        if !is_of_host(id) || id <= self.last_id {
            return Err(End::Violation);
        }
        self.last_id = id;
        match self.open(id, frame.payload) {
            Ok(Some(channel)) => {
                self.channels.insert(id, channel);
            }
            Ok(None) => {}
            Err(refusal) => {
                let failed = refusal.payload();
                self.outbox.json(FrameType::Failed, id, &failed);
            }
        }
        Ok(())
    }

    /// `None` when the channel is answered and over, or is the network's.
    fn open(&mut self, id: u32, payload: &[u8]) -> Result<Option<Channel>, Refusal> {
        if self.shutdown.is_some() {
            return Err(Refusal::new("io", "the sandbox is shutting down"));
        }
        if self.channels.len() + self.net.inward() >= MAX_HOST_CHANNELS {
            return Err(Refusal::new("resource", "too many open channels"));
        }
        let credit = self.host_window.unwrap_or(ak_wire::ASSUMED_WINDOW);
        // The most frequent request is recognised by its first bytes and parsed once.
        if payload.starts_with(EXEC) {
            return self.open_exec(id, &request(payload)?, credit);
        }
        let OpenKind { kind } = request(payload)?;
        match kind.as_str() {
            "exec" => return self.open_exec(id, &request(payload)?, credit),
            "exec-attach" => {
                let open: OpenExecAttach = request(payload)?;
                return self.attach_exec(id, &open, credit);
            }
            "exec-forget" => {
                let open: OpenExecForget = request(payload)?;
                return self.forget_exec(id, &open).map(|()| None);
            }
            _ => {}
        }
        let mut ctx = Context { id, outbox: &mut self.outbox, now: self.now, keepers: &self.keepers };
        match kind.as_str() {
            "file-read" => {
                let open: OpenFileRead = request(payload)?;
                let file = FileRead::open(&open, credit, &mut ctx)?;
                Ok(Some(Channel::FileRead(file)))
            }
            "file-write" => {
                let open: OpenFileWrite = request(payload)?;
                let file = FileWrite::open(&open, &mut ctx)?;
                Ok(Some(Channel::FileWrite(file)))
            }
            "tree-read" => {
                let open: OpenTreeRead = request(payload)?;
                let tree = TreeRead::open(&open, credit, &mut ctx)?;
                Ok(Some(Channel::TreeRead(Box::new(tree))))
            }
            "tree-write" => {
                let open: OpenTreeWrite = request(payload)?;
                let tree = TreeWrite::open(open, &mut ctx)?;
                Ok(Some(Channel::TreeWrite(Box::new(tree))))
            }
            "file-op" => {
                let open: OpenFileOp = request(payload)?;
                files::operate(&open, credit, &mut ctx)
            }
            "tcp-in" => {
                let OpenTcpIn { port } = request(payload)?;
                self.net.open_inward(id, port, credit, (&mut self.outbox, &self.poller, self.now))?;
                Ok(None)
            }
            other => {
                let message = format!("kind {other:.40?} is not served");
                Err(Refusal::new("unsupported", message))
            }
        }
    }

    fn open_exec(&mut self, id: u32, open: &OpenExec, credit: u32) -> Result<Option<Channel>, Refusal> {
        self.admit_key(open)?;
        let token = self.exec_token(id);
        // A program may lie in the view: whoever waits for its execve cannot pass the answers on.
        let before = (self.has_started || self.net.has_view).then_some(self.keepers.as_slice());
        self.has_started = true;
        match Exec::open(open, token, credit, &self.poller, (before, &mut self.spare, &mut self.pipes)) {
            Ok(mut exec) => {
                self.keepers.extend(exec.keeper().filter(|keeper| !self.keepers.contains(keeper)));
                if let Some(calls) = exec.take_calls() {
                    self.net.open_call(id, calls, (&mut self.outbox, &self.poller, self.now));
                }
                Ok(Some(Channel::Exec(Box::new(exec))))
            }
            Err(refusal) => {
                self.retire(id);
                Err(refusal)
            }
        }
    }

    fn on_channel_frame(&mut self, frame: &Frame) -> Result<(), End> {
        let id = frame.channel;
        let is_known = if is_of_host(id) { id <= self.last_id } else { self.net.has_opened(id) };
        if !is_known {
            return Err(End::Violation);
        }
        if !is_of_host(id) || self.net.has(id) {
            return Ok(self.net.on_frame(frame, &mut self.outbox, &self.poller, self.now)?);
        }
        // The host may not have seen yet that the channel is over.
        let Some(channel) = self.channels.get_mut(&id) else {
            return Ok(());
        };
        let mut ctx = Context { id, outbox: &mut self.outbox, now: self.now, keepers: &self.keepers };
        let step = match (frame.frame_type, frame.stream) {
            (FrameType::Data, 0) => channel.on_data(&mut ctx, frame.payload)?,
            (FrameType::Eof, 0) => channel.on_eof(&mut ctx)?,
            (FrameType::Eof, stream) => {
                let Channel::Exec(exec) = channel else { return Err(End::Violation) };
                exec.on_unread(stream);
                Step::Progress
            }
            (FrameType::Credit, stream) => {
                channel.on_credit(stream, frame.credit())?;
                Step::Progress
            }
            (FrameType::Signal, _) => {
                let signal: Signal = parse(frame.payload)?;
                if let Channel::Exec(exec) = channel {
                    exec.on_signal(&ctx, signal);
                }
                Step::Progress
            }
            (FrameType::Resize, _) => {
                let size: WindowSize = parse(frame.payload)?;
                if let Channel::Exec(exec) = channel {
                    exec.on_resize(size);
                }
                Step::Progress
            }
            (FrameType::Close, _) => channel.on_close(&mut ctx),
            // Answers are for what the guest opened.
            _ => return Err(End::Violation),
        };
        if matches!(step, Step::Ended) {
            self.retire(id);
        }
        Ok(())
    }
}

/// The host opens odd ids, the guest even ones.
fn is_of_host(id: u32) -> bool {
    id & 1 == 1
}

fn parse<T: DeserializeOwned>(payload: &[u8]) -> Result<T, ProtocolBreach> {
    serde_json::from_slice(payload).map_err(|_| ProtocolBreach)
}

fn request<T: DeserializeOwned>(payload: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(payload).map_err(Refusal::invalid)
}
