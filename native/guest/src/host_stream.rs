//! The byte stream to the host: one socket or, where an engine attaches to a container, a pipe for each direction.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::poller::{EventFlags, HOST, Poller};

pub struct HostStream {
    input: OwnedFd,
    /// Only where it is another descriptor than the one that is read.
    output: Option<OwnedFd>,
}

impl HostStream {
    pub fn socket(socket: OwnedFd) -> Self {
        Self { input: socket, output: None }
    }

    pub fn pipes(input: OwnedFd, output: OwnedFd) -> Self {
        Self { input, output: Some(output) }
    }

    pub fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    pub fn output(&self) -> BorrowedFd<'_> {
        self.output.as_ref().unwrap_or(&self.input).as_fd()
    }

    /// From here on neither end blocks, and the poller tells of both.
    pub fn watch(&self, poller: &Poller) -> io::Result<()> {
        for end in [Some(&self.input), self.output.as_ref()].into_iter().flatten() {
            fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
        }
        match &self.output {
            None => poller.watch(&self.input, HOST, EventFlags::IN | EventFlags::OUT)?,
            Some(output) => {
                poller.watch(&self.input, HOST, EventFlags::IN)?;
                poller.watch(output, HOST, EventFlags::OUT)?;
            }
        }
        Ok(())
    }
}
