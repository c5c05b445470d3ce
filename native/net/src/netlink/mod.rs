//! Just enough netlink to set up a network namespace without any program: builds messages, sends a batch, reads the
//! kernel's answers. It touches only the network namespace of the calling process, and knows nothing of what the
//! rules are for.

pub mod nft;
pub mod route;

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

const HEADER_LENGTH: usize = 16;
/// Room for an answer, which may repeat the message that it is about; and for a part of a list.
const ANSWER_BYTES: usize = 4096;
const LIST_BYTES: usize = 32 * 1024;
const KIND_ERROR: u16 = libc::NLMSG_ERROR as u16;
const KIND_DONE: u16 = libc::NLMSG_DONE as u16;
const REQUEST: u16 = libc::NLM_F_REQUEST as u16;
/// In the lower byte of the flags, which comes first or last.
const ACK: u8 = libc::NLM_F_ACK as u8;
const FLAGS_AT: usize = if cfg!(target_endian = "little") { 6 } else { 7 };
pub const CREATE: u16 = libc::NLM_F_CREATE as u16;
pub const DUMP: u16 = libc::NLM_F_DUMP as u16;

/// Messages that are sent together.
#[derive(Default)]
pub struct Batch {
    pub(crate) bytes: Vec<u8>,
    sequence: u32,
    last: usize,
}

impl Batch {
    pub fn message(&mut self, kind: u16, flags: u16, fill: impl FnOnce(&mut Body)) {
        let start = self.bytes.len();
        self.sequence += 1;
        self.last = start;
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(&(flags | REQUEST).to_ne_bytes());
        self.bytes.extend_from_slice(&self.sequence.to_ne_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        let mut body = Body(std::mem::take(&mut self.bytes));
        fill(&mut body);
        self.bytes = body.0;
        let length = (self.bytes.len() - start) as u32;
        self.bytes[start..start + 4].copy_from_slice(&length.to_ne_bytes());
        pad(&mut self.bytes);
    }

    /// The kernel answers to every message that it refuses, and to the one that was added last. It answers in their
    /// order, so that with this answer all of them are settled.
    pub fn ask_for_an_answer(&mut self) {
        if let Some(flags) = self.bytes.get_mut(self.last + FLAGS_AT) {
            *flags |= ACK;
        }
    }
}

/// The inside of one message: a fixed header, then attributes.
pub struct Body(Vec<u8>);

impl Body {
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        self.wrap(kind, |body| {
            body.raw(value);
        })
    }

    /// A text attribute, with the zero byte that the kernel expects.
    pub fn text(&mut self, kind: u16, value: &str) -> &mut Self {
        self.wrap(kind, |body| {
            body.raw(value.as_bytes()).raw(&[0]);
        })
    }

    pub fn nested(&mut self, kind: u16, fill: impl FnOnce(&mut Body)) -> &mut Self {
        self.wrap(kind | libc::NLA_F_NESTED as u16, fill)
    }

    fn wrap(&mut self, kind: u16, fill: impl FnOnce(&mut Body)) -> &mut Self {
        let start = self.0.len();
        self.0.extend_from_slice(&[0; 2]);
        self.0.extend_from_slice(&kind.to_ne_bytes());
        fill(self);
        let length = (self.0.len() - start) as u16;
        self.0[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        pad(&mut self.0);
        self
    }
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

pub struct Socket(OwnedFd);

impl Socket {
    pub fn open(protocol: Option<Protocol>) -> io::Result<Socket> {
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(Duration::from_secs(1)))?;
        Ok(Socket(socket))
    }

    /// Sends a batch that asks for an answer and waits for it.
    pub fn apply(&self, batch: &Batch) -> io::Result<()> {
        send(&self.0, &batch.bytes, SendFlags::empty())?;
        let mut room = [0; ANSWER_BYTES];
        loop {
            let answered = messages(self.receive(&mut room)?).find(|(kind, _)| *kind == KIND_ERROR);
            if let Some((_, body)) = answered {
                return error_of(body);
            }
        }
    }

    /// Sends one dump request and collects the bodies of all answers.
    pub fn dump(&self, batch: &Batch) -> io::Result<Vec<Vec<u8>>> {
        send(&self.0, &batch.bytes, SendFlags::empty())?;
        let mut bodies = Vec::new();
        let mut room = vec![0; LIST_BYTES];
        loop {
            for (kind, body) in messages(self.receive(&mut room)?) {
                match kind {
                    KIND_DONE => return Ok(bodies),
                    KIND_ERROR => error_of(body)?,
                    _ => bodies.push(body.to_vec()),
                }
            }
        }
    }

    fn receive<'a>(&self, room: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let (length, _) = recv(&self.0, &mut *room, RecvFlags::empty())?;
        Ok(&room[..length])
    }
}

fn error_of(body: &[u8]) -> io::Result<()> {
    match read_i32(body) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::Error::other("the kernel sent a short error message")),
    }
}

fn read_i32(bytes: &[u8]) -> Option<i32> {
    Some(i32::from_ne_bytes(*bytes.first_chunk()?))
}

fn read_u16(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.first_chunk()?))
}

/// The (kind, body) pairs of one received datagram; stops at the first one that does not fit.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = read_i32(bytes).and_then(|length| usize::try_from(length).ok())?;
        let kind = read_u16(bytes.get(4..)?)?;
        let body = bytes.get(HEADER_LENGTH..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, body))
    })
}

/// The (kind, value) pairs of an attribute list.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(read_u16(bytes)?);
        let kind = read_u16(bytes.get(2..)?)?;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

#[cfg(test)]
mod tests {
    use super::{Batch, CREATE, attributes, messages, read_u16};

    #[test]
    fn what_is_built_is_read_back_with_padding_in_place() {
        let mut batch = Batch::default();
        batch.message(7, 0, |body| {
            body.raw(&[9; 4]).text(1, "lo").attribute(2, &[5]);
        });
        batch.message(8, 0, |body| {
            body.raw(&[1]);
        });
        let read: Vec<(u16, Vec<u8>)> = messages(&batch.bytes).map(|(kind, body)| (kind, body.to_vec())).collect();
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].0, read[1].0), (7, 8));
        assert_eq!(read[1].1, [1]);
        let values: Vec<(u16, &[u8])> = attributes(&read[0].1[4..]).collect();
        assert_eq!(values, [(1, &b"lo\0"[..]), (2, &[5][..])]);
    }

    #[test]
    fn the_last_message_asks_for_an_answer_and_no_other() {
        let mut batch = Batch::default();
        for kind in [7, 8, 9] {
            batch.message(kind, CREATE, |body| {
                body.raw(&[1; 5]);
            });
        }
        batch.ask_for_an_answer();
        let flags: Vec<i32> =
            [0, 24, 48].map(|start| i32::from(read_u16(&batch.bytes[start + 6..]).expect("flags"))).into();
        let others = libc::NLM_F_REQUEST | libc::NLM_F_CREATE;
        assert_eq!(flags, [others, others, others | libc::NLM_F_ACK]);
    }

    #[test]
    fn broken_lengths_end_the_reading() {
        assert_eq!(messages(&[0; 16]).count(), 0);
        assert_eq!(messages(&[255; 16]).count(), 0);
        assert_eq!(attributes(&[3, 0, 0, 0]).count(), 0);
        assert_eq!(attributes(&[200, 0, 0, 0]).count(), 0);
    }
}
