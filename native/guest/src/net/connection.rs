//! One TCP connection of a program in the sandbox, carried on a channel: out
//! (captured, the guest asked) or in (the host asked for a port inside).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use ak_wire::FrameType;
use ak_wire::payload::{Closed, Empty, Failed};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

use super::NetContext;
use super::sink::Sink;
use super::source::{Flow, Source};
use crate::channel::{ProtocolBreach, Refusal};
use crate::poller::{EventFlags, Ready, Token};

const EVENTS: EventFlags = EventFlags::IN.union(EventFlags::OUT);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// In: not connected yet, to the address with this index.
    Connecting(usize),
    /// Out: the host has not answered. The program's first bytes travel with the question.
    Asked,
    Open,
    /// Out: the guest gave up, and the host's last word is awaited.
    Abandoned,
    /// The channel is over; what the host sent is still on its way to the program.
    Delivering,
}

pub enum Outcome {
    Waiting,
    /// The way to the host is full.
    Starved,
    Progress,
    Over,
}

pub struct Connection {
    socket: Option<OwnedFd>,
    stage: Stage,
    sink: Sink,
    source: Source,
    is_out: bool,
    port: u16,
    failed: bool,
    /// The synthetic address that it was made to.
    pub name: Option<u32>,
    /// It is in the queue of those that have something to do.
    pub queued: bool,
    /// It is among those that wait for the way to the host.
    pub starved: bool,
}

impl Connection {
    /// A captured one, whose OPEN is sent.
    pub fn out(socket: OwnedFd, name: Option<u32>, id: u32, context: &NetContext) -> Result<Self, Errno> {
        context.poller.watch(&socket, Token { channel: id, slot: 0 }, EVENTS)?;
        let window = ak_wire::GUEST_CHANNEL_WINDOW;
        Ok(Self::new(Some(socket), Stage::Asked, Sink::new(window), Source::new(window), (true, 0), name))
    }

    /// To a port inside, as the host asked.
    pub fn inward(port: u16, credit: u32, id: u32, context: &NetContext) -> Result<Self, Refusal> {
        if port == 0 {
            return Err(Refusal::invalid("port 0 is none"));
        }
        let (sink, source) = (Sink::new(crate::channel::WINDOW), Source::new(credit));
        let mut made = Self::new(None, Stage::Connecting(0), sink, source, (false, port), None);
        made.dial(0, id, context).map_err(refusal)?;
        Ok(made)
    }

    fn new(
        socket: Option<OwnedFd>,
        stage: Stage,
        sink: Sink,
        source: Source,
        (is_out, port): (bool, u16),
        name: Option<u32>,
    ) -> Self {
        Self { socket, stage, sink, source, is_out, port, failed: false, name, queued: false, starved: false }
    }

    pub fn is_out(&self) -> bool {
        self.is_out
    }

    pub fn borrowed(&self) -> u32 {
        self.sink.borrowed()
    }

    pub fn on_ready(&mut self, ready: &Ready) {
        self.source.readable |= ready.is_readable();
        self.sink.writable |= ready.is_writable();
        self.failed |= ready.flags.contains(EventFlags::ERR);
    }

    pub fn on_data(&mut self, context: &mut NetContext, id: u32, payload: &[u8]) -> Result<(), ProtocolBreach> {
        if self.is_out && self.stage == Stage::Asked {
            return Err(ProtocolBreach);
        }
        let Some(socket) = self.socket.as_ref().filter(|_| self.stage != Stage::Delivering) else {
            return Ok(());
        };
        // Before it is connected a socket takes nothing, and all is queued.
        self.failed |= self.sink.on_data(context, id, socket, payload)?.is_err();
        Ok(())
    }

    pub fn on_eof(&mut self) -> Result<(), ProtocolBreach> {
        if self.sink.ended || (self.is_out && self.stage == Stage::Asked) {
            return Err(ProtocolBreach);
        }
        self.sink.ended = true;
        Ok(())
    }

    pub fn on_credit(&mut self, amount: u32) -> Result<(), ProtocolBreach> {
        self.source.add_credit(amount)
    }

    pub fn on_opened(&mut self) -> Result<(), ProtocolBreach> {
        match self.stage {
            Stage::Asked => self.stage = Stage::Open,
            Stage::Abandoned => {}
            _ => return Err(ProtocolBreach),
        }
        Ok(())
    }

    /// The host refused: the program sees its connection reset, which is the only word that TCP has for it.
    pub fn on_failed(&mut self) -> Outcome {
        self.reset();
        Outcome::Over
    }

    /// Out: the host's last word. In: the host gave up, and the guest says the last word.
    pub fn on_close(&mut self, context: &mut NetContext, id: u32, closed: &Closed) -> Outcome {
        if !self.is_out {
            self.reset();
            context.outbox.json(FrameType::Close, id, &Empty {});
            return Outcome::Over;
        }
        if closed.code.is_some() || !self.sink.ended || self.socket.is_none() {
            self.reset();
            return Outcome::Over;
        }
        self.stage = Stage::Delivering;
        Outcome::Progress
    }

    pub fn step(&mut self, context: &mut NetContext, id: u32) -> Outcome {
        if let Stage::Connecting(attempt) = self.stage {
            return self.connecting(attempt, context, id);
        }
        let Some(socket) = &self.socket else { return Outcome::Waiting };
        if std::mem::take(&mut self.failed) && !matches!(sockopt::socket_error(socket), Ok(Ok(()))) {
            return self.lost(context, id);
        }
        let Ok(mut moved) = self.sink.step(context, id, socket) else { return self.lost(context, id) };
        if self.stage == Stage::Delivering {
            return if self.sink.is_done() { Outcome::Over } else { Outcome::Waiting };
        }
        let mut starved = false;
        match self.source.step(context, id, socket) {
            Ok(Flow::Blocked) => {}
            Ok(Flow::Starved) => starved = true,
            Ok(Flow::Sent) => moved = true,
            Err(_) => return self.lost(context, id),
        }
        if !self.is_out && self.source.ended && self.sink.is_done() {
            context.outbox.json(FrameType::Close, id, &Empty {});
            return Outcome::Over;
        }
        match (moved, starved) {
            (true, _) => Outcome::Progress,
            (false, true) => Outcome::Starved,
            (false, false) => Outcome::Waiting,
        }
    }

    /// The program closed its end. Each way of opening a channel reports that in its own frame.
    fn lost(&mut self, context: &mut NetContext, id: u32) -> Outcome {
        self.socket = None;
        if self.stage == Stage::Delivering {
            return Outcome::Over;
        }
        let reset = Failed { code: "reset".into(), message: "the connection was reset in the sandbox".into() };
        context.outbox.json(FrameType::Close, id, &reset);
        if !self.is_out {
            return Outcome::Over;
        }
        self.stage = Stage::Abandoned;
        Outcome::Progress
    }

    /// Closes with a reset; undelivered bytes are lost, and the program sees ECONNRESET.
    fn reset(&mut self) {
        if let Some(socket) = self.socket.take() {
            // Without it the program would see an orderly end; it is closed in any case.
            let _ = sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
        }
    }

    fn dial(&mut self, attempt: usize, id: u32, context: &NetContext) -> Result<(), Errno> {
        let (family, address) = LOOPBACKS[attempt];
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        context.poller.watch(&socket, Token { channel: id, slot: 0 }, EVENTS)?;
        self.stage = Stage::Connecting(attempt);
        self.sink.writable = false;
        self.source.readable = false;
        match connect(&socket, &SocketAddr::new(address, self.port)) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(errno) if attempt + 1 == LOOPBACKS.len() => return Err(errno),
            Err(_) => return self.dial(attempt + 1, id, context),
        }
        self.socket = Some(socket);
        Ok(())
    }

    fn connecting(&mut self, attempt: usize, context: &mut NetContext, id: u32) -> Outcome {
        let Some(socket) = self.socket.as_ref().filter(|_| self.sink.writable) else { return Outcome::Waiting };
        let connected = sockopt::socket_error(socket).unwrap_or_else(Err);
        self.failed = false;
        let failed = match connected {
            Ok(()) => {
                self.stage = Stage::Open;
                let _ = sockopt::set_tcp_nodelay(socket, true);
                context.outbox.json(FrameType::Opened, id, &Empty {});
                return Outcome::Progress;
            }
            Err(errno) if attempt + 1 == LOOPBACKS.len() => errno,
            Err(_) => match self.dial(attempt + 1, id, context) {
                Ok(()) => return Outcome::Progress,
                Err(errno) => errno,
            },
        };
        context.outbox.json(FrameType::Failed, id, &refusal(failed).payload());
        Outcome::Over
    }

    /// The sandbox is ending: the last word where it is the guest's.
    pub fn abandon(&mut self, context: &mut NetContext, id: u32) {
        self.reset();
        if self.is_out {
            return;
        }
        let cut = Refusal::new("reset", "the sandbox is ending").payload();
        let kind = if matches!(self.stage, Stage::Connecting(_)) { FrameType::Failed } else { FrameType::Close };
        context.outbox.json(kind, id, &cut);
    }
}

const LOOPBACKS: [(AddressFamily, IpAddr); 2] =
    [(AddressFamily::INET, IpAddr::V4(Ipv4Addr::LOCALHOST)), (AddressFamily::INET6, IpAddr::V6(Ipv6Addr::LOCALHOST))];

fn refusal(errno: Errno) -> Refusal {
    let code = match errno {
        Errno::CONNREFUSED | Errno::CONNRESET => "refused",
        Errno::TIMEDOUT => "timed_out",
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS => "resource",
        _ => "unreachable",
    };
    Refusal::new(code, errno)
}
