//! A port of a persistent virtual machine, which takes one stream after the other: a host's, or a requester's. QEMU
//! changes a port's stream without the guest seeing an end of the previous one. So a stream waits until process 1 of
//! the virtual machine says that it holds the port again.

use std::{
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    time::Duration,
};

use serde_json::{Value, json};

use super::qmp::Qmp;
use crate::failure::{During, Outcome};

/// Names of the ports' streams.
pub const HOST: &str = "stream";
pub const REQUESTS: &str = "requests";
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Port {
    id: &'static str,
    /// Process 1 of the machine has it, and no stream has been given to it since.
    is_ready: bool,
    is_attached: bool,
    /// The virtual machine was frozen while it had its stream, so an end of it may have been missed.
    may_have_missed_end: bool,
    /// The newest that came; those before are closed.
    waiting: Option<OwnedFd>,
}

impl Port {
    pub fn new(id: &'static str, is_ready: bool) -> Self {
        Self { id, is_ready, is_attached: false, may_have_missed_end: false, waiting: None }
    }

    /// Replaces the current stream. Returns false where the guest has to be asked for room first. Must not be called
    /// while the virtual machine is frozen.
    pub fn come(&mut self, qmp: &mut Qmp, stream: OwnedFd) -> Outcome<bool> {
        self.waiting = Some(stream);
        if std::mem::take(&mut self.is_attached) {
            self.detach(qmp)?;
        }
        let has_room = self.is_ready;
        self.attach(qmp)?;
        Ok(has_room)
    }

    /// QEMU does not listen to streams while its machine stands still.
    pub fn stands_still(&mut self) {
        self.may_have_missed_end = self.is_attached;
    }

    /// The machine reads an end. QEMU tells it of one only where the stream was open to the last: what may have ended
    /// before is followed by one that certainly has not.
    fn detach(&mut self, qmp: &mut Qmp) -> Outcome<()> {
        let open = if std::mem::take(&mut self.may_have_missed_end) {
            let (ours, theirs) = UnixStream::pair().during("make a stream")?;
            self.give(qmp, theirs.as_fd())?;
            Some(ours)
        } else {
            None
        };
        self.change(qmp, &json!({ "type": "null", "data": {} }))?;
        drop(open);
        Ok(())
    }

    pub fn has_room(&mut self) {
        self.is_ready = true;
    }

    /// Attaches the waiting stream, where there is room. Must not be called while the virtual machine is frozen.
    pub fn attach(&mut self, qmp: &mut Qmp) -> Outcome<()> {
        if !self.is_ready {
            return Ok(());
        }
        let Some(stream) = self.waiting.take() else { return Ok(()) };
        self.give(qmp, stream.as_fd())?;
        (self.is_ready, self.is_attached) = (false, true);
        Ok(())
    }

    fn give(&self, qmp: &mut Qmp, stream: BorrowedFd<'_>) -> Outcome<()> {
        qmp.hand_over(self.id, stream, PATIENCE)?;
        let address = json!({ "type": "fd", "data": { "str": self.id } });
        self.change(qmp, &json!({ "type": "socket", "data": { "addr": address, "server": false } }))
    }

    fn change(&self, qmp: &mut Qmp, backend: &Value) -> Outcome<()> {
        let arguments = json!({ "id": self.id, "backend": backend });
        qmp.ask(&json!({ "execute": "chardev-change", "arguments": arguments }), PATIENCE).map(drop)
    }
}
