//! A port of a machine that stays, through which one stream after the other comes: that of a host, or of somebody who has
//! an errand. QEMU takes a new one without the machine's seeing an end of the one before, so a stream is given only to a
//! port that the machine has let go of since the last.

use std::{
    os::fd::{AsFd, OwnedFd},
    time::Duration,
};

use serde_json::{Value, json};

use super::qmp::Qmp;
use crate::failure::Outcome;

/// Of a port's stream, and with `-port` of the port itself.
pub const HOST: &str = "stream";
pub const ERRANDS: &str = "errands";
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Port {
    id: &'static str,
    /// The machine has it open.
    is_open: bool,
    /// Since the machine opened it, it has had a stream.
    is_used: bool,
    is_attached: bool,
    /// The newest that came; those before are closed.
    waiting: Option<OwnedFd>,
}

impl Port {
    pub fn new(id: &'static str) -> Self {
        Self { id, is_open: false, is_used: false, is_attached: false, waiting: None }
    }

    /// Whoever had it loses it.
    pub fn come(&mut self, qmp: &mut Qmp, stream: OwnedFd) -> Outcome<()> {
        self.detach(qmp)?;
        self.waiting = Some(stream);
        self.attach(qmp)
    }

    /// True where the machine has let go of it.
    pub fn heard(&mut self, qmp: &mut Qmp, event: &Value) -> Outcome<bool> {
        if event["id"].as_str().and_then(|id| id.strip_suffix("-port")) != Some(self.id) {
            return Ok(false);
        }
        let was_open = self.is_open;
        self.is_open = event["open"] == true;
        if self.is_open {
            self.is_used |= self.is_attached;
            return Ok(false);
        }
        self.is_used = false;
        if was_open {
            self.detach(qmp)?;
        }
        self.attach(qmp)?;
        Ok(was_open)
    }

    fn attach(&mut self, qmp: &mut Qmp) -> Outcome<()> {
        if self.is_open && self.is_used {
            return Ok(());
        }
        let Some(stream) = self.waiting.take() else { return Ok(()) };
        qmp.hand_over(self.id, stream.as_fd(), PATIENCE)?;
        let address = json!({ "type": "fd", "data": { "str": self.id } });
        self.change(qmp, &json!({ "type": "socket", "data": { "addr": address, "server": false } }))?;
        self.is_attached = true;
        self.is_used = self.is_open;
        Ok(())
    }

    /// The machine reads an end.
    fn detach(&mut self, qmp: &mut Qmp) -> Outcome<()> {
        if std::mem::take(&mut self.is_attached) {
            self.change(qmp, &json!({ "type": "null", "data": {} }))?;
        }
        Ok(())
    }

    fn change(&self, qmp: &mut Qmp, backend: &Value) -> Outcome<()> {
        let arguments = json!({ "id": self.id, "backend": backend });
        qmp.ask(&json!({ "execute": "chardev-change", "arguments": arguments }), PATIENCE).map(drop)
    }
}
