//! The byte stream to the host: one socket or, where an engine attaches to a container, a pipe for each direction.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::poller::{EventFlags, HOST, Poller};

pub struct HostStream {
    input: OwnedFd,
    /// Only where it is another descriptor than the one that is read.
    output: Option<OwnedFd>,
    /// A socket tells its writer whenever its reader has read, which is of interest only to one that had to stop.
    tells_of_room: bool,
}

impl HostStream {
    pub fn socket(socket: OwnedFd) -> Self {
        Self { input: socket, output: None, tells_of_room: false }
    }

    pub fn pipes(input: OwnedFd, output: OwnedFd) -> Self {
        Self { input, output: Some(output), tells_of_room: true }
    }

    /// Wraps the port of a virtual machine: a single file, whose readiness is not reported as a socket's is.
    pub fn device(device: OwnedFd) -> io::Result<Self> {
        Ok(Self::pipes(device.try_clone()?, device))
    }

    pub fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    pub fn output(&self) -> BorrowedFd<'_> {
        self.output.as_ref().unwrap_or(&self.input).as_fd()
    }

    /// Whether the poller is to tell that there is room again. If there is by now, it tells at once.
    pub fn watch_output(&mut self, poller: &Poller, wanted: bool) -> rustix::io::Result<()> {
        if self.output.is_none() && self.tells_of_room != wanted {
            let room = if wanted { EventFlags::OUT } else { EventFlags::empty() };
            poller.watch_again(&self.input, HOST, EventFlags::IN | room)?;
            self.tells_of_room = wanted;
        }
        Ok(())
    }

    /// From here on neither end blocks, and the poller tells what there is to read.
    pub fn watch(&self, poller: &Poller) -> io::Result<()> {
        self.never_block()?;
        self.tell(poller)
    }

    pub fn never_block(&self) -> io::Result<()> {
        for end in [Some(&self.input), self.output.as_ref()].into_iter().flatten() {
            fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
        }
        Ok(())
    }

    pub fn tell(&self, poller: &Poller) -> io::Result<()> {
        poller.watch(&self.input, HOST, EventFlags::IN)?;
        if let Some(output) = &self.output {
            poller.watch(output, HOST, EventFlags::OUT)?;
        }
        Ok(())
    }
}
