//! The door of a guest that has no supervisor of ours outside: a datagram socket with a name in the sandbox's own network
//! namespace. The guest takes streams from whoever is its own user.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind,
    sendmsg_addr, socket_with, sockopt,
};

use crate::{HOST, STOP};

const NAME: &[u8] = b"agentkernel-door";

/// The guest's side.
pub fn open() -> io::Result<OwnedFd> {
    let door = datagram()?;
    sockopt::set_socket_passcred(&door, true)?;
    bind(&door, &name()?)?;
    Ok(door)
}

/// Hands the guest a host's stream.
pub fn let_in(stream: BorrowedFd<'_>) -> io::Result<()> {
    send(&[HOST], Some(stream))
}

pub fn ask_to_stop(grace_ms: u64) -> io::Result<()> {
    let mut message = vec![STOP];
    message.extend(grace_ms.to_le_bytes());
    send(&message, None)
}

fn send(message: &[u8], stream: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let socket = datagram()?;
    let descriptors = stream.map(|stream| [stream]);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if let Some(descriptors) = &descriptors {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    sendmsg_addr(&socket, &name()?, &[IoSlice::new(message)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn datagram() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?)
}

fn name() -> io::Result<SocketAddrUnix> {
    Ok(SocketAddrUnix::new_abstract_name(NAME)?)
}
