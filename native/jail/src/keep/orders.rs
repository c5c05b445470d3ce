//! What a client of the supervisor may ask for, and what it is told: one JSON object a line.

use serde::{Deserialize, Serialize};

use crate::{
    cgroup::Usage,
    control::{End, Layer},
    fault::Fault,
};

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Order {
    /// This connection is the owner's from now on; the one before is told and closed.
    Own {},
    /// This connection becomes the stream to the guest. Only the present owner knows the ticket.
    Stream {
        ticket: String,
    },
    /// This connection becomes one to the machine that the sandbox is in, beside that of its host.
    Errand {},
    /// The machine that the sandbox is in stands still, with its memory saved, for as long as this connection lasts.
    Hold {},
    Status {},
    Pause {},
    Resume {},
    /// Ends the sandbox: in order within the grace time, then by force.
    Stop {
        #[serde(rename = "graceMs")]
        grace_ms: u64,
    },
    Kill {},
}

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Answer<'a> {
    Owned {
        ticket: &'a str,
        #[serde(flatten)]
        status: Status<'a>,
    },
    Status(Status<'a>),
    Done,
    Failed(&'a Fault),
    /// To an owner that is none any more.
    Replaced,
    /// To the owner, and to whoever asked for the end: nothing of the sandbox is left.
    Ended(&'a End),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status<'a> {
    pub guest: i32,
    pub paused: bool,
    pub started_at_ms: u64,
    pub layers: &'a [Layer],
    pub usage: Usage,
}
