//! Test hook, not a layer: never answers and leaves a child behind, so that tests can watch the deadline.

use super::Context;
use crate::process;
use crate::report::{Fault, Verdict};

pub fn probe(_: &Context) -> Verdict {
    let forever = || -> ! {
        loop {
            // SAFETY: pause takes no arguments and only waits for a signal.
            unsafe { libc::pause() };
        }
    };
    process::fork(|| match process::die_with_parent() {
        Ok(()) => forever(),
        Err(_) => 1,
    })
    .map_err(|error| Fault::new(error.to_string(), "try again"))?;
    forever()
}
