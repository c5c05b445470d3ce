//! What the process sets about itself before it serves.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior, umask};

use crate::sys;

/// What the server is built from.
pub struct Prepared {
    pub host: OwnedFd,
    /// Where a captured network arrives, in the order of `ak_capture::Role::ALL`.
    pub listeners: [Option<OwnedFd>; sys::LISTENERS],
    pub child_signals: OwnedFd,
    /// Process 1 owns every process of the sandbox; started in any other way
    /// (tests) the guest owns only its own descendants.
    pub is_init: bool,
}

pub fn prepare() -> io::Result<Prepared> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let captured = std::env::args_os().nth(1).is_some_and(|word| word == "captured");
    let (host, listeners) = sys::take_inherited(captured)?;
    fcntl_setfl(&host, fcntl_getfl(&host)? | OFlags::NONBLOCK)?;
    let is_init = getpid().is_init();
    if !is_init {
        set_child_subreaper(Some(getpid()))?;
    }
    // A write over a size limit shall be an error, not the end of the guest.
    sys::ignore_signal(libc::SIGXFSZ);
    sys::ignore_signal(libc::SIGPIPE);
    umask(Mode::empty());
    let child_signals = sys::child_signal_fd()?;
    Ok(Prepared { host, listeners, child_signals, is_init })
}
