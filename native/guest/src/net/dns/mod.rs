//! The stub resolver. Programs query it by UDP or TCP; it asks the host which families a name has, and answers with the
//! name's synthetic addresses.
//!
//! It resolves nothing itself and asks only the host. A name that the host does not allow, or does not know, does not
//! exist.

#[cfg(test)]
mod fuzzed;
mod local;
mod message;
mod stream;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use ak_net::capture::address::{synthetic_ipv4, synthetic_ipv6};
use ak_wire::FrameType;
use ak_wire::payload::{Failed, NameFamilies, OpenByGuest};
use rustix::net::{RecvFlags, SendFlags, SocketAddrAny, SocketFlags, accept_with, recvfrom, sendto};

use super::NetContext;
use super::names::Names;
use crate::poller::{EventFlags, Ready, Token, slot};
use message::{Code, Data, Query, kind};
use stream::DnsStream;

/// Queries that wait for the host, and clients that ask over TCP, at once.
const MAX_WAITING: usize = 1024;
const MAX_STREAMS: usize = 64;
/// Datagrams and connections per turn, so that a talkative program does not starve others.
const PER_TURN: usize = 64;
const MAX_DATAGRAM: usize = 4096;

/// A socket of the stub, and whether something may wait there.
pub struct Listening {
    pub socket: OwnedFd,
    pub ready: bool,
}

enum Asker {
    Datagram { socket: usize, from: SocketAddrAny },
    Stream(u32),
}

struct Waiting {
    query: Query,
    asker: Asker,
}

#[derive(Default)]
pub struct Stub {
    pub datagrams: [Option<Listening>; 2],
    pub listeners: [Option<Listening>; 2],
    pub hostname: String,
    streams: BTreeMap<u32, DnsStream>,
    last_stream: u32,
    /// By channel. Without a name the host has answered, and only the channel's end is awaited.
    lookups: BTreeMap<u32, (Option<String>, Vec<Waiting>)>,
    /// The channel on which a name is being asked for.
    asked: BTreeMap<String, u32>,
    waiting: usize,
}

impl Stub {
    pub fn is_idle(&self) -> bool {
        self.lookups.is_empty() && self.streams.is_empty()
    }

    pub fn on_ready(&mut self, ready: &Ready) {
        if let Some(stream) = self.streams.get_mut(&ready.token.channel) {
            stream.on_ready(ready);
        }
    }

    /// True when something is left to do at once.
    pub fn step(&mut self, context: &mut NetContext, names: &mut Names) -> bool {
        let mut more = false;
        for index in 0..self.datagrams.len() {
            more |= self.read_datagrams(index, context, names);
        }
        for index in 0..self.listeners.len() {
            more |= self.accept(index, context);
        }
        let streams: Vec<u32> = self.streams.keys().copied().collect();
        for id in streams {
            if !self.serve_stream(id, context, names) {
                self.streams.remove(&id);
            }
        }
        more
    }

    fn read_datagrams(&mut self, index: usize, context: &mut NetContext, names: &mut Names) -> bool {
        let mut buffer = [0; MAX_DATAGRAM];
        for _ in 0..PER_TURN {
            let Some(listening) = self.datagrams[index].as_mut().filter(|listening| listening.ready) else {
                return false;
            };
            // Errors of earlier answers arrive here too; only an empty socket ends the round.
            match recvfrom(&listening.socket, &mut buffer, RecvFlags::TRUNC) {
                Err(rustix::io::Errno::AGAIN) => listening.ready = false,
                Ok((_, length, Some(from))) if length <= MAX_DATAGRAM => {
                    let asker = Asker::Datagram { socket: index, from };
                    self.ask(&buffer[..length], asker, context, names);
                }
                _ => {}
            }
        }
        true
    }

    fn accept(&mut self, index: usize, context: &NetContext) -> bool {
        for _ in 0..PER_TURN {
            let Some(listening) = self.listeners[index].as_mut().filter(|listening| listening.ready) else {
                return false;
            };
            let socket = match accept_with(&listening.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok(socket) => socket,
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::MFILE | rustix::io::Errno::NFILE) => {
                    listening.ready = false;
                    return false;
                }
                Err(_) => continue,
            };
            self.last_stream = self.last_stream.wrapping_add(1);
            let token = Token { channel: self.last_stream, slot: slot::DNS_STREAM };
            if context.poller.watch(&socket, token, EventFlags::IN | EventFlags::OUT).is_err() {
                continue;
            }
            // The oldest makes room: a client that is still interested connects again.
            if self.streams.len() >= MAX_STREAMS {
                self.streams.pop_first();
            }
            self.streams.insert(self.last_stream, DnsStream::new(socket));
        }
        true
    }

    fn serve_stream(&mut self, id: u32, context: &mut NetContext, names: &mut Names) -> bool {
        for _ in 0..PER_TURN {
            let Some(stream) = self.streams.get_mut(&id) else { return false };
            match stream.question() {
                Ok(Some(question)) => self.ask(&question, Asker::Stream(id), context, names),
                Ok(None) => break,
                Err(_) => return false,
            }
        }
        self.streams.get_mut(&id).is_some_and(|stream| stream.flush().unwrap_or(false))
    }

    fn ask(&mut self, bytes: &[u8], asker: Asker, context: &mut NetContext, names: &mut Names) {
        let Some(query) = Query::parse(bytes) else { return };
        if let Some(answer) = self.answer_here(&query, names) {
            return self.send(&asker, &answer);
        }
        let Some(name) = query.name.clone() else { return };
        let id = match self.asked.get(&name).copied() {
            _ if self.waiting >= MAX_WAITING => None,
            Some(id) => Some(id),
            None => context.channels.open(),
        };
        let Some(id) = id else {
            return self.send(&asker, &query.answer(Code::ServerFailure, None));
        };
        if let Asker::Stream(stream) = asker
            && let Some(stream) = self.streams.get_mut(&stream)
        {
            stream.unanswered += 1;
        }
        self.waiting += 1;
        let (_, waiting) = self.lookups.entry(id).or_insert_with(|| {
            context.outbox.json(FrameType::Open, id, &OpenByGuest::Lookup { name: name.clone() });
            self.asked.insert(name.clone(), id);
            (Some(name), Vec::new())
        });
        waiting.push(Waiting { query, asker });
    }

    /// Answers queries that need no request to the host.
    fn answer_here(&self, query: &Query, names: &Names) -> Option<Vec<u8>> {
        if let Some(code) = query.unserved() {
            return Some(query.answer(code, None));
        }
        let Some(name) = &query.name else { return Some(query.answer(Code::NoSuchName, None)) };
        if local::is_own(name, &self.hostname) {
            return Some(query.answer(Code::Fine, local::own_address(query.kind).as_ref()));
        }
        match query.kind {
            kind::PTR => Some(local::pointer(query, names)),
            kind::A | kind::AAAA if !name.is_empty() => None,
            // There may be such a name, and it has no such record.
            _ => Some(query.answer(Code::Fine, None)),
        }
    }

    /// The host knows the name. False if it was not asked.
    pub fn on_opened(&mut self, id: u32, families: NameFamilies, context: &NetContext, names: &mut Names) -> bool {
        let Some((name, waiting)) = self.answered(id) else { return false };
        let index = names.assign(&name, context.now);
        for Waiting { query, asker } in waiting {
            let data = index.and_then(|index| match query.kind {
                kind::A if families.ipv4 => Some(Data::Ipv4(synthetic_ipv4(index))),
                kind::AAAA if families.ipv6 => Some(Data::Ipv6(synthetic_ipv6(index))),
                _ => None,
            });
            let code = if index.is_some() { Code::Fine } else { Code::ServerFailure };
            let answer = query.answer(code, data.as_ref());
            self.deliver(&asker, &answer);
        }
        true
    }

    /// The host does not know the name, does not allow it, or could not find out.
    pub fn on_failed(&mut self, id: u32, failed: &Failed, context: &mut NetContext) -> bool {
        let Some((_, waiting)) = self.answered(id) else { return false };
        self.lookups.remove(&id);
        context.channels.close();
        let code = match failed.code.as_str() {
            "denied" | "not_found" => Code::NoSuchName,
            _ => Code::ServerFailure,
        };
        for Waiting { query, asker } in waiting {
            let answer = query.answer(code, None);
            self.deliver(&asker, &answer);
        }
        true
    }

    /// False if the host had not answered before.
    pub fn on_close(&mut self, id: u32, context: &mut NetContext) -> bool {
        context.channels.close();
        matches!(self.lookups.remove(&id), Some((None, _)))
    }

    /// Drops requests that the lost host will not answer.
    pub fn lose_host(&mut self) {
        self.asked.clear();
        self.waiting = 0;
        for Waiting { query, asker } in std::mem::take(&mut self.lookups).into_values().flat_map(|(_, waiting)| waiting)
        {
            let answer = query.answer(Code::ServerFailure, None);
            self.deliver(&asker, &answer);
        }
    }

    pub fn has_lookup(&self, id: u32) -> bool {
        self.lookups.contains_key(&id)
    }

    fn answered(&mut self, id: u32) -> Option<(String, Vec<Waiting>)> {
        let (name, waiting) = self.lookups.get_mut(&id)?;
        let name = name.take()?;
        let waiting = std::mem::take(waiting);
        self.asked.remove(&name);
        self.waiting -= waiting.len();
        Some((name, waiting))
    }

    fn deliver(&mut self, asker: &Asker, answer: &[u8]) {
        if let Asker::Stream(id) = asker
            && let Some(stream) = self.streams.get_mut(id)
        {
            stream.unanswered -= 1;
        }
        self.send(asker, answer);
        if let Asker::Stream(id) = asker
            && let Some(stream) = self.streams.get_mut(id)
            && !stream.flush().unwrap_or(false)
        {
            self.streams.remove(id);
        }
    }

    fn send(&mut self, asker: &Asker, answer: &[u8]) {
        match asker {
            Asker::Datagram { socket, from } => {
                if let Some(listening) = &self.datagrams[*socket] {
                    // A client that is gone, or whose queue is full, asks again or does not.
                    let _ = sendto(&listening.socket, answer, SendFlags::empty(), from);
                }
            }
            Asker::Stream(id) => {
                if let Some(stream) = self.streams.get_mut(id) {
                    stream.answer(answer);
                }
            }
        }
    }
}
