//! Process 1 of a persistent virtual machine: hosts connect to its sandbox and disconnect, and others send requests.
//! The process that runs the virtual machine sends orders on a port of their own. It announces a connection there,
//! attaches it only after process 1 has said that the port is free, and orders the end of the sandbox. Everything that
//! may wait is done by a process of its own.

mod copy_identity;
mod freezer;
mod hosts;
mod orders;
mod requests;

use std::{fs::File, os::fd::OwnedFd, path::Path, time::Duration};

use ak_jail::{
    fault::{During, Fault, Outcome},
    sys::{Fork, fork_into, kill_all_others},
};
pub use copy_identity::Kind;
use freezer::Thaw;
use orders::{Order, Ready};
use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::sync,
    io::Errno,
    process::{Pid, Signal, WaitOptions, kill_process, waitpid},
    time::{ClockId, Timespec, clock_settime},
};

use crate::{
    end::{self, End},
    ended::EndedSandbox,
    stream,
};

/// On the kernel's command line.
const WORD: &str = "ak.stays";
const ORDERS: &str = "/dev/vport0p3";
/// How long written data stays in memory only, and how often the kernel checks, in hundredths of a second: killing a
/// virtual machine loses its memory.
const WRITTEN_AFTER: [(&str, &str); 2] =
    [("/proc/sys/vm/dirty_expire_centisecs", "100"), ("/proc/sys/vm/dirty_writeback_centisecs", "100")];

pub fn is_asked_for(command_line: &str) -> bool {
    command_line.split_ascii_whitespace().any(|word| word == WORD)
}

pub struct PersistentSandbox {
    /// The sandbox's first process.
    pid: libc::pid_t,
    pidfd: OwnedFd,
    ended: EndedSandbox,
    kind: Kind,
}

impl PersistentSandbox {
    pub fn new(pid: libc::pid_t, pidfd: OwnedFd, ended: EndedSandbox, kind: Kind) -> Self {
        Self { pid, pidfd, ended, kind }
    }

    /// Until the sandbox has ended, and nothing else runs.
    pub fn run(self) -> Outcome<End> {
        for (setting, value) in WRITTEN_AFTER {
            std::fs::write(setting, value).during("have what is written on the disk soon")?;
        }
        let mut orders = stream::open_port(Path::new(ORDERS))?;
        let (mut host, mut request, mut stopper) = (None, None, None);
        while !self.has_ended(&orders)? {
            match orders::next(&mut orders)? {
                Order::Stop { grace_ms } => self.stop(grace_ms)?,
                Order::AcceptHost => {
                    replace(&mut host, || hosts::let_in(self.pid, Ready::for_host(&orders)))?;
                }
                Order::AcceptRequest => {
                    let room = Ready::for_request(&orders);
                    replace(&mut request, || requests::serve(self.pid, &self.ended, self.kind, room))?;
                }
                Order::Freeze { answer } => {
                    replace(&mut stopper, || freeze(Ready::to_be_saved(&orders, answer)))?;
                }
                Order::Thaw { now_ns } => {
                    end_worker(&mut stopper)?;
                    // Before anything of it runs: its time stood still with it.
                    set_clock(now_ns)?;
                    Thaw::open()?.now()?;
                }
            }
        }
        let how = end::of_child(self.pid, &self.ended, || Ok(()))?;
        kill_all_others().during("end what is left")?;
        // The last who had its mounts in sight: the disk is unmounted with them.
        drop(self.ended);
        Ok(how)
    }

    /// False where there is an order.
    fn has_ended(&self, orders: &File) -> Outcome<bool> {
        loop {
            let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN), PollFd::new(orders, PollFlags::IN)];
            match poll(&mut fds, None) {
                Ok(_) if !fds[0].revents().is_empty() => return Ok(true),
                Ok(_) if fds[1].revents().contains(PollFlags::IN) => return Ok(false),
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => return Err(e).during("wait for the sandbox"),
            }
        }
    }

    /// A sandbox that cannot be reached has not begun, or has ended: then there is nothing to wait for.
    fn stop(&self, grace_ms: u64) -> Outcome<()> {
        let asker = apart(|| {
            hosts::become_user_of(self.pid)?;
            if ak_wire::host_socket::named::send_stop(grace_ms).is_err() {
                // The exit status reports it.
                std::process::exit(1);
            }
            Ok(())
        })?;
        let status = waitpid(Some(asker), WaitOptions::empty()).during("ask for the end")?;
        let is_asked = status.is_some_and(|(_, status)| status.exit_status() == Some(0));
        match Pid::from_raw(self.pid) {
            Some(sandbox) if !is_asked => kill_process(sandbox, Signal::KILL).during("end the sandbox"),
            _ => Ok(()),
        }
    }
}

/// Works in a process of its own. A failure there goes to the kernel's log.
fn apart(work: impl FnOnce() -> Outcome<()>) -> Outcome<Pid> {
    match fork_into(0, None).during("start a process")? {
        Fork::Parent { pid, .. } => Pid::from_raw(pid).ok_or_else(|| Fault::new("internal", "a process without an id")),
        Fork::Child => {
            if let Err(fault) = work() {
                end::log(&fault.to_string());
            }
            std::process::exit(0)
        }
    }
}

/// Freezes the sandbox. Its writes are on its disk by the time that this returns.
fn freeze(ready: Ready<'_>) -> Outcome<()> {
    if let Err(fault) = freezer::begin() {
        ready.refuse()?;
        return Err(fault);
    }
    sync();
    ready.tell()
}

fn set_clock(now_ns: u64) -> Outcome<()> {
    let now = Duration::from_nanos(now_ns);
    let now = Timespec::try_from(now).during("understand the time")?;
    clock_settime(ClockId::Realtime, now).during("set the clock")
}

/// Ends the process, which may still wait for a host that has gone.
fn end_worker(worker: &mut Option<Pid>) -> Outcome<()> {
    let Some(before) = worker.take() else { return Ok(()) };
    kill_process(before, Signal::KILL).during("end a process")?;
    waitpid(Some(before), WaitOptions::empty()).during("end a process").map(drop)
}

/// In the place of the process before.
fn replace(worker: &mut Option<Pid>, work: impl FnOnce() -> Outcome<()>) -> Outcome<()> {
    end_worker(worker)?;
    *worker = Some(apart(work)?);
    Ok(())
}
