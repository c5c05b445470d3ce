//! A keeper that was forked before there is a command for it, so that starting one takes neither a fork nor the making
//! of pipes. It waits for one order, serves it like any other keeper, and ends without one when the guest lets go of it.
//! What it inherits is what the guest had when it was forked: whatever changes for the guest later has to reach it too.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::fs::fchown;
use rustix::io::{Errno, read, write};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::getpid;

use super::child::ChildStdio;
use super::ends::{input_pipe, output_pipe, set_nonblocking};
use super::keeper;
use super::prepared::Prepared;
use super::spawn::{Parent, Spawned};
use crate::sys::{self, Forked};

/// An empty pipe takes as much at once, unless its user's share of pipe memory is used up. A longer order goes to a
/// keeper that is forked with it.
const MAX_ORDER_BYTES: usize = 32 << 10;
/// How long the rest is, and whether the command has a stdin.
const ORDER_HEAD_BYTES: usize = 5;

pub struct Spare {
    pub keeper: i32,
    order: OwnedFd,
    report: OwnedFd,
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl Spare {
    /// None where there is not enough of something: it only saves time.
    pub fn fork() -> Option<Self> {
        // Commands of gVisor's kernel are started by it at a price that this does not change.
        if sys::is_told("gvisor") {
            return None;
        }
        Self::try_fork().ok()
    }

    fn try_fork() -> Result<Self, Errno> {
        let (stdout, child_out) = output_pipe()?;
        let (stderr, child_err) = output_pipe()?;
        let (child_in, stdin) = input_pipe()?;
        let (report, child_report) = pipe_with(PipeFlags::CLOEXEC)?;
        let (child_order, order) = pipe_with(PipeFlags::CLOEXEC)?;
        for end in [&report, &order] {
            set_nonblocking(end)?;
        }
        if sys::is_in_reserve(&order) {
            return Err(Errno::MFILE);
        }
        let stdio = ChildStdio {
            stdin: Some(child_in.as_raw_fd()),
            stdout: child_out.as_raw_fd(),
            stderr: child_err.as_raw_fd(),
            calls: None,
            tty: false,
        };
        let guest = getpid().as_raw_nonzero().get();
        match sys::fork().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))? {
            Forked::Parent(keeper) => Ok(Self { keeper, order, report, stdin, stdout, stderr }),
            Forked::Child => keeper::run_ahead(child_order.as_raw_fd(), stdio, child_report.as_raw_fd(), guest),
        }
    }

    /// None where it cannot have the order, or is not there any more: it ends, having started nothing.
    pub fn order(self, command: &Prepared, has_stdin: bool) -> Option<Spawned> {
        let mut order = vec![0; ORDER_HEAD_BYTES];
        command.encode(&mut order);
        let length = order.len() - ORDER_HEAD_BYTES;
        order[..4].copy_from_slice(&(length as u32).to_le_bytes());
        order[4] = u8::from(has_stdin);
        if order.len() > MAX_ORDER_BYTES {
            return None;
        }
        if let Some(identity) = &command.identity {
            // Both ends of a pipe are one file. Without the right to do so the command can still use them as they are.
            for end in [&self.stdin, &self.stdout, &self.stderr] {
                let _ = fchown(end, Some(identity.uid), None);
            }
        }
        // A process of the sandbox may have stopped it.
        let _ = sys::kill(self.keeper, libc::SIGCONT);
        // One that gets a part of it sees its end next, and starts nothing.
        let is_sent = write(&self.order, &order) == Ok(order.len());
        let Self { keeper, report, stdin, stdout, stderr, .. } = self;
        let stdin = has_stdin.then_some(stdin);
        let parent = Parent::Keeper { pid: keeper, report };
        is_sent.then_some(Spawned { parent, stdin, stdout, stderr: Some(stderr), calls: None })
    }

    /// The limits of the guest were set after this one was forked. False where they cannot be its own.
    pub fn take_limits(&self) -> bool {
        sys::share_limits(self.keeper).is_ok()
    }
}

/// In the keeper: the command, and whether it has a stdin; none when the guest lets go.
pub fn await_order(order: RawFd) -> Result<Option<(Prepared, bool)>, Errno> {
    let mut bytes = vec![0; MAX_ORDER_BYTES];
    let mut filled = 0;
    loop {
        match read(sys::borrow(order), &mut bytes[filled..]) {
            Ok(0) => return Ok(None),
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        let Some((head, rest)) = bytes[..filled].split_first_chunk::<ORDER_HEAD_BYTES>() else { continue };
        let [length @ .., has_stdin] = *head;
        if rest.len() == u32::from_le_bytes(length) as usize {
            let command = Prepared::decode(rest).ok_or(Errno::INVAL)?;
            return Ok(Some((command, has_stdin == 1)));
        }
    }
}
