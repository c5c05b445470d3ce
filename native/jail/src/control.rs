//! The conversation with whoever started us, over descriptor 3: one JSON object a line in both directions. When
//! that side is gone, so is the owner of the sandbox.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::{
    buffer::spare_capacity,
    io::{Errno, read, write},
};
use serde::{Deserialize, Serialize};

use crate::{
    carry::Report,
    fault::{Fault, Outcome},
};

/// A spec with long lists of globs and views is far below this.
const MAX_LINE: usize = 4 << 20;
/// More than nearly all of them.
const CHUNK_BYTES: usize = 8 << 10;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Layer {
    pub name: String,
    pub state: LayerState,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hidden: Option<Hidden>,
}

/// What of the project a sandbox does not see.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hidden {
    pub count: usize,
    /// How many files of them git tracks, so that its objects have them.
    pub tracked: usize,
    /// The first of them.
    pub files: Vec<HiddenFile>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HiddenFile {
    pub path: String,
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayerState {
    Applied,
    Partial,
    Absent,
}

impl Layer {
    pub fn new(name: &str, state: LayerState, detail: impl Into<String>) -> Self {
        let detail = Some(detail.into()).filter(|d| !d.is_empty());
        Self { name: name.into(), state, detail, hidden: None }
    }

    pub fn applied(name: &str) -> Self {
        Self::new(name, LayerState::Applied, "")
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event<'a> {
    /// Built, and waiting for what it is to show.
    Warm,
    Started {
        pid: i32,
        layers: &'a [Layer],
    },
    Failed(&'a Fault),
    /// It is about to be ended in order. What its limits did, and what it used, up to now.
    #[serde(rename_all = "camelCase")]
    Ending {
        oom_kills: u64,
        pids_denied: u64,
        memory_peak_bytes: Option<u64>,
        cpu_us: Option<u64>,
    },
    Exited(&'a End),
}

/// How a sandbox ended, and what it had used.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub oom_kills: u64,
    pub pids_denied: u64,
    pub memory_peak_bytes: Option<u64>,
    pub cpu_us: u64,
    pub carried: Option<Report>,
    /// What gVisor said of its own failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Order {
    /// End the sandbox and carry changes over.
    Finish,
    /// End the sandbox.
    Kill,
}

pub struct Control {
    fd: OwnedFd,
    buffer: Vec<u8>,
}

impl Control {
    pub fn new(fd: OwnedFd) -> Self {
        Self { fd, buffer: Vec::new() }
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// A whole line that has arrived together with an earlier one: no poll of the descriptor tells of it.
    pub fn has_line(&self) -> bool {
        self.buffer.contains(&b'\n')
    }

    /// The next line, or None when the other side has closed.
    pub fn line(&mut self) -> Outcome<Option<Vec<u8>>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|&b| b == b'\n') {
                let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
                line.pop();
                return Ok(Some(line));
            }
            if self.buffer.len() > MAX_LINE {
                return Err(Fault::new("internal", "a control line is too long"));
            }
            self.buffer.reserve(CHUNK_BYTES);
            match read(&self.fd, spare_capacity(&mut self.buffer)) {
                Ok(0) | Err(Errno::CONNRESET) => return Ok(None),
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => {
                    return Err(Fault::new("internal", format!("read the control stream: {e}")));
                }
            }
        }
    }

    pub fn order(&mut self) -> Outcome<Option<Order>> {
        match self.line()? {
            None => Ok(None),
            Some(line) => serde_json::from_slice(&line)
                .map(Some)
                .map_err(|e| Fault::new("internal", format!("an order on the control stream: {e}"))),
        }
    }

    /// A reader that is gone is no error: the end of the stream is noticed where orders are read.
    pub fn send(&self, event: &Event<'_>) {
        self.write(event);
    }

    pub fn write(&self, message: &impl Serialize) {
        let mut line = serde_json::to_vec(message).unwrap_or_default();
        line.push(b'\n');
        let mut rest = &line[..];
        while !rest.is_empty() {
            match write(&self.fd, rest) {
                Ok(n) => rest = &rest[n..],
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}
