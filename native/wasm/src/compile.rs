//! A module into machine code. A process that compiles runs nothing: it sees one module, answers and ends.

use crate::engine;

/// The error for a module that cannot be compiled or loaded.
pub struct Refusal {
    pub code: &'static str,
    pub message: String,
}

impl Refusal {
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

const MAGIC: &[u8] = b"\0asm";
/// The second half of the version says what it is: a module (0) or a component (1).
const COMPONENT: &[u8] = &[1, 0];

pub fn compile(module: &[u8]) -> Result<Vec<u8>, Refusal> {
    if !module.starts_with(MAGIC) {
        return Err(Refusal::new("not_wasm", "it does not begin as WebAssembly does"));
    }
    if module.get(6..8) == Some(COMPONENT) {
        return Err(Refusal::new("component", "it is a component"));
    }
    let engine = engine::compiling().map_err(|error| Refusal::new("io", format!("{error:#}")))?;
    engine.precompile_module(module).map_err(|error| Refusal::new("invalid", format!("{error:#}")))
}
