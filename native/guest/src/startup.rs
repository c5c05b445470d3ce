//! What the process sets about itself before it serves.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior, umask};

use crate::{door, host_stream::HostStream, sys};

/// What the server is built from.
pub struct Prepared {
    /// The stream to the host, for the guest's whole life.
    pub host: Option<HostStream>,
    /// Instead of it, of a kept sandbox: the supervisor passes each stream to a host through it.
    pub door: Option<OwnedFd>,
    /// Where a captured network arrives, in the order of `ak_capture::Role::ALL`.
    pub listeners: [Option<OwnedFd>; sys::LISTENERS],
    pub child_signals: OwnedFd,
    /// Process 1 owns every process of the sandbox; started in any other way
    /// (tests) the guest owns only its own descendants.
    pub is_init: bool,
}

pub fn prepare() -> io::Result<Prepared> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let (mut stream, listeners, output) = sys::take_inherited(sys::is_told("captured"), sys::is_told("pipes"))?;
    let is_init = getpid().is_init();
    if !is_init {
        set_child_subreaper(Some(getpid()))?;
    }
    // A write over a size limit shall be an error, not the end of the guest.
    sys::ignore_signal(libc::SIGXFSZ);
    sys::ignore_signal(libc::SIGPIPE);
    umask(Mode::empty());
    let child_signals = sys::child_signal_fd()?;
    if sys::is_told("warm") {
        stream = door::await_host(stream)?;
        // Whoever put the caller's folders in place is about to end, and has rights that nobody in here has.
        sys::reap_all();
    }
    if sys::is_told("kept") {
        fcntl_setfl(&stream, fcntl_getfl(&stream)? | OFlags::NONBLOCK)?;
        return Ok(Prepared { host: None, door: Some(stream), listeners, child_signals, is_init });
    }
    let host = match output {
        Some(output) => HostStream::pipes(stream, output),
        None => HostStream::socket(stream),
    };
    Ok(Prepared { host: Some(host), door: None, listeners, child_signals, is_init })
}
