//! The streams of an exec: the guest's ends, which are non-blocking, and the command's. All close on exec.

use std::os::fd::{AsRawFd, OwnedFd};

use ak_wire::payload::OpenExec;
use rustix::fs::{OFlags, fchown, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

use super::child::ChildStdio;
use crate::pty;
use crate::users::Identity;

/// Large pipes let a fast writer run on while a frame is on its way.
const OUTPUT_PIPE_BYTES: usize = 1 << 20;

pub struct Ends {
    pub ours_in: Option<OwnedFd>,
    pub ours_out: OwnedFd,
    /// None with a PTY, which has one output.
    pub ours_err: Option<OwnedFd>,
    child_in: Option<OwnedFd>,
    child_out: OwnedFd,
    child_err: Option<OwnedFd>,
}

/// Where to read, and where to write.
type Pipe = (OwnedFd, OwnedFd);

/// Pipes that were made before there is a command for them. What it does not take stays here.
#[derive(Default)]
pub struct Pipes {
    input: Option<Pipe>,
    outputs: Option<[Pipe; 2]>,
}

impl Pipes {
    /// None where there is not enough of something: they only save time.
    pub fn ahead() -> Self {
        Self { input: input_pipe().ok(), outputs: output_pipes().ok() }
    }
}

impl Ends {
    pub fn make(open: &OpenExec, ahead: &mut Pipes) -> Result<Self, Errno> {
        if let Some(size) = open.tty {
            let pty = pty::open(size)?;
            return Ok(Self {
                ours_in: Some(pty.master.try_clone().map_err(|_| Errno::MFILE)?),
                ours_out: pty.master,
                ours_err: None,
                child_in: Some(pty.slave.try_clone().map_err(|_| Errno::MFILE)?),
                child_out: pty.slave,
                child_err: None,
            });
        }
        let input = if open.stdin { Some(ahead.input.take().map_or_else(input_pipe, Ok)?) } else { None };
        let (child_in, ours_in) = input.unzip();
        let [(ours_out, child_out), (ours_err, child_err)] = ahead.outputs.take().map_or_else(output_pipes, Ok)?;
        Ok(Self { ours_in, ours_out, ours_err: Some(ours_err), child_in, child_out, child_err: Some(child_err) })
    }

    pub fn of_child(&self) -> ChildStdio {
        ChildStdio {
            stdin: self.child_in.as_ref().map(AsRawFd::as_raw_fd),
            stdout: self.child_out.as_raw_fd(),
            stderr: self.child_err.as_ref().unwrap_or(&self.child_out).as_raw_fd(),
            calls: None,
            tty: self.child_err.is_none(),
        }
    }

    /// Lets a command of another user reopen its own streams (`/dev/stdout`, `/dev/tty`). Without the right to do so it
    /// can still use them as they are.
    pub fn give_to(&self, identity: &Identity) {
        let fds = [&self.child_in, &self.child_err].into_iter().flatten().chain([&self.child_out]);
        for fd in fds {
            let _ = fchown(fd, Some(identity.uid), None);
        }
    }
}

fn output_pipes() -> Result<[Pipe; 2], Errno> {
    Ok([output_pipe()?, output_pipe()?])
}

/// The guest's end and the command's.
pub fn output_pipe() -> Result<Pipe, Errno> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    set_nonblocking(&read)?;
    // A user's share of pipe memory may be used up; the default size works too.
    let _ = fcntl_setpipe_size(&read, OUTPUT_PIPE_BYTES);
    Ok((read, write))
}

/// The command's end and the guest's.
pub fn input_pipe() -> Result<Pipe, Errno> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    set_nonblocking(&write)?;
    Ok((read, write))
}

/// Sets O_NONBLOCK on a new pipe or socket, which has no other status flag.
pub fn set_nonblocking(fd: &OwnedFd) -> Result<(), Errno> {
    fcntl_setfl(fd, OFlags::NONBLOCK)
}
