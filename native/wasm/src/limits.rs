//! The limits of one instance. Growth beyond them fails in the module, as WebAssembly specifies; nothing is ended.

use wasmtime::{ResourceLimiter, Result};

use crate::engine::MAX_TABLE_ELEMENTS;

pub struct Limits {
    memory_bytes: usize,
    /// The peak of all memories together.
    pub peak_bytes: usize,
    held_bytes: usize,
    /// The module asked for more than it may have.
    pub was_refused: bool,
}

impl Limits {
    pub fn new(memory_bytes: usize) -> Self {
        Self { memory_bytes, peak_bytes: 0, held_bytes: 0, was_refused: false }
    }
}

impl ResourceLimiter for Limits {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        let held = self.held_bytes.saturating_add(desired.saturating_sub(current));
        let fits = held <= self.memory_bytes;
        if fits {
            self.held_bytes = held;
            self.peak_bytes = self.peak_bytes.max(held);
        } else {
            self.was_refused = true;
        }
        Ok(fits)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        Ok(desired <= MAX_TABLE_ELEMENTS)
    }
}
