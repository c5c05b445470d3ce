//! The door of a kept sandbox, or of one that is built ahead: a socket pair to the supervisor, through which hosts' connections come in. The supervisor
//! decides who is let through; nobody in the sandbox holds this descriptor.
//!
//! A container has no supervisor of ours outside. There the door is a datagram socket with a name, and whoever knocks is
//! let in if it is the guest's own user: the engine starts such a process for the host, and to anybody else of that
//! user the guest can give nothing that it does not have already.

pub mod named;

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketType, recvmsg, sockopt};
use rustix::process::geteuid;

pub struct Door {
    pub socket: OwnedFd,
    pub ready: bool,
    /// It has a name, so anybody in the sandbox can knock.
    pub is_open: bool,
}

pub enum Knock {
    /// A host; whoever was connected before is not any more.
    Host(OwnedFd),
    /// Somebody who asks something of a machine, beside its host. No guest has use for one.
    Errand(OwnedFd),
    /// Somebody who wants a machine held still, with its memory saved, for as long as this lasts. As above.
    Hold(OwnedFd),
    /// End everything, with so much time.
    Stop { grace_ms: u64 },
    /// The supervisor is gone.
    Closed,
}

/// The kinds of messages, their first byte.
const HOST: u8 = 1;
const STOP: u8 = 2;
const ERRAND: u8 = 3;
const HOLD: u8 = 4;

impl Door {
    pub fn new(socket: OwnedFd) -> Self {
        let is_open = sockopt::socket_type(&socket) == Ok(SocketType::DGRAM);
        Self { socket, ready: true, is_open }
    }

    /// The next message, if there is one.
    pub fn answer(&mut self) -> Option<Knock> {
        while self.ready {
            let mut message = [0; 9];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1), ScmCredentials(1))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let received =
                recvmsg(&self.socket, &mut [IoSliceMut::new(&mut message)], &mut ancillary, RecvFlags::CMSG_CLOEXEC);
            let length = match received {
                Ok(received) => received.bytes,
                Err(Errno::AGAIN) => {
                    self.ready = false;
                    return None;
                }
                Err(Errno::INTR) => continue,
                Err(_) => return Some(Knock::Closed),
            };
            let mut host = None;
            let mut is_known = !self.is_open;
            for part in ancillary.drain() {
                match part {
                    RecvAncillaryMessage::ScmRights(mut descriptors) => host = descriptors.next(),
                    RecvAncillaryMessage::ScmCredentials(who) => is_known |= who.uid == geteuid(),
                    _ => {}
                }
            }
            if !is_known {
                continue;
            }
            match (message[..length].split_first(), host) {
                (None, _) if self.is_open => {}
                (None, _) => return Some(Knock::Closed),
                (Some((&HOST, _)), Some(host)) => return Some(Knock::Host(host)),
                (Some((&ERRAND, _)), Some(asker)) => return Some(Knock::Errand(asker)),
                (Some((&HOLD, _)), Some(asker)) => return Some(Knock::Hold(asker)),
                (Some((&STOP, rest)), _) => {
                    let grace_ms = rest.try_into().map(u64::from_le_bytes).unwrap_or(0);
                    return Some(Knock::Stop { grace_ms });
                }
                // Without its descriptor (there is no room for one) the host finds its connection closed.
                _ => {}
            }
        }
        None
    }
}

/// Of a sandbox that is built before it has a host: waits for the only one that it will have. The door must block.
pub fn await_host(socket: OwnedFd) -> std::io::Result<OwnedFd> {
    let mut door = Door::new(socket);
    loop {
        match door.answer() {
            Some(Knock::Host(stream)) => return Ok(stream),
            Some(Knock::Stop { .. } | Knock::Errand(_) | Knock::Hold(_)) => {}
            Some(Knock::Closed) | None => return Err(Errno::CONNRESET.into()),
        }
    }
}
