//! The parts of a kept guest: hosts connect and disconnect, and execs that have a key outlive a connection.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use ak_wire::payload::{Empty, Hello, KeptExec, OpenExec, OpenExecAttach, OpenExecForget};
use ak_wire::{Decoder, Direction, FrameType, MAX_KEPT_EXECS, PROTOCOL};

use crate::channel::{Channel, Context, Refusal, Step, WINDOW};
use crate::exec::{Exec, is_key};
use crate::host_stream::HostStream;
use crate::outbox::Outbox;
use crate::poller::{Token, slot};
use crate::server::{End, Server};
use ak_wire::host_socket::HostMessage;

/// Execs of a kept guest by their serial numbers, which outlive connections and channels.
#[derive(Default)]
pub struct KeptExecs {
    last_serial: u32,
    /// Serial number → channel.
    attached: BTreeMap<u32, u32>,
    /// Without a channel: kept, or about to die.
    pub detached: BTreeMap<u32, Box<Exec>>,
}

impl KeptExecs {
    pub fn channel_of(&self, serial: u32) -> Option<u32> {
        self.attached.get(&serial).copied()
    }

    fn find(&self, key: &str) -> Option<u32> {
        self.detached.iter().find(|(_, exec)| exec.key() == Some(key)).map(|(serial, _)| *serial)
    }

    fn states(&self) -> Vec<KeptExec> {
        self.detached.values().filter_map(|exec| exec.state()).collect()
    }
}

impl Server {
    pub(crate) fn hello(&self) -> Hello {
        let kept: &[&str] = if self.host_socket.is_some() { &["kept"] } else { &[] };
        let features = ["exec", "pty", "files"].iter().chain(self.net.features()).chain(kept);
        Hello {
            protocol: PROTOCOL,
            guest: Some(env!("CARGO_PKG_VERSION").into()),
            window: WINDOW,
            features: features.map(|s| (*s).to_owned()).collect(),
            execs: self.kept.states(),
        }
    }

    /// Whether the guest goes on after this. A kept one outlives its hosts, whatever ended the connection.
    pub(crate) fn survive(&mut self, end: End) -> Result<(), End> {
        match end {
            End::StreamEnded | End::Violation if self.host_socket.is_some() => {
                self.lose_host();
                Ok(())
            }
            _ => Err(end),
        }
    }

    pub(crate) fn receive_hosts(&mut self) -> Result<(), End> {
        while let Some(message) = self.host_socket.as_mut().and_then(|host_socket| host_socket.receive()) {
            match message {
                HostMessage::Connection(stream) => self.take_host(stream),
                HostMessage::Stop { grace_ms } => self.start_shutdown(grace_ms),
                // Dropping the descriptor closes it, which tells the requester that there is no answer.
                HostMessage::Request(_) | HostMessage::Hold(_) => {}
                HostMessage::Closed => return Err(End::SupervisorGone),
            }
        }
        Ok(())
    }

    fn take_host(&mut self, stream: OwnedFd) {
        self.drain_previous_host();
        self.lose_host();
        let stream = HostStream::socket(stream);
        if stream.watch(&self.poller).is_err() {
            // Closed here, the host sees its connection end.
            return;
        }
        self.host = Some(stream);
        self.host_readable = true;
        self.outbox = Outbox::default();
        self.net.is_offline = false;
        let hello = self.hello();
        self.outbox.json(FrameType::Hello, 0, &hello);
    }

    /// Handles what the previous host had sent, as much as the socket holds. It gets no answers.
    fn drain_previous_host(&mut self) {
        const MOST_READS: usize = 64;
        self.outbox = Outbox::void();
        self.host_readable = true;
        for _ in 0..MOST_READS {
            // Its end, or a breach, is where it stops.
            if !matches!(self.read_host(), Ok(true)) {
                return;
            }
        }
    }

    /// Everything that belongs to the present connection ends with it; kept execs are left alone.
    fn lose_host(&mut self) {
        self.host = None;
        self.host_window = None;
        self.host_readable = false;
        self.last_id = 0;
        self.decoder = Decoder::new(Direction::HostToGuest);
        self.outbox = Outbox::void();
        let serials: BTreeMap<u32, u32> =
            std::mem::take(&mut self.kept.attached).into_iter().map(|(serial, id)| (id, serial)).collect();
        for (id, channel) in std::mem::take(&mut self.channels) {
            let (Channel::Exec(mut exec), Some(serial)) = (channel, serials.get(&id)) else { continue };
            exec.detach(&mut Context { id, outbox: &mut self.outbox, now: self.now, keepers: &self.keepers });
            self.kept.detached.insert(*serial, exec);
        }
        self.net.lose_host(&self.poller, self.now);
    }

    /// Where the events of a new exec go.
    pub(crate) fn exec_token(&mut self, id: u32) -> Token {
        if self.host_socket.is_none() {
            return Token { channel: id, slot: 0 };
        }
        self.kept.last_serial = self.kept.last_serial.wrapping_add(1);
        self.kept.attached.insert(self.kept.last_serial, id);
        Token { channel: self.kept.last_serial, slot: slot::EXEC }
    }

    /// Checks the key of a new exec. Makes room by dropping finished execs that no host has asked for.
    pub(crate) fn admit_key(&mut self, open: &OpenExec) -> Result<(), Refusal> {
        let Some(key) = &open.key else { return Ok(()) };
        if self.host_socket.is_none() {
            return Err(Refusal::new("unsupported", "this sandbox keeps no execs"));
        }
        if !is_key(key) {
            return Err(Refusal::invalid("key has 1 to 64 letters, digits, dots, dashes or underscores"));
        }
        if self.kept.find(key).is_some() || self.has_channel(key) {
            return Err(Refusal::new("exists", "there is an exec with this key"));
        }
        let kept = |exec: &Exec| exec.key().is_some();
        let attached = self.channels.values().filter(|channel| matches!(channel, Channel::Exec(exec) if kept(exec)));
        let count = attached.count() + self.kept.detached.values().filter(|exec| kept(exec)).count();
        if count < MAX_KEPT_EXECS {
            return Ok(());
        }
        let oldest =
            self.kept.detached.iter().find(|(_, exec)| kept(exec) && exec.is_over()).map(|(serial, _)| *serial);
        match oldest.and_then(|serial| self.kept.detached.remove(&serial)) {
            Some(_) => Ok(()),
            None => Err(Refusal::new("resource", "too many kept execs")),
        }
    }

    fn find_detached(&self, key: &str) -> Result<u32, Refusal> {
        if self.has_channel(key) {
            return Err(Refusal::new("busy", "it has a channel"));
        }
        self.kept.find(key).ok_or_else(no_such_exec)
    }

    fn has_channel(&self, key: &str) -> bool {
        self.channels.values().any(|channel| matches!(channel, Channel::Exec(exec) if exec.key() == Some(key)))
    }

    pub(crate) fn attach_exec(
        &mut self,
        id: u32,
        open: &OpenExecAttach,
        credit: u32,
    ) -> Result<Option<Channel>, Refusal> {
        let serial = self.find_detached(&open.key)?;
        let Some(exec) = self.kept.detached.get_mut(&serial) else { return Err(no_such_exec()) };
        let mut ctx = Context { id, outbox: &mut self.outbox, now: self.now, keepers: &self.keepers };
        if let Step::Ended = exec.attach(&mut ctx, open, credit)? {
            return Ok(None);
        }
        self.kept.attached.insert(serial, id);
        Ok(self.kept.detached.remove(&serial).map(Channel::Exec))
    }

    pub(crate) fn forget_exec(&mut self, id: u32, open: &OpenExecForget) -> Result<(), Refusal> {
        let serial = self.find_detached(&open.key)?;
        if self.kept.detached.get(&serial).is_none_or(|exec| !exec.is_ended()) {
            return Err(Refusal::new("busy", "it has not ended"));
        }
        self.kept.detached.remove(&serial);
        self.outbox.json(FrameType::Opened, id, &Empty {});
        self.outbox.json(FrameType::Close, id, &Empty {});
        Ok(())
    }

    /// A channel is over. A kept exec stays until a host says that it knows of its end.
    pub(crate) fn retire(&mut self, id: u32) {
        let channel = self.channels.remove(&id);
        if matches!(channel, Some(Channel::Exec(_))) {
            self.on_command_over();
        }
        let serial = self.kept.attached.iter().find(|(_, channel)| **channel == id).map(|(serial, _)| *serial);
        let Some(serial) = serial else {
            // Other channels are dropped at once: they release more than descriptors, and the host may rely on that when
            // it hears of their end.
            self.retired.extend(channel.filter(|channel| matches!(channel, Channel::Exec(_))));
            return;
        };
        self.kept.attached.remove(&serial);
        if let Some(Channel::Exec(mut exec)) = channel
            && exec.key().is_some()
        {
            exec.detach(&mut Context { id, outbox: &mut Outbox::void(), now: self.now, keepers: &self.keepers });
            self.kept.detached.insert(serial, exec);
        }
    }

    /// One turn for each exec without a channel; true when something moved.
    pub(crate) fn run_detached(&mut self) -> bool {
        let mut progress = false;
        let mut void = Outbox::void();
        self.kept.detached.retain(|_, exec| {
            if exec.is_over() {
                return exec.key().is_some();
            }
            let mut ctx = Context { id: 0, outbox: &mut void, now: self.now, keepers: &self.keepers };
            let mut step = exec.read_reports(&mut ctx);
            if !matches!(step, Step::Ended) {
                step = exec.step(&mut ctx);
            }
            progress |= !matches!(step, Step::Waiting);
            !matches!(step, Step::Ended) || exec.key().is_some()
        });
        progress
    }
}

fn no_such_exec() -> Refusal {
    Refusal::new("unknown_key", "there is no exec with this key")
}
