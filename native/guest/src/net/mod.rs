//! The sandbox's network: everything that programs send arrives at listeners of
//! the guest's and goes to the host on channels; the host decides about each.
//!
//! This directory never dials anything outside (there is nothing to dial), decides
//! nothing, and never blocks. Its memory is bounded by windows and counts.

mod accept;
mod connection;
mod dns;
mod frames;
mod names;
mod sink;
mod source;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::time::Instant;

use ak_net::capture::Role;
use ak_wire::MAX_GUEST_CHANNELS;

use crate::outbox::Outbox;
use crate::poller::{EventFlags, Poller, Ready, Token, slot};
use crate::sys::{self, LISTENERS};
use accept::Listener;
use connection::{Connection, Outcome};
use dns::{Listening, Stub};
use names::Names;

/// The credit that all connections together may be granted beyond their first windows.
const GROWTH_BYTES: u32 = 16 << 20;
/// Steps per round, so that many connections do not keep the host's frames waiting.
const STEPS_PER_ROUND: usize = 256;

/// The parts of the guest that the network may use while it works.
pub struct NetContext<'a> {
    pub outbox: &'a mut Outbox,
    pub poller: &'a Poller,
    pub budget: &'a mut Budget,
    pub channels: &'a mut Channels,
    pub now: Instant,
}

pub struct Budget {
    left: u32,
}

impl Budget {
    pub fn take(&mut self, bytes: u32) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    fn give_back(&mut self, bytes: u32) {
        self.left += bytes;
    }
}

/// The channels that the guest opens: their ids, and how many there are.
pub struct Channels {
    last_id: u32,
    open: usize,
    limit: usize,
    is_closed: bool,
}

impl Channels {
    /// The id of a new channel; none when there are as many as there may be.
    pub fn open(&mut self) -> Option<u32> {
        if self.open >= self.limit || self.is_closed {
            return None;
        }
        self.last_id = self.last_id.checked_add(2)?;
        self.open += 1;
        Some(self.last_id)
    }

    pub fn close(&mut self) {
        self.open -= 1;
    }
}

pub struct Net {
    listeners: Vec<Listener>,
    connections: BTreeMap<u32, Connection>,
    /// Connections with something to do, each at most once.
    queue: VecDeque<u32>,
    /// Connections that wait for room on the way to the host.
    starved: Vec<u32>,
    stub: Stub,
    names: Names,
    budget: Budget,
    channels: Channels,
    is_captured: bool,
    inward: usize,
    /// Of a directory of the host's: what lies there is read through the guest.
    pub has_view: bool,
    /// There is no host to ask: connections are refused, names are not known.
    pub is_offline: bool,
}

impl Net {
    pub fn new(sockets: [Option<OwnedFd>; LISTENERS], poller: &Poller) -> std::io::Result<Self> {
        let mut stub = Stub::default();
        let mut listeners = Vec::new();
        let is_captured = sockets.iter().any(Option::is_some);
        for (index, (socket, (role, is_ipv6))) in sockets.into_iter().zip(Role::ALL).enumerate() {
            let Some(socket) = socket else { continue };
            let token = Token { channel: 0, slot: slot::FIRST_LISTENER + index as u8 };
            // Which tells at once of what has arrived before.
            poller.watch(&socket, token, EventFlags::IN)?;
            match role {
                Role::Capture | Role::Proxy => {
                    listeners.push(Listener { socket, is_proxy: role == Role::Proxy, is_ipv6, ready: false, index });
                }
                Role::DnsStream => stub.listeners[usize::from(is_ipv6)] = Some(Listening { socket, ready: false }),
                Role::DnsDatagram => stub.datagrams[usize::from(is_ipv6)] = Some(Listening { socket, ready: false }),
            }
        }
        let mut net = Self {
            listeners,
            connections: BTreeMap::new(),
            queue: VecDeque::new(),
            starved: Vec::new(),
            stub,
            names: Names::default(),
            budget: Budget { left: GROWTH_BYTES },
            channels: Channels { last_id: 0, open: 0, limit: 0, is_closed: false },
            is_captured,
            inward: 0,
            has_view: false,
            is_offline: false,
        };
        net.read_settings();
        Ok(net)
    }

    /// Reads the host name and limits, which a sandbox that is built ahead gets only when it is taken.
    pub fn read_settings(&mut self) {
        self.take_name();
        // Commands' pipes and files need descriptors too.
        self.channels.limit = MAX_GUEST_CHANNELS.min(sys::open_files_limit() as usize / 2);
    }

    /// Questions about it are answered here.
    pub fn take_name(&mut self) {
        if self.is_captured {
            self.stub.hostname = hostname();
        }
    }

    /// The features that the guest announces in its HELLO.
    pub fn features(&self) -> &'static [&'static str] {
        if self.is_captured { &["tcp-in", "call", "tcp-out", "lookup"] } else { &["tcp-in", "call"] }
    }

    pub fn is_idle(&self) -> bool {
        self.connections.is_empty() && self.stub.is_idle()
    }

    /// Connections that the host asked for.
    pub fn inward(&self) -> usize {
        self.inward
    }

    pub fn on_ready(&mut self, ready: &Ready) {
        let Token { channel, slot } = ready.token;
        if slot == slot::DNS_STREAM {
            return self.stub.on_ready(ready);
        }
        if channel != 0 {
            if let Some(connection) = self.connections.get_mut(&channel) {
                connection.on_ready(ready);
                self.wake(channel);
            }
            return;
        }
        let index = usize::from(slot - slot::FIRST_LISTENER);
        match Role::ALL.get(index) {
            Some((Role::DnsStream, is_ipv6)) => mark(&mut self.stub.listeners[usize::from(*is_ipv6)]),
            Some((Role::DnsDatagram, is_ipv6)) => mark(&mut self.stub.datagrams[usize::from(*is_ipv6)]),
            _ => {
                for listener in self.listeners.iter_mut().filter(|listener| listener.index == index) {
                    listener.ready = true;
                }
            }
        }
    }

    /// One turn for everything that has something to do; true when more can be done at once.
    pub fn run(&mut self, outbox: &mut Outbox, poller: &Poller, now: Instant) -> bool {
        if outbox.has_room() {
            for id in std::mem::take(&mut self.starved) {
                if let Some(connection) = self.connections.get_mut(&id) {
                    connection.starved = false;
                }
                self.wake(id);
            }
        }
        let mut progress = false;
        for _ in 0..self.queue.len().min(STEPS_PER_ROUND) {
            let Some(id) = self.queue.pop_front() else { break };
            progress |= self.run_one(id, outbox, poller, now);
        }
        if !outbox.has_room() && !self.is_offline {
            return progress;
        }
        progress |= self.accept(outbox, poller, now);
        let Self { stub, names, budget, channels, .. } = self;
        channels.is_closed = self.is_offline;
        progress |= stub.step(&mut NetContext { outbox, poller, budget, channels, now }, names);
        progress || !self.queue.is_empty()
    }

    fn run_one(&mut self, id: u32, outbox: &mut Outbox, poller: &Poller, now: Instant) -> bool {
        let Self { connections, budget, channels, .. } = self;
        let Some(connection) = connections.get_mut(&id) else { return false };
        connection.queued = false;
        let outcome = connection.step(&mut NetContext { outbox, poller, budget, channels, now }, id);
        self.settle(id, outcome, now)
    }

    /// Applies the outcome of a step; returns true when something moved.
    fn settle(&mut self, id: u32, outcome: Outcome, now: Instant) -> bool {
        match outcome {
            Outcome::Waiting => false,
            Outcome::Starved => {
                if let Some(connection) = self.connections.get_mut(&id)
                    && !std::mem::replace(&mut connection.starved, true)
                {
                    self.starved.push(id);
                }
                false
            }
            Outcome::Progress => {
                self.wake(id);
                true
            }
            Outcome::Over => {
                self.remove(id, now);
                true
            }
        }
    }

    fn remove(&mut self, id: u32, now: Instant) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.budget.give_back(connection.borrowed());
        if connection.is_out() {
            self.channels.close();
        } else {
            self.inward -= 1;
        }
        if let Some(index) = connection.name {
            self.names.disconnect(index, now);
        }
    }

    fn wake(&mut self, id: u32) {
        if let Some(connection) = self.connections.get_mut(&id)
            && !std::mem::replace(&mut connection.queued, true)
        {
            self.queue.push_back(id);
        }
    }

    /// The sandbox is ending: the last word on every channel where it is the guest's.
    pub fn abandon(&mut self, outbox: &mut Outbox, poller: &Poller, now: Instant) {
        let Self { connections, budget, channels, .. } = self;
        for (id, connection) in connections.iter_mut() {
            connection.abandon(&mut NetContext { outbox, poller, budget, channels, now }, *id);
        }
        self.connections.clear();
    }

    /// The host is gone, and with it everything that was carried to it.
    pub fn lose_host(&mut self, poller: &Poller, now: Instant) {
        self.is_offline = true;
        for name in self.connections.values().filter_map(|connection| connection.name) {
            self.names.disconnect(name, now);
        }
        self.abandon(&mut Outbox::void(), poller, now);
        self.queue.clear();
        self.starved.clear();
        self.inward = 0;
        self.budget = Budget { left: GROWTH_BYTES };
        self.channels = Channels { last_id: 0, open: 0, ..self.channels };
        self.stub.lose_host();
    }

    pub fn release_memory(&mut self, now: Instant) {
        self.names.expire(now);
        self.queue.shrink_to_fit();
        self.starved.shrink_to_fit();
    }
}

fn mark(listening: &mut Option<Listening>) {
    if let Some(listening) = listening {
        listening.ready = true;
    }
}

fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().to_ascii_lowercase()
}
