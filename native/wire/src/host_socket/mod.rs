//! Receives host connections as file descriptors (`SCM_RIGHTS`), in a sandbox that is kept or built ahead.
//!
//! Under a supervisor this is one end of its socket pair: the supervisor decides which connections it passes on, and no
//! other process in the sandbox holds the descriptor. A container has no supervisor of ours outside, so the guest binds a
//! datagram socket to an abstract name and accepts messages of its own user only (`SO_PASSCRED`). A process of that user
//! can get nothing from the guest that it does not have already.

pub mod named;

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketType, recvmsg, sockopt};
use rustix::process::geteuid;

pub struct HostSocket {
    pub socket: OwnedFd,
    /// Whether a message may be waiting; `receive` clears it at EAGAIN.
    pub ready: bool,
    /// Bound to a name, so any process in the sandbox can send to it.
    pub is_named: bool,
}

pub enum HostMessage {
    /// A host connected. It replaces the host that was connected before.
    Connection(OwnedFd),
    /// A request to a virtual machine, beside its host's connection. Guests ignore it.
    Request(OwnedFd),
    /// Freeze the virtual machine with its memory saved, until this descriptor is closed. Guests ignore it.
    Hold(OwnedFd),
    /// End all commands, with so much time between SIGTERM and SIGKILL.
    Stop { grace_ms: u64 },
    /// The supervisor has ended.
    Closed,
}

/// Message kinds: the first byte of each.
const HOST: u8 = 1;
const STOP: u8 = 2;
const REQUEST: u8 = 3;
const HOLD: u8 = 4;

impl HostSocket {
    pub fn new(socket: OwnedFd) -> Self {
        let is_named = sockopt::socket_type(&socket) == Ok(SocketType::DGRAM);
        Self { socket, ready: true, is_named }
    }

    /// Returns the next message, if one is waiting.
    pub fn receive(&mut self) -> Option<HostMessage> {
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
                Err(_) => return Some(HostMessage::Closed),
            };
            let mut host = None;
            let mut is_known = !self.is_named;
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
                (None, _) if self.is_named => {}
                (None, _) => return Some(HostMessage::Closed),
                (Some((&HOST, _)), Some(host)) => return Some(HostMessage::Connection(host)),
                (Some((&REQUEST, _)), Some(requester)) => return Some(HostMessage::Request(requester)),
                (Some((&HOLD, _)), Some(requester)) => return Some(HostMessage::Hold(requester)),
                (Some((&STOP, rest)), _) => {
                    let grace_ms = rest.try_into().map(u64::from_le_bytes).unwrap_or(0);
                    return Some(HostMessage::Stop { grace_ms });
                }
                // The kernel drops the descriptor when the table of descriptors is full; the host then sees its connection closed.
                _ => {}
            }
        }
        None
    }
}

/// Waits for the only host that a sandbox built ahead will have. The socket must block.
pub fn await_host(socket: OwnedFd) -> std::io::Result<OwnedFd> {
    let mut host_socket = HostSocket::new(socket);
    loop {
        match host_socket.receive() {
            Some(HostMessage::Connection(stream)) => return Ok(stream),
            Some(HostMessage::Stop { .. } | HostMessage::Request(_) | HostMessage::Hold(_)) => {}
            Some(HostMessage::Closed) | None => return Err(Errno::CONNRESET.into()),
        }
    }
}
