//! The order that says what to unpack, and the answer.

use std::path::PathBuf;

use ak_jail::fault::{Fault, Outcome};
use serde::{Deserialize, Serialize};

use crate::{blob::Compression, extract::Summary};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Order {
    /// An empty directory that becomes the layer: `fs` in it is the layer's content.
    pub target: PathBuf,
    /// Contents of the layers below, the uppermost first.
    pub below: Vec<PathBuf>,
    pub compression: Compression,
    /// The digest that the uncompressed layer must have.
    pub diff_id: String,
    pub max_bytes: u64,
    pub max_entries: u64,
    /// Whether what was unpacked must survive a power cut before we answer.
    pub sync: bool,
}

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Answer {
    Done(Summary),
    Failed(Fault),
}

impl Order {
    pub fn parse(line: &[u8]) -> Outcome<Self> {
        let wrong = |what: String| Fault::new("internal", format!("the order to unpack: {what}"));
        let order: Self = serde_json::from_slice(line).map_err(|e| wrong(e.to_string()))?;
        if !order.target.is_absolute() || !order.below.iter().all(|layer| layer.is_absolute()) {
            return Err(wrong("paths must be absolute".into()));
        }
        Ok(order)
    }
}
