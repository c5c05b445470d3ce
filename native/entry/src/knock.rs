//! The door of a kept container, from both sides: a datagram socket with a name in the container's own network
//! namespace. The guest takes streams from whoever is its own user.

use std::{
    io::{self, IoSlice, Read, Write},
    mem::MaybeUninit,
    net::Shutdown,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    thread,
};

use ak_jail::fault::{During, Outcome};
use rustix::{
    cmsg_space,
    net::{
        AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
        bind, sendmsg_addr, socket_with, sockopt,
    },
};

const NAME: &[u8] = b"agentkernel-door";
/// As the guest's door knows them.
const HOST: u8 = 1;
const STOP: u8 = 2;
const PORTION: usize = 256 << 10;

pub fn open_door() -> Outcome<OwnedFd> {
    let door = datagram()?;
    sockopt::set_socket_passcred(&door, true).during("ask who knocks")?;
    bind(&door, &name()?).during("open the door")?;
    Ok(door)
}

/// Hands the guest a stream and carries it on the standard streams, until either side ends it.
pub fn carry() -> Outcome<()> {
    let (ours, guests) = UnixStream::pair().during("make a stream")?;
    send(&[HOST], Some(&guests))?;
    drop(guests);
    let mut to_guest = ours.try_clone().during("make a stream")?;
    thread::spawn(move || {
        // Its end is the host's: the guest is told in any case.
        let _ = copy(&mut io::stdin().lock(), &mut to_guest);
        let _ = to_guest.shutdown(Shutdown::Write);
    });
    let mut from_guest = ours;
    copy(&mut from_guest, &mut io::stdout().lock()).during("carry the stream")
}

pub fn ask_to_stop(grace_ms: u64) -> Outcome<()> {
    let mut message = vec![STOP];
    message.extend(grace_ms.to_le_bytes());
    send(&message, None)
}

fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut portion = vec![0; PORTION];
    loop {
        match from.read(&mut portion) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                to.write_all(&portion[..count])?;
                to.flush()?;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

fn send(message: &[u8], stream: Option<&UnixStream>) -> Outcome<()> {
    let socket = datagram()?;
    let descriptors = stream.map(|stream| [stream.as_fd()]);
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if let Some(descriptors) = &descriptors {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    sendmsg_addr(&socket, &name()?, &[IoSlice::new(message)], &mut ancillary, SendFlags::NOSIGNAL)
        .during("knock at the guest's door")?;
    Ok(())
}

fn datagram() -> Outcome<OwnedFd> {
    socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None).during("make a socket")
}

fn name() -> Outcome<SocketAddrUnix> {
    SocketAddrUnix::new_abstract_name(NAME).during("name the door")
}
