//! The result of a copy: what was copied, and what was not.

use serde::{Deserialize, Serialize};

const MAX_NOTES: usize = 50;
const MAX_TEXT: usize = 300;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub path: String,
    pub reason: String,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub files: u64,
    #[serde(rename = "folders")]
    pub directories: u64,
    pub links: u64,
    pub bytes: u64,
    /// Entries that are missing from the copy, and why.
    pub notes: Vec<Note>,
    /// Notes beyond these.
    pub omitted: u64,
}

impl Report {
    pub fn note(&mut self, path: &[u8], reason: &[u8]) {
        if self.notes.len() == MAX_NOTES {
            self.omitted += 1;
            return;
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_TEXT)]).into_owned();
        self.notes.push(Note { path: text(path), reason: text(reason) });
    }
}
