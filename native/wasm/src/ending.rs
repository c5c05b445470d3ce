//! How a call ended: by its own exit, by a trap, or because it was ended.

use wasmtime::{Error, Trap, WasmBacktrace};

use crate::kill::Killed;

/// The error that an instance ends with that asked for its own end.
#[derive(Debug)]
pub struct Exit(pub u32);

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exited with {}", self.0)
    }
}

impl std::error::Error for Exit {}

#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    Exited(u8),
    /// Ended from outside; the host knows by what.
    Killed,
    Trapped(TrapReport),
}

#[derive(Debug, PartialEq, Eq)]
pub struct TrapReport {
    /// The signal that a native program would have died of.
    pub signal: u8,
    pub reason: String,
}

/// Frames of the module that are named in a report.
const FRAMES: usize = 8;

pub fn ending_of(result: Result<(), Error>) -> Ending {
    let Err(error) = result else { return Ending::Exited(0) };
    if let Some(exit) = error.downcast_ref::<Exit>() {
        // An exit status is one byte.
        return Ending::Exited((exit.0 & 0xff) as u8);
    }
    if error.downcast_ref::<Killed>().is_some() {
        return Ending::Killed;
    }
    let signal = error.downcast_ref::<Trap>().map_or(libc::SIGABRT, signal_of);
    let mut reason = error.downcast_ref::<Trap>().map_or_else(|| format!("{:#}", error.root_cause()), Trap::to_string);
    if let Some(trace) = error.downcast_ref::<WasmBacktrace>() {
        let names = trace.frames().iter().take(FRAMES).map(|frame| {
            frame.func_name().map_or_else(|| format!("function {}", frame.func_index()), |name| name.to_owned())
        });
        let names: Vec<String> = names.collect();
        if !names.is_empty() {
            reason = format!("{reason} (in {})", names.join(", called by "));
        }
    }
    Ending::Trapped(TrapReport { signal: signal as u8, reason })
}

fn signal_of(trap: &Trap) -> i32 {
    match trap {
        Trap::StackOverflow | Trap::MemoryOutOfBounds | Trap::HeapMisaligned | Trap::TableOutOfBounds => libc::SIGSEGV,
        Trap::IndirectCallToNull | Trap::BadSignature | Trap::NullReference => libc::SIGSEGV,
        Trap::IntegerOverflow | Trap::IntegerDivisionByZero | Trap::BadConversionToInteger => libc::SIGFPE,
        _ => libc::SIGABRT,
    }
}
