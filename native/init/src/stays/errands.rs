//! Somebody on the host who asks something of the machine, beside the sandbox's host.

use std::path::Path;

use ak_jail::fault::{During, Fault, Outcome};
use rustix::fs::sync;
use serde::Deserialize;
use serde_json::json;

use super::orders::Room;
use crate::{remains::Remains, stream};

const PORT: &str = "/dev/vport0p2";

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Errand {
    /// Everything that was written is to be on the disk.
    Sync {},
    /// What has changed in the project; `ak-entry` tells it.
    Gather {},
}

/// Waits for one, and is done with it when this returns.
pub fn serve(remains: &Remains, room: Room<'_>) -> Outcome<()> {
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
        assert!(understood(br#"{"do":"sync","more":1}"#).is_err());
        assert!(understood(br#"{"do":"else"}"#).is_err());
    }
}
