//! Starts the real guest on a socket pair and speaks the host's side of the
//! protocol, strictly: output beyond the granted credit fails the test.

#![allow(dead_code, unused_imports, reason = "each test file uses its own part")]

mod gone;
mod kept;
mod launch;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, ExitStatus};

use ak_wire::payload::{Exit, Failed};
use ak_wire::{Decoder, Direction, FrameType, MAX_DATA, encode_credit, encode_frame};
use serde_json::{Value, json};

pub use gone::{wait_alone, wait_gone};
pub use kept::KeptGuest;

pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

#[derive(Clone, Debug)]
pub struct Received {
    pub frame_type: FrameType,
    pub channel: u32,
    pub stream: u8,
    pub payload: Vec<u8>,
}

impl Received {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.payload).expect("a JSON payload")
    }
}

/// All that one channel said.
#[derive(Debug, Default)]
pub struct Outcome {
    pub opened: Option<Value>,
    pub failed: Option<Failed>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub ended_streams: Vec<u8>,
    pub exit: Option<Exit>,
    pub close: Option<Value>,
}

impl Outcome {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub fn code(&self) -> Option<u8> {
        self.exit.expect("an EXIT").code
    }

    pub fn failure(&self) -> &str {
        self.failed.as_ref().map_or("", |f| f.code.as_str())
    }
}

/// A guest that lives as long as its one connection.
pub struct Guest {
    pub child: Child,
    host: Host,
}

impl std::ops::Deref for Guest {
    type Target = Host;
    fn deref(&self) -> &Host {
        &self.host
    }
}

impl std::ops::DerefMut for Guest {
    fn deref_mut(&mut self) -> &mut Host {
        &mut self.host
    }
}

/// The host's end of a connection.
pub struct Host {
    stream: UnixStream,
    decoder: Decoder,
    next_id: u32,
    window: u32,
    credit: HashMap<(u32, u8), u64>,
    /// Bytes of stream 0 that the guest allows, per channel.
    send_window: HashMap<u32, u64>,
    guest_window: u64,
    /// The guest's HELLO.
    pub hello: Value,
}

impl Host {
    /// Reads the guest's HELLO and answers it.
    pub fn greet(stream: UnixStream, window: u32) -> Self {
        let limit = Some(std::time::Duration::from_secs(20));
        stream.set_read_timeout(limit).expect("a timeout");
        stream.set_write_timeout(limit).expect("a timeout");
        let mut host = Self {
            stream,
            decoder: Decoder::new(Direction::GuestToHost),
            next_id: 1,
            window,
            credit: HashMap::new(),
            send_window: HashMap::new(),
            guest_window: 0,
            hello: Value::Null,
        };
        let hello = host.receive();
        assert_eq!(hello.frame_type, FrameType::Hello);
        host.hello = hello.json();
        host.guest_window = host.hello["window"].as_u64().expect("a window");
        host.send_json(FrameType::Hello, 0, &json!({"protocol": 1, "window": window}));
        host
    }

    pub fn send(&mut self, frame_type: FrameType, channel: u32, stream: u8, payload: &[u8]) {
        let mut bytes = Vec::new();
        encode_frame(&mut bytes, frame_type, channel, stream, payload);
        self.send_raw(&bytes);
    }

    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the guest takes bytes");
    }

    pub fn send_json(&mut self, frame_type: FrameType, channel: u32, value: &Value) {
        let payload = serde_json::to_vec(value).expect("JSON");
        self.send(frame_type, channel, 0, &payload);
    }

    pub fn grant(&mut self, channel: u32, stream: u8, bytes: u32) {
        let mut frame = Vec::new();
        encode_credit(&mut frame, channel, stream, bytes);
        *self.credit.entry((channel, stream)).or_default() += u64::from(bytes);
        self.send_raw(&frame);
    }

    pub fn signal(&mut self, channel: u32, signal: i32, scope: &str) {
        let payload = json!({"signal": signal, "scope": scope});
        self.send_json(FrameType::Signal, channel, &payload);
    }

    pub fn close(&mut self, channel: u32) {
        self.send_json(FrameType::Close, channel, &json!({}));
    }

    pub fn open(&mut self, payload: &Value) -> u32 {
        let id = self.next_id;
        self.next_id += 2;
        for stream in [1, 2] {
            self.credit.insert((id, stream), u64::from(self.window));
        }
        self.send_window.insert(id, self.guest_window);
        self.send_json(FrameType::Open, id, payload);
        id
    }

    pub fn open_exec(&mut self, argv: &[&str], more: Value) -> u32 {
        let mut payload = json!({"kind": "exec", "argv": argv, "env": {"PATH": PATH}});
        if let (Some(into), Value::Object(more)) = (payload.as_object_mut(), more) {
            into.extend(more);
        }
        self.open(&payload)
    }

    pub fn open_shell(&mut self, script: &str) -> u32 {
        self.open_exec(&["sh", "-c", script], json!({}))
    }

    pub fn shell(&mut self, script: &str) -> Outcome {
        let id = self.open_shell(script);
        self.finish(id)
    }

    /// The next frame, checked against the credit that was granted.
    pub fn receive(&mut self) -> Received {
        self.try_receive().expect("the guest's stream goes on")
    }

    /// `None` when the stream ended.
    pub fn try_receive(&mut self) -> Option<Received> {
        loop {
            let found = self.decoder.next_frame().expect("a valid frame");
            if let Some(frame) = found {
                let received = Received {
                    frame_type: frame.frame_type,
                    channel: frame.channel,
                    stream: frame.stream,
                    payload: frame.payload.to_vec(),
                };
                self.account(&received);
                return Some(received);
            }
            let space = self.decoder.space(MAX_DATA);
            let count = match self.stream.read(space) {
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => 0,
                Err(error) => panic!("the guest says nothing: {error}"),
            };
            if count == 0 {
                return None;
            }
            self.decoder.filled(count);
        }
    }

    fn account(&mut self, frame: &Received) {
        let key = (frame.channel, frame.stream);
        if frame.frame_type == FrameType::Data {
            // On the guest's own channels the first window is fixed.
            let left = self.credit.entry(key).or_insert(u64::from(ak_wire::GUEST_CHANNEL_WINDOW));
            let length = frame.payload.len() as u64;
            assert!(length <= *left, "more than granted: {length} > {left}");
            *left -= length;
        }
        if frame.frame_type == FrameType::Credit {
            let amount = u32::from_le_bytes(frame.payload[..].try_into().expect("4 bytes"));
            let window = self.send_window.entry(frame.channel);
            *window.or_insert(u64::from(ak_wire::GUEST_CHANNEL_WINDOW)) += u64::from(amount);
        }
    }

    /// Frames until one of that type arrives on the channel.
    pub fn wait_for(&mut self, channel: u32, frame_type: FrameType) -> Received {
        loop {
            let frame = self.receive();
            if frame.channel == channel && frame.frame_type == frame_type {
                return frame;
            }
            assert_eq!(frame.channel, channel, "unexpected {frame:?}");
        }
    }

    /// Output of the channel up to the first newline, with credit given back.
    pub fn read_line(&mut self, channel: u32) -> String {
        let mut line = Vec::new();
        loop {
            let data = self.wait_for(channel, FrameType::Data);
            self.grant(channel, data.stream, data.payload.len() as u32);
            line.extend_from_slice(&data.payload);
            if line.ends_with(b"\n") {
                return String::from_utf8_lossy(&line).trim().to_owned();
            }
        }
    }

    /// Runs one channel to its terminal frame, granting credit for all output.
    pub fn finish(&mut self, channel: u32) -> Outcome {
        self.exchange(channel, &[])
    }

    /// As `finish`, and sends `input` and EOF on stream 0 as credit allows.
    pub fn finish_with_input(&mut self, channel: u32, input: &[u8]) -> Outcome {
        let rest = self.send_input(channel, input);
        self.exchange(channel, rest)
    }

    fn send_input<'a>(&mut self, channel: u32, mut input: &'a [u8]) -> &'a [u8] {
        while !input.is_empty() {
            let window = self.send_window.get_mut(&channel).expect("known");
            let count = input.len().min(*window as usize).min(MAX_DATA);
            if count == 0 {
                return input;
            }
            *window -= count as u64;
            self.send(FrameType::Data, channel, 0, &input[..count]);
            input = &input[count..];
        }
        self.send(FrameType::Eof, channel, 0, &[]);
        input
    }

    fn exchange(&mut self, channel: u32, input: &[u8]) -> Outcome {
        self.take_all(channel, input, true)
    }

    /// As `finish`, and acknowledges nothing.
    pub fn exchange_without_credit(&mut self, channel: u32) -> Outcome {
        self.take_all(channel, &[], false)
    }

    fn take_all(&mut self, channel: u32, mut input: &[u8], grants: bool) -> Outcome {
        let mut outcome = Outcome::default();
        loop {
            let frame = self.receive();
            assert_eq!(frame.channel, channel, "unexpected {frame:?}");
            match frame.frame_type {
                FrameType::Opened => outcome.opened = Some(frame.json()),
                FrameType::Data => {
                    let into = if frame.stream == 1 { &mut outcome.stdout } else { &mut outcome.stderr };
                    into.extend_from_slice(&frame.payload);
                    if grants {
                        self.grant(channel, frame.stream, frame.payload.len() as u32);
                    }
                }
                FrameType::Eof => outcome.ended_streams.push(frame.stream),
                FrameType::Credit if !input.is_empty() => input = self.send_input(channel, input),
                FrameType::Credit => {}
                FrameType::Failed => {
                    outcome.failed = serde_json::from_slice(&frame.payload).ok();
                    return outcome;
                }
                FrameType::Exit => {
                    outcome.exit = serde_json::from_slice(&frame.payload).ok();
                    return outcome;
                }
                FrameType::Close => {
                    outcome.close = Some(frame.json());
                    return outcome;
                }
                other => panic!("unexpected {other:?}"),
            }
        }
    }
}

impl Guest {
    /// Ends the stream and waits for the guest's end.
    pub fn hang_up(self) -> ExitStatus {
        let Self { mut child, host } = self;
        drop(host);
        child.wait().expect("the guest ends")
    }

    /// Reads to the end of the stream, then waits for the guest's end.
    pub fn wait_end(mut self) -> (Vec<Received>, ExitStatus) {
        let mut frames = Vec::new();
        while let Some(frame) = self.try_receive() {
            frames.push(frame);
        }
        (frames, self.child.wait().expect("the guest ends"))
    }
}
