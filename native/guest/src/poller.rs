//! Edge-triggered epoll. The owner of a descriptor remembers that it is ready until a call returns EAGAIN.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{Timespec, epoll};
use rustix::io;

pub use epoll::EventFlags;

/// Identifies a registered descriptor: a channel id (0 is the connection) and a slot within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub channel: u32,
    pub slot: u8,
}

impl Token {
    fn data(self) -> epoll::EventData {
        epoll::EventData::new_u64(u64::from(self.channel) << 8 | u64::from(self.slot))
    }
}

pub const HOST: Token = Token { channel: 0, slot: 0 };
pub const CHILD_SIGNALS: Token = Token { channel: 0, slot: 1 };
pub const HOST_SOCKET: Token = Token { channel: 0, slot: slot::EXEC - 1 };

/// Slots that are no stream of a channel.
pub mod slot {
    /// The connection's slot of the first listener of a captured network.
    pub const FIRST_LISTENER: u8 = 2;
    /// The first of an exec of a kept guest; its `channel` is the exec's serial number, which outlives channels.
    pub const EXEC: u8 = 32;
    /// A client of the stub resolver; its `channel` is a number of the stub's own.
    pub const DNS_STREAM: u8 = 64;
}

#[derive(Clone, Copy)]
pub struct Ready {
    pub token: Token,
    pub flags: EventFlags,
}

impl Ready {
    /// Data, an end or an error: in each case a read tells.
    pub fn is_readable(&self) -> bool {
        self.flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR)
    }

    pub fn is_writable(&self) -> bool {
        self.flags.intersects(EventFlags::OUT | EventFlags::HUP | EventFlags::ERR)
    }
}

pub struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    pub fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    /// A descriptor leaves by being closed.
    pub fn watch(&self, fd: impl AsFd, token: Token, flags: EventFlags) -> io::Result<()> {
        epoll::add(&self.epoll, fd, token.data(), flags | EventFlags::ET)
    }

    /// For other events than before.
    pub fn watch_again(&self, fd: impl AsFd, token: Token, flags: EventFlags) -> io::Result<()> {
        epoll::modify(&self.epoll, fd, token.data(), flags | EventFlags::ET)
    }

    /// Waits for events; `None` waits without end. An interrupted wait is empty.
    pub fn wait(&self, timeout: Option<Duration>, into: &mut Vec<Ready>) -> io::Result<()> {
        let blank = epoll::Event { flags: EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        let mut events = [blank; 64];
        let timeout = timeout.map(|t| Timespec { tv_sec: t.as_secs() as i64, tv_nsec: i64::from(t.subsec_nanos()) });
        into.clear();
        let count = match epoll::wait(&self.epoll, &mut events[..], timeout.as_ref()) {
            Ok(count) => count,
            Err(io::Errno::INTR) => 0,
            Err(error) => return Err(error),
        };
        into.extend(events[..count].iter().map(|event| {
            let (flags, data) = (event.flags, event.data.u64());
            Ready { token: Token { channel: (data >> 8) as u32, slot: data as u8 }, flags }
        }));
        Ok(())
    }
}
