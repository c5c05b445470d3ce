//! The guest's side: it answers the kernel from what the host has told, asks the host for the rest, and for what will
//! probably be asked next. One thread; nothing here waits for anything but the kernel's and the host's next word.

mod abi;
mod ahead;
mod asking;
mod contents;
mod mount;
mod nodes;

use std::{
    collections::HashMap,
    io,
    os::fd::{AsFd, OwnedFd},
    time::{SystemTime, UNIX_EPOCH},
};

pub use abi::Owner;
use abi::{Call, ROOT};
use ahead::Ahead;
use contents::{Contents, Part, part_of};
pub use mount::{mount, open_device};
use nodes::{Below, Nodes};
use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::{Errno, read, write},
};

use crate::message::MAX_PART;

/// Calls of the kernel's that are taken in one turn.
const CALLS_PER_TURN: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Subject {
    Directory(u64),
    Part(Part),
}

/// A call that waits for the host.
enum Waiter {
    Lookup { unique: u64, parent: u64, name: Box<[u8]> },
    List { unique: u64, node: u64, offset: u64, size: u32, is_plus: bool },
    Read { unique: u64, node: u64, offset: u64, size: u32 },
}

impl Waiter {
    fn unique(&self) -> u64 {
        match self {
            Self::Lookup { unique, .. } | Self::List { unique, .. } | Self::Read { unique, .. } => *unique,
        }
    }
}

struct Asked {
    subject: Subject,
    is_ahead: bool,
    /// As far as they have come.
    entries: Vec<u8>,
}

pub struct View {
    device: OwnedFd,
    stream: OwnedFd,
    owner: Owner,
    nodes: Nodes,
    contents: Contents,
    ahead: Ahead,
    asked: HashMap<u32, Asked>,
    /// What was asked for, and who waits for it.
    waiting: HashMap<Subject, Vec<Waiter>>,
    last_id: u32,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    /// The host is gone: what it has told is all there is.
    is_cut: bool,
}

impl View {
    /// `device` belongs to a mount, and `stream` leads to the host.
    pub fn new(device: OwnedFd, stream: OwnedFd, owner: Owner) -> io::Result<Self> {
        fcntl_setfl(&stream, fcntl_getfl(&stream)? | OFlags::NONBLOCK)?;
        let mut nodes = Nodes::new();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs() as i64);
        if let Some(root) = nodes.get_mut(ROOT) {
            (root.attributes.modified, root.attributes.changed) = ((now, 0), (now, 0));
        }
        Ok(Self {
            device,
            stream,
            owner,
            nodes,
            contents: Contents::default(),
            ahead: Ahead::default(),
            asked: HashMap::new(),
            waiting: HashMap::new(),
            last_id: 0,
            outgoing: Vec::new(),
            incoming: Vec::new(),
            is_cut: false,
        })
    }

    /// Serves until the mount is gone.
    pub fn serve(mut self) -> io::Result<()> {
        let mut buffer = vec![0; abi::BUFFER_BYTES.max(MAX_PART)];
        loop {
            self.wait()?;
            for _ in 0..CALLS_PER_TURN {
                match read(&self.device, &mut buffer) {
                    Ok(length) => self.take_call(&buffer[..length])?,
                    Err(Errno::AGAIN) => break,
                    // The call was given up meanwhile.
                    Err(Errno::NOENT | Errno::INTR) => {}
                    Err(Errno::NODEV) => return Ok(()),
                    Err(errno) => return Err(errno.into()),
                }
            }
            self.hear_host(&mut buffer)?;
            self.ask_ahead();
            self.tell_host();
        }
    }

    fn wait(&self) -> io::Result<()> {
        let output = if self.outgoing.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        let device = PollFd::new(&self.device, PollFlags::IN);
        let stream = PollFd::new(&self.stream, PollFlags::IN | output);
        let all = &mut [device, stream];
        // One that is closed is always ready.
        let watched = if self.is_cut { &mut all[..1] } else { &mut all[..] };
        match poll(watched, None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn take_call(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(call) = Call::parse(bytes) else { return Ok(()) };
        let unique = call.unique;
        match call.opcode {
            abi::INIT => match abi::init(&call) {
                Some(body) => self.reply(unique, &body),
                None => return Err(io::Error::other("this kernel's FUSE is too old")),
            },
            abi::LOOKUP => self.look_up(Waiter::Lookup { unique, parent: call.node, name: call.name().into() }),
            abi::GETATTR => match self.nodes.get_mut(call.node) {
                Some(node) => {
                    node.is_stale = false;
                    let body = abi::attributes(&node.attributes, self.owner);
                    self.reply(unique, &body);
                }
                None => self.fail(unique, Errno::STALE),
            },
            abi::READLINK => match self.nodes.get(call.node).map(|node| &node.below) {
                Some(Below::Target(target)) => self.reply(unique, target),
                _ => self.fail(unique, Errno::INVAL),
            },
            abi::READ => self.on_range(&call, |offset, size| Waiter::Read { unique, node: call.node, offset, size }),
            abi::READDIR | abi::READDIRPLUS => {
                let is_plus = call.opcode == abi::READDIRPLUS;
                self.on_range(&call, |offset, size| Waiter::List { unique, node: call.node, offset, size, is_plus });
            }
            abi::STATFS => self.reply(unique, &abi::statfs()),
            abi::RELEASE | abi::RELEASEDIR | abi::DESTROY => self.reply(unique, &[]),
            abi::INTERRUPT => self.give_up(call.body),
            abi::FORGET | abi::BATCH_FORGET => {}
            // With NOSYS the kernel asks no more.
            abi::OPEN | abi::OPENDIR => self.fail(unique, Errno::NOSYS),
            opcode if abi::WRITES.contains(&opcode) => self.fail(unique, Errno::ROFS),
            _ => self.fail(unique, Errno::NOSYS),
        }
        Ok(())
    }

    fn on_range(&mut self, call: &Call<'_>, waiter: impl FnOnce(u64, u32) -> Waiter) {
        match call.range() {
            Some((offset, size)) => self.look_up(waiter(offset, size)),
            None => self.fail(call.unique, Errno::INVAL),
        }
    }

    /// Answers a call, or has it wait.
    fn look_up(&mut self, waiter: Waiter) {
        match self.answer(&waiter) {
            Ok(None) => {}
            Ok(Some(_)) if self.is_cut => self.fail(waiter.unique(), Errno::IO),
            Ok(Some(missing)) => {
                self.ahead.misses(missing);
                self.ask(missing, false);
                self.waiting.entry(missing).or_default().push(waiter);
            }
            Err(errno) => self.fail(waiter.unique(), errno),
        }
    }

    /// What is not known that would have to be, if anything.
    fn answer(&mut self, waiter: &Waiter) -> Result<Option<Subject>, Errno> {
        match *waiter {
            Waiter::Lookup { unique, parent, ref name } => {
                let Some(children) = self.children(parent)? else { return Ok(Some(Subject::Directory(parent))) };
                let child = self.nodes.position(children, name).map(|at| children[at]);
                let body = match child.and_then(|child| Some((child, self.nodes.get(child)?))) {
                    None => abi::no_entry(),
                    Some((child, node)) => {
                        let mut body = Vec::with_capacity(128);
                        abi::entry(child, &node.attributes, self.owner, &mut body);
                        body
                    }
                };
                self.reply(unique, &body);
            }
            Waiter::List { unique, node, offset, size, is_plus } => {
                let Some(children) = self.children(node)? else { return Ok(Some(Subject::Directory(node))) };
                let body = self.listing(node, children, offset, size as usize, is_plus);
                self.reply(unique, &body);
            }
            Waiter::Read { unique, node, offset, size } => {
                let found = self.nodes.get(node).filter(|found| !found.is_stale).ok_or(Errno::STALE)?;
                let left = found.attributes.size.saturating_sub(offset);
                let size = left.min(u64::from(size).min(MAX_PART as u64)) as usize;
                if offset == 0 {
                    self.ahead.reads(node, &self.nodes);
                }
                match self.contents.take(node, offset, size) {
                    Some(bytes) => self.reply(unique, &bytes),
                    None => return Ok(Some(self.missing(node, offset, size))),
                }
            }
        }
        Ok(None)
    }

    /// None where they are not known.
    fn children(&self, directory: u64) -> Result<Option<&[u64]>, Errno> {
        let node = self.nodes.get(directory).ok_or(Errno::STALE)?;
        if !abi::is_directory(&node.attributes) {
            return Err(Errno::NOTDIR);
        }
        Ok(match &node.below {
            Below::Known(children) => Some(children),
            _ => None,
        })
    }

    fn missing(&mut self, node: u64, offset: u64, size: usize) -> Subject {
        let parts = part_of(offset)..=part_of(offset + size.max(1) as u64 - 1);
        let missing: Vec<u64> = parts.filter(|part| !self.contents.has((node, *part))).collect();
        for part in missing.iter().skip(1) {
            self.ask(Subject::Part((node, *part)), false);
        }
        Subject::Part((node, missing.first().copied().unwrap_or_default()))
    }

    fn listing(&self, node: u64, children: &[u64], offset: u64, room: usize, is_plus: bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(room.min(MAX_PART));
        let parent = self.nodes.get(node).map_or(ROOT, |node| node.parent);
        let own: [(&[u8], u64); 2] = [(b".", node), (b"..", parent)];
        let named = children.iter().map(|child| (self.nodes.name(*child), *child));
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        for (index, (name, child)) in own.into_iter().chain(named).enumerate().skip(from) {
            let Some(found) = self.nodes.get(child) else { break };
            let entry = abi::Listed { name, node: child, attributes: &found.attributes, next: index as u64 + 1 };
            if !abi::listed(&entry, is_plus.then_some(self.owner), room, &mut out) {
                break;
            }
        }
        out
    }

    /// A call that whoever made it does not wait for any more.
    fn give_up(&mut self, body: &[u8]) {
        let Some(unique) = body.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes)) else { return };
        let mut is_there = false;
        for waiters in self.waiting.values_mut() {
            let before = waiters.len();
            waiters.retain(|waiter| waiter.unique() != unique);
            is_there |= waiters.len() < before;
        }
        if is_there {
            self.fail(unique, Errno::INTR);
        }
    }

    fn reply(&self, unique: u64, body: &[u8]) {
        self.tell_kernel(&abi::reply(unique, body));
    }

    fn fail(&self, unique: u64, errno: Errno) {
        self.tell_kernel(&abi::failure(unique, errno.raw_os_error()));
    }

    fn fail_all(&self, waiters: Vec<Waiter>, errno: Errno) {
        waiters.iter().for_each(|waiter| self.fail(waiter.unique(), errno));
    }

    /// It may have given the call up, or the inode.
    fn tell_kernel(&self, bytes: &[u8]) {
        let _ = write(self.device.as_fd(), bytes);
    }
}
