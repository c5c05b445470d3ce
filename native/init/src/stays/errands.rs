//! Somebody on the host who asks something of the machine, beside the sandbox's host.

use std::path::Path;

use ak_jail::fault::{During, Fault, Outcome};
use rustix::fs::sync;
use serde::Deserialize;
use serde_json::json;

use super::{
    orders::Ready,
    other::{self, Kind},
};
use crate::{remains::Remains, stream, wake::Wake};

const PORT: &str = "/dev/vport0p2";

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Errand {
    /// Everything that was written is to be on the disk.
    Sync {},
    /// Send the project's changes, which `ak-entry` gathers.
    Gather {},
    /// This is a copy of the machine that was saved. What makes it another follows in a message of its own.
    Wake {},
}

/// Waits for one, and is done with it when this returns.
pub fn serve(pid: libc::pid_t, remains: &Remains, kind: Kind, room: Ready<'_>) -> Outcome<()> {
    let mut port = stream::open_when_free(Path::new(PORT))?;
    room.tell()?;
    stream::say(&mut port, &json!({ "said": "here" })).during("greet whoever asks")?;
    let mut text = Vec::new();
    if stream::hear(&mut port, &mut text).is_err() {
        // Gone before it had asked.
        return Ok(());
    }
    match understood(&text)? {
        Errand::Sync {} => {
            sync();
            stream::say(&mut port, &json!({ "said": "done" })).during("answer")
        }
        Errand::Gather {} => match remains.become_gatherer(&port)? {},
        Errand::Wake {} => {
            stream::hear(&mut port, &mut text).during("hear the wake message")?;
            match Wake::parse(&text).and_then(|wake| other::become_it(&wake, pid, remains, kind)) {
                Ok(()) => stream::say(&mut port, &json!({ "said": "done" })).during("answer"),
                Err(fault) => {
                    stream::say(&mut port, &stream::Said::Failed(&fault)).during("answer")?;
                    Err(fault)
                }
            }
        }
    }
}

fn understood(text: &[u8]) -> Outcome<Errand> {
    serde_json::from_slice(text).map_err(|e| Fault::new("internal", format!("an errand: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errands_are_understood_and_others_refused() {
        assert_eq!(understood(br#"{"do":"sync"}"#).expect("an errand"), Errand::Sync {});
        assert_eq!(understood(br#"{"do":"gather"}"#).expect("an errand"), Errand::Gather {});
        assert_eq!(understood(br#"{"do":"wake"}"#).expect("an errand"), Errand::Wake {});
        assert!(understood(br#"{"do":"sync","more":1}"#).is_err());
        assert!(understood(br#"{"do":"else"}"#).is_err());
    }
}
