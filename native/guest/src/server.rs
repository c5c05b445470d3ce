//! The event loop and the table of channels.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use ak_wire::{Decoder, Direction, FrameType};
use rustix::io::{Errno, read};

use crate::channel::{Channel, Context, ProtocolBreach, Step};
use crate::exec::{Pipes, Spare, ahead};
use crate::host_stream::HostStream;
use crate::kept::KeptExecs;
use crate::net::Net;
use crate::outbox::Outbox;
use crate::poller::{CHILD_SIGNALS, EventFlags, HOST, HOST_SOCKET, Poller, Ready, slot};
use crate::shutdown::Shutdown;
use crate::startup::Prepared;
use crate::sys;
use ak_wire::host_socket::{HostSocket, await_host};

/// Why the guest stopped serving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    ShutDown,
    StreamEnded,
    Violation,
    /// The supervisor of a kept sandbox has ended, so no host could connect any more.
    SupervisorGone,
}

impl From<ProtocolBreach> for End {
    fn from(_: ProtocolBreach) -> Self {
        Self::Violation
    }
}

/// Reads from the host per turn, so that a talkative host does not starve
/// running commands.
const READS_PER_TURN: usize = 4;
/// The size of a read while the host sends little.
const FIRST_READ: usize = 8 * 1024;
/// Rounds over the channels per turn, for the same reason the other way round.
const ROUNDS_PER_TURN: usize = 4;
/// What a machine's first process says at the guest's entrance (native/init/src/ahead.rs); all else is a rehearsal.
const BEGIN: u8 = 0;
const BEGIN_WITH_VIEW: u8 = 2;
/// An idle guest that hears nothing for this long gives its memory back.
const QUIET: Duration = ak_sys::idle::IDLE_AFTER;

pub struct Server {
    pub(crate) process: Prepared,
    /// The stream to the host; none while a kept guest is on its own.
    pub(crate) host: Option<HostStream>,
    /// Only of a kept guest.
    pub(crate) host_socket: Option<HostSocket>,
    pub(crate) kept: KeptExecs,
    pub(crate) poller: Poller,
    pub(crate) outbox: Outbox,
    pub(crate) channels: BTreeMap<u32, Channel>,
    /// Ended commands. Their resources are released once their end is reported.
    pub(crate) retired: Vec<Channel>,
    /// Likewise a command whose end is known.
    pub(crate) wants_reaping: bool,
    pub(crate) net: Net,
    pub(crate) last_id: u32,
    /// The host's window, once its HELLO came.
    pub(crate) host_window: Option<u32>,
    /// Live keepers, also of execs that have ended.
    pub(crate) keepers: Vec<i32>,
    pub(crate) spare: Option<Spare>,
    pub(crate) pipes: Pipes,
    /// One is to be forked when there is nothing else to do.
    pub(crate) wants_spare: bool,
    /// A command was run before.
    pub(crate) has_served: bool,
    /// A command was started here, or tried to.
    pub(crate) has_started: bool,
    pub(crate) shutdown: Option<Shutdown>,
    pub(crate) now: Instant,
    pub(crate) decoder: Decoder,
    pub(crate) host_readable: bool,
    last_served: u32,
}

impl Server {
    pub fn new(mut process: Prepared) -> io::Result<Self> {
        let poller = Poller::new()?;
        let mut net = Net::new(std::mem::take(&mut process.listeners), &poller)?;
        let (host, host_socket) = (process.host.take(), process.host_socket.take().map(HostSocket::new));
        if let Some(host) = host.as_ref().filter(|_| process.entrance.is_none()) {
            host.watch(&poller)?;
        }
        if let Some(host_socket) = &host_socket {
            poller.watch(&host_socket.socket, HOST_SOCKET, EventFlags::IN)?;
        }
        net.is_offline = host.is_none();
        poller.watch(&process.child_signals, CHILD_SIGNALS, EventFlags::IN)?;
        let entrance = process.entrance.take();
        let mut server = Self {
            process,
            poller,
            outbox: if host.is_some() { Outbox::default() } else { Outbox::void() },
            host_readable: host.is_some(),
            host,
            wants_spare: false,
            host_socket,
            kept: KeptExecs::default(),
            channels: BTreeMap::new(),
            retired: Vec::with_capacity(1),
            wants_reaping: false,
            net,
            last_id: 0,
            host_window: None,
            keepers: Vec::new(),
            spare: None,
            pipes: Pipes::default(),
            has_served: false,
            has_started: false,
            shutdown: None,
            now: Instant::now(),
            decoder: Decoder::new(Direction::HostToGuest),
            last_served: 0,
        };
        match entrance {
            Some(entrance) if server.host.is_some() => server.await_turn(entrance)?,
            Some(entrance) => server.await_host(entrance)?,
            None => server.say_hello(),
        }
        Ok(server)
    }

    /// Waits for the only host of a sandbox that is built ahead, when everything else is ready.
    fn await_host(&mut self, entrance: OwnedFd) -> io::Result<()> {
        // The process that puts the caller's directories in place, where there is one.
        let has_placer = sys::has_child();
        self.fork_spare();
        let mut outbox = Outbox::default();
        outbox.make_ready();
        self.decoder.space(FIRST_READ);
        ahead::read_settings();
        let host = HostStream::socket(await_host(entrance)?);
        host.watch(&self.poller)?;
        self.host = Some(host);
        self.host_readable = true;
        self.outbox = outbox;
        self.net.is_offline = false;
        self.net.read_settings();
        self.now = Instant::now();
        // It is about to end, and has rights that no other process in here has.
        if has_placer {
            self.reap_until_another();
        }
        self.spare.take_if(|spare| !spare.take_limits());
        self.say_hello();
        Ok(())
    }

    /// Waits in a virtual machine that is saved and restored at this point. Code that runs for the first time costs
    /// most after a restore, so everything is done before: limits have their final values, and the host is sent nothing
    /// that is not final yet.
    fn await_turn(&mut self, entrance: OwnedFd) -> io::Result<()> {
        ahead::rehearse();
        self.reap();
        self.pipes = Pipes::ahead();
        self.outbox.make_ready();
        self.say_hello();
        self.decoder.space(FIRST_READ);
        ahead::read_settings();
        self.net.read_settings();
        ahead::take_memory();
        if let Some(host) = &self.host {
            host.tell(&self.poller)?;
        }
        let mut told = [0];
        loop {
            // The process that holds the stream until then waits for this byte.
            rustix::io::write(&entrance, &[0])?;
            if rustix::io::retry_on_intr(|| read(&entrance, &mut told))? == 0 {
                return Err(Errno::CONNRESET.into());
            }
            match told {
                [BEGIN | BEGIN_WITH_VIEW] => break,
                _ => ahead::rehearse(),
            }
            self.reap();
        }
        let view = self.process.view.take().filter(|_| told == [BEGIN_WITH_VIEW]);
        self.process.entrance = Some(entrance);
        if let Some(host) = &self.host {
            host.never_block()?;
        }
        self.net.take_name();
        self.now = Instant::now();
        if let Some(view) = view {
            self.net.open_view(view, (&mut self.outbox, &self.poller, self.now))?;
        }
        Ok(())
    }

    fn say_hello(&mut self) {
        let hello = self.hello();
        self.outbox.json(FrameType::Hello, 0, &hello);
    }

    /// Serves until the end; when it returns nothing of the sandbox runs.
    pub fn run(mut self) -> End {
        let end = match self.serve() {
            Err(end) => end,
            Ok(never) => match never {},
        };
        self.kill_everything();
        end
    }

    fn serve(&mut self) -> Result<std::convert::Infallible, End> {
        let mut ready = Vec::new();
        let mut busy = true;
        let mut trimmed = false;
        loop {
            self.flush()?;
            self.clean_up();
            if !busy && self.wants_spare {
                self.fork_spare();
            }
            let idle = !busy && self.channels.is_empty() && self.net.is_idle();
            let timeout = match self.next_deadline() {
                _ if busy => Some(Duration::ZERO),
                Some(at) => Some(at.saturating_duration_since(Instant::now())),
                None => (idle && !trimmed).then_some(QUIET),
            };
            self.poller.wait(timeout, &mut ready).map_err(|_| End::StreamEnded)?;
            self.now = Instant::now();
            trimmed = idle && ready.is_empty() && self.shutdown.is_none();
            if trimmed {
                if let Some(host) = &mut self.host {
                    host.watch_output(&self.poller, false).map_err(|_| End::StreamEnded)?;
                }
                self.outbox.release_memory();
                self.decoder.release_memory();
                self.net.release_memory(self.now);
                ak_sys::idle::trim();
                continue;
            }
            for event in &ready {
                self.on_ready(event);
            }
            busy = match self.turn() {
                Ok(busy) => busy,
                Err(end) => self.survive(end).map(|()| true)?,
            };
        }
    }

    /// Does work that can wait until the answers are out.
    fn clean_up(&mut self) {
        self.retired.clear();
        if std::mem::take(&mut self.wants_reaping) {
            self.reap();
        }
        if self.has_served {
            // The pipes of the first command, and the connection to the process that built the sandbox.
            (self.pipes, self.process.entrance) = (Pipes::default(), None);
        }
    }

    /// True when something is left to do at once.
    fn turn(&mut self) -> Result<bool, End> {
        self.receive_hosts()?;
        let more_input = self.read_host()?;
        self.check_shutdown()?;
        Ok(self.run_channels()? || more_input)
    }

    fn on_ready(&mut self, event: &Ready) {
        match event.token {
            HOST => {
                self.host_readable |= event.is_readable();
                if event.is_writable() {
                    self.outbox.unstall();
                }
            }
            CHILD_SIGNALS => self.on_child_end(),
            HOST_SOCKET => {
                if let Some(host_socket) = &mut self.host_socket {
                    host_socket.ready = true;
                }
            }
            token if (slot::EXEC..slot::DNS_STREAM).contains(&token.slot) => {
                if let Some(channel) = self.kept.channel_of(token.channel).and_then(|id| self.channels.get_mut(&id)) {
                    channel.on_ready(event);
                } else if let Some(exec) = self.kept.detached.get_mut(&token.channel) {
                    exec.on_ready(event);
                }
            }
            token => match self.channels.get_mut(&token.channel) {
                Some(channel) if token.slot < slot::DNS_STREAM => channel.on_ready(event),
                _ => self.net.on_ready(event),
            },
        }
    }

    pub(crate) fn flush(&mut self) -> Result<(), End> {
        let Some(host) = &mut self.host else { return Ok(()) };
        let flushed = match self.outbox.flush(host.output(), self.now) {
            Ok(()) if self.outbox.is_stalled() => host.watch_output(&self.poller, true),
            flushed => flushed,
        };
        match flushed {
            Ok(()) => Ok(()),
            // Frames that a host sent before it died still count: the stream is read to its end.
            Err(_) if self.host_socket.is_some() => {
                self.outbox = Outbox::void();
                self.host_readable = true;
                Ok(())
            }
            Err(_) => Err(End::StreamEnded),
        }
    }

    /// True when there may be more to read. While the host does not take our
    /// answers, its requests wait; one that never will is heard to its end.
    pub(crate) fn read_host(&mut self) -> Result<bool, End> {
        for _ in 0..READS_PER_TURN {
            let may_answer = self.outbox.has_room() || self.outbox.is_void();
            let Some(host) = self.host.as_ref().filter(|_| self.host_readable && may_answer) else {
                return Ok(false);
            };
            // A frame that came in part is probably a large one.
            let space = if self.decoder.pending() > 0 { 256 * 1024 } else { FIRST_READ };
            match read(host.input(), self.decoder.space(space)) {
                Ok(0) => return Err(End::StreamEnded),
                Ok(count) => self.decoder.filled(count),
                Err(Errno::AGAIN) => self.host_readable = false,
                Err(Errno::INTR) => {}
                Err(_) => return Err(End::StreamEnded),
            }
            // The decoder leaves the server while its frames borrow from it.
            let mut decoder = std::mem::replace(&mut self.decoder, Decoder::new(Direction::HostToGuest));
            while let Some(frame) = decoder.next_frame().map_err(|_| End::Violation)? {
                self.on_frame(&frame)?;
            }
            self.decoder = decoder;
        }
        Ok(true)
    }

    /// Rounds in which each channel gets one turn, starting behind the one that
    /// was served last. True when something is left to do at once.
    pub(crate) fn run_channels(&mut self) -> Result<bool, End> {
        for _ in 0..ROUNDS_PER_TURN {
            let mut order: Vec<u32> = self.channels.keys().copied().collect();
            let split = order.partition_point(|id| *id <= self.last_served);
            order.rotate_left(split);
            let mut progress = false;
            for id in order {
                progress |= self.run_channel(id);
            }
            progress |= self.run_detached();
            progress |= self.net.run(&mut self.outbox, &self.poller, self.now);
            self.flush()?;
            if !progress {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn run_channel(&mut self, id: u32) -> bool {
        let Some(channel) = self.channels.get_mut(&id) else {
            return false;
        };
        let mut ctx = Context { id, outbox: &mut self.outbox, now: self.now, keepers: &self.keepers };
        let mut step = Step::Waiting;
        if let Channel::Exec(exec) = channel {
            step = exec.read_reports(&mut ctx);
        }
        if !matches!(step, Step::Ended) {
            step = channel.step(&mut ctx);
        }
        match step {
            Step::Waiting => false,
            Step::Progress => {
                self.last_served = id;
                true
            }
            Step::Ended => {
                self.retire(id);
                true
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let channels = self.channels.values().filter_map(Channel::deadline);
        let detached = self.kept.detached.values().filter_map(|exec| exec.deadline());
        channels.chain(detached).chain(self.shutdown.map(|s| s.until)).chain(self.outbox.waits_until()).min()
    }
}
