//! A host socket with an abstract name in the sandbox's network namespace, for guests without a supervisor of ours.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
    sendmsg_addr, socket_with, sockopt,
};

use super::{HOST, STOP};

const NAME: &[u8] = b"agentkernel-host";

/// Binds the name; called for the guest.
pub fn bind() -> io::Result<OwnedFd> {
    let socket = datagram()?;
    sockopt::set_socket_passcred(&socket, true)?;
    rustix::net::bind(&socket, &name()?)?;
    Ok(socket)
}

/// Passes a host's connection to the guest.
pub fn send_connection(stream: BorrowedFd<'_>) -> io::Result<()> {
    send(&[HOST], Some(stream))
}

/// Asks the guest to end all commands.
pub fn send_stop(grace_ms: u64) -> io::Result<()> {
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
