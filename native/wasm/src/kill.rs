//! How a call is ended from outside, wherever it is: in a loop of its own, or waiting in a call of ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use wasmtime::Engine;

use crate::bell::Bell;

pub struct Kill {
    /// Zero: no signal.
    signal: AtomicU8,
    bell: Arc<Bell>,
}

/// The error that a killed instance ends with.
#[derive(Debug)]
pub struct Killed;

impl std::fmt::Display for Killed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("killed")
    }
}

impl std::error::Error for Killed {}

impl Kill {
    pub fn new(bell: Arc<Bell>) -> Self {
        Self { signal: AtomicU8::new(0), bell }
    }

    /// The first signal counts. The engine's epoch is what running code looks at.
    pub fn ask(&self, signal: u8, engine: Option<&Engine>) {
        let _ = self.signal.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
        self.bell.ring();
        if let Some(engine) = engine {
            engine.increment_epoch();
        }
    }

    pub fn signal(&self) -> Option<u8> {
        Some(self.signal.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }

    pub fn refuse_if_asked(&self) -> Result<(), Killed> {
        if self.signal().is_some() { Err(Killed) } else { Ok(()) }
    }

    /// Waits until it is so, or until then. False where the time came first.
    pub fn wait_until(&self, deadline: Option<Instant>, mut is_so: impl FnMut() -> bool) -> Result<bool, Killed> {
        let came = self.bell.wait_until(deadline, || self.signal().is_some() || is_so());
        self.refuse_if_asked().map(|()| came)
    }
}

/// Signals that end a process that does not handle them. The others mean nothing to a module.
pub fn ends(signal: i32) -> Option<u8> {
    match signal {
        libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGCONT => None,
        libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => None,
        1..=64 => u8::try_from(signal).ok(),
        _ => None,
    }
}
