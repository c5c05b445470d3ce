//! Connections to the supervisor. None of them can hold it up: nothing here waits, and who does not read is dropped.

use std::os::fd::{AsFd, OwnedFd};

use rustix::{
    event::{PollFd, PollFlags},
    fs::{Mode, chmodat},
    io::{Errno, read, write},
    net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
        sockopt::socket_peercred,
    },
    process::geteuid,
};
use serde::Serialize;

use super::{
    folder::{CONTROL, StateFolder},
    orders::{Answer, Order},
};
use crate::{
    control::End,
    fault::{During, Fault, Outcome},
};

/// At once; beyond that the oldest one that is not the owner has to go.
const MAX_CLIENTS: usize = 64;
const MAX_LINE: usize = 512;
const BACKLOG: i32 = 64;

pub struct Client {
    pub fd: OwnedFd,
    line: Vec<u8>,
    pub is_owner: bool,
    /// Is told when the sandbox is gone.
    pub awaits_end: bool,
    is_gone: bool,
}

pub struct Clients {
    listener: OwnedFd,
    pub all: Vec<Client>,
}

impl Clients {
    pub fn listen(folder: &StateFolder) -> Outcome<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener =
            socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).during("make the control socket")?;
        let address = SocketAddrUnix::new(folder.short_path(CONTROL)).during("name the control socket")?;
        bind(&listener, &address).during("bind the control socket")?;
        chmodat(folder.as_fd(), CONTROL, Mode::from_raw_mode(0o600), rustix::fs::AtFlags::empty())
            .during("close the control socket to others")?;
        listen(&listener, BACKLOG).during("listen on the control socket")?;
        Ok(Self { listener, all: Vec::new() })
    }

    pub fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        let clients = self.all.iter().map(|client| &client.fd);
        std::iter::once(&self.listener).chain(clients).map(|fd| PollFd::new(fd, PollFlags::IN))
    }

    /// Takes whoever has knocked. Others than the owner of the folder, and root, are turned away.
    pub fn accept(&mut self) {
        while let Ok(fd) = accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            let is_allowed = socket_peercred(&fd).is_ok_and(|peer| peer.uid == geteuid() || peer.uid.is_root());
            if !is_allowed {
                continue;
            }
            if self.all.len() >= MAX_CLIENTS
                && let Some(oldest) = self.all.iter().position(|client| !client.is_owner)
            {
                self.all.remove(oldest);
            }
            self.all.push(Client { fd, line: Vec::new(), is_owner: false, awaits_end: false, is_gone: false });
        }
    }

    pub fn drop_gone(&mut self) {
        self.all.retain(|client| !client.is_gone);
    }

    /// Makes one client the owner, and tells the one before.
    pub fn give_to(&mut self, index: usize) {
        for (at, client) in self.all.iter_mut().enumerate() {
            if client.is_owner && at != index {
                client.tell(&Answer::Replaced);
                client.is_gone = true;
            }
            client.is_owner = at == index;
        }
    }

    pub fn tell_end(&mut self, end: &End) {
        self.tell_concerned(&Answer::Ended(end));
    }

    /// The sandbox is gone, but its changes could not be carried over, or what was made for it not be undone.
    pub fn tell_failure(&mut self, fault: &Fault) {
        self.tell_concerned(&Answer::Failed(fault));
    }

    fn tell_concerned(&mut self, answer: &Answer<'_>) {
        for client in self.all.iter_mut().filter(|client| client.is_owner || client.awaits_end) {
            client.tell(answer);
        }
    }
}

impl Client {
    /// The next whole order. Byte by byte, because what follows the order for a stream is the guest's.
    pub fn order(&mut self) -> Option<Outcome<Order>> {
        loop {
            let mut byte = [0];
            match read(&self.fd, &mut byte) {
                Ok(1) if byte[0] == b'\n' => {
                    let line = std::mem::take(&mut self.line);
                    let order = serde_json::from_slice(&line);
                    return Some(order.map_err(|e| Fault::new("internal", format!("an order to the supervisor: {e}"))));
                }
                Ok(1) if self.line.len() < MAX_LINE => self.line.push(byte[0]),
                Err(Errno::AGAIN) => return None,
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => {
                    self.is_gone = true;
                    return None;
                }
            }
        }
    }

    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    pub fn drop_later(&mut self) {
        self.is_gone = true;
    }

    pub fn tell(&mut self, answer: &impl Serialize) {
        let mut line = serde_json::to_vec(answer).unwrap_or_default();
        line.push(b'\n');
        // A line is far smaller than what a socket holds: one that does not fit is not being read.
        if write(self.fd.as_fd(), &line).ok() != Some(line.len()) {
            self.is_gone = true;
        }
    }
}
