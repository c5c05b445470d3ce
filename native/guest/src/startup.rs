//! What the process sets about itself before it serves.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior, umask};

use crate::{host_stream::HostStream, sys};

/// What the server is built from.
pub struct Prepared {
    /// The stream to the host, for the guest's whole life.
    pub host: Option<HostStream>,
    /// Instead of it, of a kept sandbox: the supervisor passes each stream to a host through it.
    pub door: Option<OwnedFd>,
    /// Instead of both, of a sandbox that is built ahead: the only stream comes through it.
    pub entrance: Option<OwnedFd>,
    /// Where a captured network arrives, in the order of `ak_capture::Role::ALL`.
    pub listeners: [Option<OwnedFd>; sys::LISTENERS],
    pub child_signals: OwnedFd,
    /// Process 1 owns every process of the sandbox; started in any other way
    /// (tests) the guest owns only its own descendants.
    pub is_init: bool,
}

pub fn prepare() -> io::Result<Prepared> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let (stream, listeners, output) = sys::take_inherited(sys::is_told("captured"), sys::is_told("pipes"))?;
    let is_init = getpid().is_init();
    if !is_init {
        set_child_subreaper(Some(getpid()))?;
    }
    sys::set_dispositions();
    umask(Mode::empty());
    let child_signals = sys::child_signal_fd()?;
    let (host, door, entrance) = match () {
        () if sys::is_told("warm") => (None, None, Some(stream)),
        () if sys::is_told("kept") => (None, Some(stream), None),
        () => match output {
            Some(output) => (Some(HostStream::pipes(stream, output)), None, None),
            None => (Some(HostStream::socket(stream)), None, None),
        },
    };
    if let Some(door) = &door {
        fcntl_setfl(door, fcntl_getfl(door)? | OFlags::NONBLOCK)?;
    }
    Ok(Prepared { host, door, entrance, listeners, child_signals, is_init })
}
