//! Prepares the process before it serves.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior, umask};

use crate::{host_stream::HostStream, sys};

/// The inputs of the server.
pub struct Prepared {
    /// The stream to the host, for the guest's whole life.
    pub host: Option<HostStream>,
    /// Instead of it, of a kept sandbox: the supervisor passes each stream to a host through it.
    pub host_socket: Option<OwnedFd>,
    /// In place of both, in a sandbox that is built ahead: the only stream comes through it. In a virtual machine the
    /// stream is there, but belongs to another process until this descriptor says otherwise.
    pub entrance: Option<OwnedFd>,
    /// Where a captured network arrives, in the order of `ak_net::capture::Role::ALL`.
    pub listeners: [Option<OwnedFd>; sys::LISTENERS],
    /// Where the requests of a lazy view come from, in a virtual machine.
    pub view: Option<OwnedFd>,
    pub child_signals: OwnedFd,
    /// Process 1 owns every process of the sandbox; started in any other way
    /// (tests) the guest owns only its own descendants.
    pub is_init: bool,
}

/// How long a container outlives its commands. Its files in memory are gone with its first process, and the host may
/// still want to read the project. A host that is alive ends the container when it is done; the guest waits no longer
/// for one that is not.
const LINGER: Duration = Duration::from_secs(60);

pub fn linger_if_told() {
    if sys::is_told("lingers") {
        std::thread::sleep(LINGER);
    }
}

pub fn prepare(words: Vec<OsString>) -> io::Result<Prepared> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    sys::hear(words);
    let is_machine = sys::is_told("machine");
    let has_output = sys::is_told("pipes") || is_machine;
    let sys::Inherited { host: stream, listeners, output, view } =
        sys::take_inherited(sys::is_told("captured"), has_output, is_machine)?;
    let is_init = getpid().is_init();
    if !is_init {
        set_child_subreaper(Some(getpid()))?;
    }
    sys::set_dispositions();
    umask(Mode::empty());
    let child_signals = sys::child_signal_fd()?;
    let (host, host_socket, entrance) = match () {
        () if is_machine => (output.map(HostStream::device).transpose()?, None, Some(stream)),
        () if sys::is_told("warm") => (None, None, Some(stream)),
        () if sys::is_told("kept") => (None, Some(stream), None),
        () => (Some(to_host(stream, output)), None, None),
    };
    if let Some(host_socket) = &host_socket {
        fcntl_setfl(host_socket, fcntl_getfl(host_socket)? | OFlags::NONBLOCK)?;
    }
    Ok(Prepared { host, host_socket, entrance, listeners, view, child_signals, is_init })
}

fn to_host(stream: OwnedFd, output: Option<OwnedFd>) -> HostStream {
    match output {
        Some(output) => HostStream::pipes(stream, output),
        None => HostStream::socket(stream),
    }
}
