//! A command line that found out by itself that it needs a daemon, and has started one, calls this program again and
//! stays as its parent. `AGENTKERNEL_RELAY` is `PID:FD`: the parent, and a socket to it. On the socket the parent passes
//! on the signals that it gets, one byte each, and hears that the daemon declined. Both are in one group, so this process
//! gets most of those signals as well; it leaves them to the parent, for one that came twice must count once. It must not
//! outlive the parent.

use std::env;
use std::io::{self, Write};
use std::os::fd::FromRawFd;
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

pub const VARIABLE: &str = "AGENTKERNEL_RELAY";

pub struct Relay {
    socket: UnixStream,
}

impl Relay {
    /// Returns None when there is no relay, or the process that asked for one has ended.
    pub fn find() -> Option<Self> {
        let value = env::var(VARIABLE).ok()?;
        let (parent, descriptor) = value.split_once(':')?;
        let parent = Pid::from_raw(parent.parse().ok()?)?;
        let descriptor: i32 = descriptor.parse().ok().filter(|&number| number > 2)?;
        set_parent_process_death_signal(Some(Signal::KILL)).ok()?;
        if getppid() != Some(parent) {
            return None;
        }
        // SAFETY: the parent opened this descriptor for us alone, and nothing here has opened any other yet.
        let socket = unsafe { UnixStream::from_raw_fd(descriptor) };
        socket.set_nonblocking(true).ok()?;
        Some(Self { socket })
    }

    /// Where the parent's signals come from.
    pub fn signals(&self) -> io::Result<UnixStream> {
        self.socket.try_clone()
    }

    /// Passes on the daemon's answer when it did not agree; empty when it gave none.
    pub fn decline(mut self, answer: &[u8]) {
        // If the write fails, the parent sees that this process ended without a message.
        let _ = self.socket.write_all(b"declined\n").and_then(|()| self.socket.write_all(answer));
    }
}
