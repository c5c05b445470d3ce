//! The result of a probe, and the line that is printed for it.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

/// A layer that does not work: what was seen, and what the reader can do about it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Fault {
    pub detail: String,
    /// None: there is nothing to repair.
    pub hint: Option<String>,
}

impl Fault {
    pub fn new(detail: impl Into<String>, hint: impl Into<String>) -> Fault {
        Fault { detail: detail.into(), hint: Some(hint.into()) }
    }

    pub fn not_needed(detail: impl Into<String>) -> Fault {
        Fault { detail: detail.into(), hint: None }
    }
}

/// The detail of a layer that works, or the fault.
pub type Verdict = Result<String, Fault>;

/// Turns an error into a fault by saying what was being done.
pub trait Explain<T> {
    fn or_fault(self, doing: &str, hint: &str) -> Result<T, Fault>;
}

impl<T, E: Display> Explain<T> for Result<T, E> {
    fn or_fault(self, doing: &str, hint: &str) -> Result<T, Fault> {
        self.map_err(|error| Fault::new(format!("{doing}: {error}"), hint))
    }
}

/// A check that something observed is as the layer promises.
pub fn expect(holds: bool, otherwise: &str, hint: &str) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(Fault::new(otherwise, hint)) }
}

#[derive(Serialize)]
pub struct Line {
    pub layer: &'static str,
    pub ok: bool,
    pub detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    pub ms: f64,
}

impl Line {
    pub fn new(layer: &'static str, verdict: Verdict, ms: f64) -> Line {
        let ms = (ms * 1000.0).round() / 1000.0;
        match verdict {
            Ok(detail) => Line { layer, ok: true, detail, hint: None, ms },
            Err(fault) => Line { layer, ok: false, detail: fault.detail, hint: fault.hint, ms },
        }
    }
}
