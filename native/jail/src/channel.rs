//! Talk between the supervisor and the process that builds the sandbox, until that one becomes the guest:
//! length-prefixed JSON over a socket pair, with a descriptor beside a message where needed. The child's end
//! closes by exec, which tells the supervisor that the guest has taken over.

use std::{
    io::{IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    fault::{During, Fault, Outcome},
    sys,
};

/// With one message.
pub const MOST_DESCRIPTORS: usize = 8;

pub struct Channel(OwnedFd);

impl Channel {
    pub fn pair() -> Outcome<(Self, Self)> {
        let (a, b) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).during("socketpair")?;
        Ok((Self(a), Self(b)))
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// The same end, at a number above those that the guest's descriptors will have.
    pub fn above_placed(&self) -> Outcome<Self> {
        Ok(Self(sys::above_placed(&self.0).during("move the channel")?))
    }

    pub fn send<T: Serialize>(&self, message: &T, with: Option<BorrowedFd<'_>>) -> Outcome<()> {
        self.send_all(message, with.as_slice())
    }

    /// With at most `MOST_DESCRIPTORS`.
    pub fn send_all<T: Serialize>(&self, message: &T, with: &[BorrowedFd<'_>]) -> Outcome<()> {
        let body = serde_json::to_vec(message).during("encode a message")?;
        let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
        bytes.extend(body);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !with.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(with)) {
            return Err(Fault::new("internal", "more descriptors than one message carries"));
        }
        let mut sent = 0;
        while sent < bytes.len() {
            let n = sendmsg(&self.0, &[IoSlice::new(&bytes[sent..])], &mut ancillary, SendFlags::NOSIGNAL)
                .during("send a message")?;
            ancillary.clear();
            sent += n;
        }
        Ok(())
    }

    /// The next message, or None when the other side is gone.
    pub fn receive<T: DeserializeOwned>(&self) -> Outcome<Option<(T, Option<OwnedFd>)>> {
        Ok(self.receive_all()?.map(|(message, fds)| (message, fds.into_iter().next())))
    }

    /// The same, with all descriptors that came with it.
    pub fn receive_all<T: DeserializeOwned>(&self) -> Outcome<Option<(T, Vec<OwnedFd>)>> {
        let mut fds = Vec::new();
        let mut head = [0; 4];
        if !self.fill(&mut head, &mut fds)? {
            return Ok(None);
        }
        let mut body = vec![0; u32::from_le_bytes(head) as usize];
        if !self.fill(&mut body, &mut fds)? {
            return Ok(None);
        }
        Ok(Some((serde_json::from_slice(&body).during("decode a message")?, fds)))
    }

    /// The next message; the other side's end is an error.
    pub fn expect<T: DeserializeOwned>(&self) -> Outcome<T> {
        match self.receive()? {
            Some((message, _)) => Ok(message),
            None => Err(Fault::start("the supervisor is gone")),
        }
    }

    fn fill(&self, buffer: &mut [u8], fds: &mut Vec<OwnedFd>) -> Outcome<bool> {
        let mut got = 0;
        while got < buffer.len() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let message = match recvmsg(
                &self.0,
                &mut [IoSliceMut::new(&mut buffer[got..])],
                &mut ancillary,
                RecvFlags::CMSG_CLOEXEC,
            ) {
                Ok(message) => message,
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::CONNRESET) => return Ok(false),
                Err(e) => return Err(e).during("receive a message"),
            };
            for part in ancillary.drain() {
                if let RecvAncillaryMessage::ScmRights(received) = part {
                    fds.extend(received);
                }
            }
            if message.bytes == 0 {
                return Ok(false);
            }
            got += message.bytes;
        }
        Ok(true)
    }

    /// Whether the other side is still there.
    pub fn peer_lives(&self) -> bool {
        let mut poll = [rustix::event::PollFd::new(&self.0, rustix::event::PollFlags::empty())];
        let zero = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        match rustix::event::poll(&mut poll, Some(&zero)) {
            Ok(0) => true,
            _ => !poll[0].revents().intersects(rustix::event::PollFlags::HUP | rustix::event::PollFlags::ERR),
        }
    }
}
