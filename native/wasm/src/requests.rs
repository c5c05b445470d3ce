//! The host's requests to a worker, beside the kinds that every guest knows (spec/guest-protocol.md, *Workers for
//! Wasm*).

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub struct OpenLoad {
    /// A compiled module that this program has made.
    pub path: String,
    pub memory_mib: usize,
    #[serde(default, rename = "folders")]
    pub directories: Vec<Directory>,
    #[serde(default)]
    pub interface: Interface,
}

/// The environment of a module.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Interface {
    /// A command of WASI preview 1.
    #[default]
    Wasi,
    /// The engine for JavaScript; the first argument is the program.
    Js,
}

/// A directory that modules may use, by the same path as outside of them.
#[derive(Clone, Debug, Deserialize)]
pub struct Directory {
    pub path: String,
    #[serde(default)]
    pub readonly: bool,
}
