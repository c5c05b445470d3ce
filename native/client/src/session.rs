//! A command line that the daemon serves: streams and signals back and forth until it says how this ends.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::frame::{CLOSED, CREDIT, DATA, Decoder, EOF, EXIT, Event, RAW, SIGNAL, WILL, WINDOW, encode};
use crate::input::{Got, Input};
use crate::output::Output;
use crate::signals::Signals;
use crate::terminal;

const READ_BYTES: usize = 262_144;
/// Bytes of stdin in one frame.
const INPUT_BYTES: usize = 65_536;
/// While this much of ours waits for the daemon, stdin is not read.
const MAX_UNSENT: usize = 1 << 20;

pub enum End {
    Status(u8),
    Signal(i32),
    /// The daemon is gone, or talks nonsense: why, and what it had wanted to be said then.
    Lost {
        why: String,
        words: Option<String>,
    },
}

fn lost(why: impl Into<String>) -> Option<End> {
    Some(End::Lost { why: why.into(), words: None })
}

pub struct Session {
    socket: UnixStream,
    signals: Signals,
    decoder: Decoder,
    input: Input,
    /// Stdout and stderr.
    outputs: [Output; 2],
    unsent: Vec<u8>,
    is_raw: bool,
    /// The output to print if the daemon dies: bytes for stdout, and a message for the user.
    fallback: [Vec<u8>; 2],
}

impl Session {
    pub fn new(socket: UnixStream, signals: Signals) -> Self {
        Self {
            socket,
            signals,
            decoder: Decoder::default(),
            input: Input::open(),
            outputs: [Output::open(1), Output::open(2)],
            unsent: Vec::new(),
            is_raw: false,
            fallback: [Vec::new(), Vec::new()],
        }
    }

    /// `early` is what came together with the daemon's agreement.
    pub fn run(mut self, early: &[u8]) -> End {
        if let Err(error) = self.socket.set_nonblocking(true) {
            return End::Lost { why: error.to_string(), words: None };
        }
        let mut buffer = vec![0; READ_BYTES];
        let mut end = self.take(early);
        while end.is_none() {
            self.tell_progress();
            end = self.send().or_else(|| self.wait(&mut buffer));
        }
        let end = end.map(|end| self.print_fallback(end));
        // Output without a reader waiting, such as a progress bar, gets this one attempt.
        for output in &mut self.outputs {
            output.flush();
        }
        end.unwrap_or(End::Status(0))
    }

    /// The daemon knew what the screen was left like, and what goes on without it.
    fn print_fallback(&mut self, end: End) -> End {
        let End::Lost { why, .. } = end else { return end };
        let [screen, words] = std::mem::take(&mut self.fallback);
        self.outputs[0].push(&screen);
        End::Lost { why, words: String::from_utf8(words).ok().filter(|words| !words.is_empty()) }
    }

    fn wait(&mut self, buffer: &mut [u8]) -> Option<End> {
        let (socket, signal, input, outputs) = self.poll()?;
        if signal {
            while let Some(signal) = self.signals.next() {
                self.pass_on(signal);
            }
        }
        for (output, is_ready) in self.outputs.iter_mut().zip(outputs) {
            if is_ready {
                output.flush();
            }
        }
        if input {
            self.read_input(buffer);
        }
        if socket { self.receive(buffer) } else { None }
    }

    /// Which of socket, signals, stdin and the outputs have something for us. None: look again.
    fn poll(&self) -> Option<(bool, bool, bool, [bool; 2])> {
        let mut socket_events = PollFlags::IN;
        if !self.unsent.is_empty() {
            socket_events |= PollFlags::OUT;
        }
        let input = self.input.wanted().filter(|_| self.unsent.len() < MAX_UNSENT);
        let mut polled = vec![PollFd::new(&self.socket, socket_events), PollFd::new(&self.signals, PollFlags::IN)];
        let relay = self.signals.relay();
        polled.extend(relay.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        polled.extend(input.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        for output in &self.outputs {
            polled.extend(output.waits().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::OUT)));
        }
        poll(&mut polled, None).ok()?;
        let mut ready = polled.iter().map(|one| !one.revents().is_empty());
        let socket = ready.next()?;
        let signal = ready.next()?;
        let signal = (relay.is_some() && ready.next()?) || signal;
        let input = input.is_some() && ready.next()?;
        let mut outputs = [false; 2];
        for (output, is_ready) in self.outputs.iter().zip(&mut outputs) {
            *is_ready = output.waits().is_some() && ready.next()?;
        }
        Some((socket, signal, input, outputs))
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Option<End> {
        match self.socket.read(buffer) {
            Ok(0) => lost("the daemon is gone"),
            Ok(count) => self.take(&buffer[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => None,
            Err(error) => lost(error.to_string()),
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Option<End> {
        let mut at = 0;
        while at < bytes.len() {
            let (used, event) = match self.decoder.next(&bytes[at..]) {
                Ok(step) => step,
                Err(reason) => return lost(reason),
            };
            at += used;
            match event {
                Some(Event::Output { stream: stream @ 1..=2, piece }) => {
                    self.outputs[usize::from(stream) - 1].push(piece);
                }
                Some(Event::Frame { kind, stream, payload }) => {
                    if let Some(end) = self.obey(kind, stream, &payload) {
                        return Some(end);
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn obey(&mut self, kind: u8, stream: u8, payload: &[u8]) -> Option<End> {
        match (kind, payload) {
            (WILL, _) if matches!(stream, 1..=2) => self.fallback[usize::from(stream) - 1] = payload.to_vec(),
            (CREDIT, &[a, b, c, d]) => self.input.grant(u32::from_le_bytes([a, b, c, d])),
            (CLOSED, _) => self.input.stop(),
            (RAW, &[wanted]) => {
                self.is_raw = wanted == 1;
                if self.is_raw { terminal::make_raw() } else { terminal::restore() }
            }
            (EXIT, &[status, 0]) => return Some(End::Status(status)),
            (EXIT, &[_, signal]) => return Some(End::Signal(i32::from(signal))),
            _ => return lost("the daemon sent something unknown"),
        }
        None
    }

    fn read_input(&mut self, buffer: &mut [u8]) {
        let most = buffer.len().min(INPUT_BYTES);
        match self.input.read(&mut buffer[..most]) {
            Got::Bytes(count) => encode(DATA, 0, &buffer[..count], &mut self.unsent),
            Got::Nothing => {}
            Got::End => encode(EOF, 0, &[], &mut self.unsent),
        }
    }

    /// Sends credit for written output: the daemon sends no more than it has credit for.
    fn tell_progress(&mut self) {
        for (stream, output) in [1, 2].into_iter().zip(&mut self.outputs) {
            if let Some(error) = output.take_failure() {
                encode(CLOSED, stream, &Errno::raw_os_error(error).to_le_bytes(), &mut self.unsent);
            }
            let written = output.take_written();
            if written > 0 {
                encode(CREDIT, stream, &written.to_le_bytes(), &mut self.unsent);
            }
        }
    }

    fn pass_on(&mut self, signal: i32) {
        match signal {
            libc::SIGWINCH => self.tell_window(),
            libc::SIGTSTP => self.stop(),
            libc::SIGCONT => self.go_on(),
            _ => self.tell_signal(signal),
        }
    }

    fn stop(&mut self) {
        self.tell_signal(libc::SIGTSTP);
        self.send();
        terminal::restore();
        // In a group that no shell looks after the signal has no effect; what was stopped for it must go on.
        if !self.signals.stop_self() {
            self.go_on();
        }
    }

    fn go_on(&mut self) {
        if self.is_raw {
            terminal::make_raw();
        }
        self.tell_signal(libc::SIGCONT);
        self.tell_window();
    }

    fn tell_signal(&mut self, signal: i32) {
        encode(SIGNAL, 0, &signal.to_le_bytes(), &mut self.unsent);
    }

    fn tell_window(&mut self) {
        if let Some(window) = terminal::window() {
            encode(WINDOW, 0, &window, &mut self.unsent);
        }
    }

    /// As much as the socket takes.
    fn send(&mut self) -> Option<End> {
        let mut done = 0;
        while done < self.unsent.len() {
            match self.socket.write(&self.unsent[done..]) {
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Its last words may still be there to read; if not, reading tells that it is gone.
                Err(_) => done = self.unsent.len(),
            }
        }
        self.unsent.drain(..done);
        None
    }
}
