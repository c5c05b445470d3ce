//! A port of a machine that stays, through which one stream after the other comes: that of a host, or of somebody who has
//! an errand. QEMU gives a port a new stream without the machine's seeing an end of the one before. So a stream waits
//! until process 1 of the machine says that it has the port in its own hands again.

use std::{
    os::fd::{AsFd, OwnedFd},
    time::Duration,
};

use serde_json::{Value, json};

use super::qmp::Qmp;
use crate::failure::Outcome;

/// Names of the ports' streams.
pub const HOST: &str = "stream";
pub const ERRANDS: &str = "errands";
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Port {
    id: &'static str,
    /// Process 1 of the machine has it, and no stream has been given to it since.
    is_ready: bool,
    is_attached: bool,
    /// The newest that came; those before are closed.
    waiting: Option<OwnedFd>,
}

impl Port {
    pub fn new(id: &'static str, is_ready: bool) -> Self {
        Self { id, is_ready, is_attached: false, waiting: None }
    }

    /// Whoever had it loses it. False where the machine has to be asked for room first.
    pub fn come(&mut self, qmp: &mut Qmp, stream: OwnedFd) -> Outcome<bool> {
        self.waiting = Some(stream);
        if std::mem::take(&mut self.is_attached) {
            // The machine reads an end.
            self.change(qmp, &json!({ "type": "null", "data": {} }))?;
        }
        let has_room = self.is_ready;
        self.attach(qmp)?;
        Ok(has_room)
    }

    pub fn has_room(&mut self, qmp: &mut Qmp) -> Outcome<()> {
        self.is_ready = true;
        self.attach(qmp)
    }

    fn attach(&mut self, qmp: &mut Qmp) -> Outcome<()> {
        if !self.is_ready {
            return Ok(());
        }
        let Some(stream) = self.waiting.take() else { return Ok(()) };
        qmp.hand_over(self.id, stream.as_fd(), PATIENCE)?;
        let address = json!({ "type": "fd", "data": { "str": self.id } });
        self.change(qmp, &json!({ "type": "socket", "data": { "addr": address, "server": false } }))?;
        (self.is_ready, self.is_attached) = (false, true);
        Ok(())
    }

    fn change(&self, qmp: &mut Qmp, backend: &Value) -> Outcome<()> {
        let arguments = json!({ "id": self.id, "backend": backend });
        qmp.ask(&json!({ "execute": "chardev-change", "arguments": arguments }), PATIENCE).map(drop)
    }
}
