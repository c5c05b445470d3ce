//! Makes the descriptors of an exec and starts it: below a keeper, or as the guest's own child.

use std::os::fd::{AsRawFd, OwnedFd};

use ak_wire::payload::OpenExec;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::getpid;

use super::child::{self, ChildStdio, Start};
use super::ends::{Ends, Pipes, set_nonblocking};
use super::keeper;
use super::prepared::Prepared;
use super::report::Report;
use super::spare::Spare;
use crate::channel::Refusal;
use crate::sys::{self, Forked};

/// Says to a command which of its descriptors leads to the host.
const CALLS_VARIABLE: &str = "AGENTKERNEL_CALLS_FD";

/// The guest's ends; all are non-blocking and close on exec.
pub struct Spawned {
    pub parent: Parent,
    pub stdin: Option<OwnedFd>,
    /// One output with a PTY, else stdout and stderr.
    pub stdout: OwnedFd,
    pub stderr: Option<OwnedFd>,
    /// Where the command calls the host.
    pub calls: Option<OwnedFd>,
}

/// Whose child the command is.
pub enum Parent {
    Keeper {
        pid: i32,
        report: OwnedFd,
    },
    /// The guest itself, which has waited until the command was executed or failed.
    Guest {
        command: i32,
        told: Report,
    },
}

/// Who is to be the command's parent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Parentage {
    Kept,
    Own,
}

impl Parentage {
    /// Whether a command gets a keeper. Forking one is by far the most expensive part of a start on gVisor's kernel,
    /// which builds the memory of a new process page by page; in a virtual machine that was just restored, its code has
    /// not been translated yet. The first command of a sandbox has none: as long as nothing else has run, every child
    /// of the guest belongs to that command. The guest waits for its execve, which no other process can delay yet. In
    /// both cases the guest is process 1, whose end ends everything.
    pub fn of(is_first: bool) -> Self {
        if is_first && (sys::is_told("gvisor") || sys::is_told("machine")) { Self::Own } else { Self::Kept }
    }
}

/// By the spare keeper, where there is one that serves for this command.
pub fn spawn(
    open: &OpenExec,
    parentage: Parentage,
    spare: &mut Option<Spare>,
    pipes: &mut Pipes,
) -> Result<Spawned, Refusal> {
    let (calls, child_calls) = make_calls(open)?.unzip();
    let mut command = match &child_calls {
        Some(end) => Prepared::new(&with_calls(open, end))?,
        None => Prepared::new(open)?,
    };
    if let Some(spare) = spare.take_if(|_| open.tty.is_none() && !open.calls)
        && let Some(spawned) = spare.order(&command, open.stdin)
    {
        return Ok(spawned);
    }
    let ends = Ends::make(open, pipes).map_err(no_resource)?;
    if let Some(identity) = &command.identity {
        ends.give_to(identity);
    }
    let calls_fd = child_calls.as_ref().map(AsRawFd::as_raw_fd);
    let stdio = ChildStdio { calls: calls_fd, ..ends.of_child() };
    let parent = match parentage {
        Parentage::Kept => fork_keeper(&mut command, stdio)?,
        Parentage::Own => start_own(&mut command, stdio)?,
    };
    Ok(Spawned { parent, stdin: ends.ours_in, stdout: ends.ours_out, stderr: ends.ours_err, calls })
}

fn fork_keeper(command: &mut Prepared, stdio: ChildStdio) -> Result<Parent, Refusal> {
    let (report, report_write) = pipe_with(PipeFlags::CLOEXEC).map_err(no_resource)?;
    set_nonblocking(&report).map_err(no_resource)?;
    if sys::is_in_reserve(&report_write) {
        return Err(no_resource(Errno::MFILE));
    }
    let guest = getpid().as_raw_nonzero().get();
    match sys::fork().map_err(no_process)? {
        Forked::Parent(pid) => Ok(Parent::Keeper { pid, report }),
        Forked::Child => keeper::run(command, stdio, report_write.as_raw_fd(), guest),
    }
}

fn start_own(command: &mut Prepared, stdio: ChildStdio) -> Result<Parent, Refusal> {
    let mut start = Start { command, stdio, report: None, die_with_keeper: false, failed: None };
    let command = sys::start_borrowing(&mut start, child::run).map_err(no_process)?;
    Ok(Parent::Guest { command, told: start.failed.take().unwrap_or(Report::Started) })
}

fn no_process(error: std::io::Error) -> Refusal {
    no_resource(Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))
}

fn no_resource(errno: Errno) -> Refusal {
    Refusal::new("resource", errno)
}

/// The guest's end and the command's, which blocks like any socket that a program makes.
fn make_calls(open: &OpenExec) -> Result<Option<(OwnedFd, OwnedFd)>, Refusal> {
    if !open.calls {
        return Ok(None);
    }
    if open.key.is_some() {
        return Err(Refusal::invalid("calls of a command that outlives its host have nobody to answer them"));
    }
    let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let (ours, child) = pair.map_err(no_resource)?;
    set_nonblocking(&ours).map_err(no_resource)?;
    Ok(Some((ours, child)))
}

/// The descriptor keeps its number, so that it takes no other's place.
fn with_calls(open: &OpenExec, end: &OwnedFd) -> OpenExec {
    let mut open = open.clone();
    open.env.insert(CALLS_VARIABLE.into(), end.as_raw_fd().to_string());
    open
}
