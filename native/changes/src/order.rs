//! The requests to `ak-changes`.

use std::io::Read;

use ak_jail::fault::{During, Fault, Outcome};
use serde::Deserialize;

const MAX_ORDER: u64 = 4 << 20;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Order {
    /// Relative to the project, each with all below it; none means everything.
    pub paths: Vec<String>,
    /// `list`: how many lines of text files come and go.
    pub counts_lines: bool,
    /// `apply`: only say what would be done.
    pub is_rehearsal: bool,
    /// `apply`: also where the host changed the same file since.
    pub overrides_host: bool,
    /// `apply`: also what waits for a review, at or below these paths.
    pub yes_to: Vec<String>,
    pub yes_to_all: bool,
}

impl Order {
    pub fn read(from: impl Read) -> Outcome<Self> {
        let mut text = Vec::new();
        from.take(MAX_ORDER).read_to_end(&mut text).during("read the order")?;
        serde_json::from_slice(&text).map_err(|e| Fault::new("internal", format!("the order: {e}")))
    }

    pub fn wants(&self, path: &[u8]) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|wanted| is_at_or_below(path, wanted.as_bytes()))
    }

    pub fn says_yes_to(&self, path: &[u8]) -> bool {
        self.yes_to_all || self.yes_to.iter().any(|agreed| is_at_or_below(path, agreed.as_bytes()))
    }
}

pub fn is_at_or_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}
