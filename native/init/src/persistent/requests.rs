//! Requests from the host to the virtual machine, beside the sandbox's host connection.

use std::path::Path;

use ak_jail::fault::{During, Fault, Outcome};
use rustix::fs::sync;
use serde::Deserialize;
use serde_json::json;

use super::{
    copy_identity::{self, Kind},
    orders::Ready,
};
use crate::{ended::EndedSandbox, stream, wake::Wake};

const PORT: &str = "/dev/vport0p2";

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    /// Everything that was written is to be on the disk.
    Sync {},
    /// Send the project's changes, which `ak-entry` gathers.
    Gather {},
    /// This is a copy of the machine that was saved. What makes it another follows in a message of its own.
    Wake {},
}

/// Waits for one, and is done with it when this returns.
pub fn serve(pid: libc::pid_t, ended: &EndedSandbox, kind: Kind, room: Ready<'_>) -> Outcome<()> {
    let mut port = stream::open_when_free(Path::new(PORT))?;
    room.tell()?;
    stream::say(&mut port, &json!({ "said": "here" })).during("greet whoever asks")?;
    let mut text = Vec::new();
    if stream::hear(&mut port, &mut text).is_err() {
        // Gone before it had asked.
        return Ok(());
    }
    match understood(&text)? {
        Request::Sync {} => {
            sync();
            stream::say(&mut port, &json!({ "said": "done" })).during("answer")
        }
        Request::Gather {} => match ended.become_gatherer(&port)? {},
        Request::Wake {} => {
            stream::hear(&mut port, &mut text).during("hear the wake message")?;
            match Wake::parse(&text).and_then(|wake| copy_identity::take_identity(&wake, pid, ended, kind)) {
                Ok(()) => stream::say(&mut port, &json!({ "said": "done" })).during("answer"),
                Err(fault) => {
                    stream::say(&mut port, &stream::Message::Failed(&fault)).during("answer")?;
                    Err(fault)
                }
            }
        }
    }
}

fn understood(text: &[u8]) -> Outcome<Request> {
    serde_json::from_slice(text).map_err(|e| Fault::new("internal", format!("a request: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_understood_and_others_refused() {
        assert_eq!(understood(br#"{"do":"sync"}"#).expect("a request"), Request::Sync {});
        assert_eq!(understood(br#"{"do":"gather"}"#).expect("a request"), Request::Gather {});
        assert_eq!(understood(br#"{"do":"wake"}"#).expect("a request"), Request::Wake {});
        assert!(understood(br#"{"do":"sync","more":1}"#).is_err());
        assert!(understood(br#"{"do":"else"}"#).is_err());
    }
}
