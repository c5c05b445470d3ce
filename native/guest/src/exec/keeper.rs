//! The keeper: a small process between the guest and one command. It is the
//! subreaper of the command, so all that the command leaves behind stays below
//! it and can be found; it reports the command's end and lives until its last
//! descendant is gone. It never reads anything that the command can write.

use std::os::fd::RawFd;

use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Signal, getpid, getppid, set_child_subreaper, set_dumpable_behavior,
    set_parent_process_death_signal,
};

use super::child::{self, ChildStdio, Start};
use super::prepared::Prepared;
use super::report::{Report, Stage};
use super::spare;
use crate::sys;

/// The keeper's whole life, in a freshly forked process.
pub fn run(command: &mut Prepared, stdio: ChildStdio, report: RawFd, guest: i32) -> ! {
    let served = settle(guest)
        .and_then(|is_guest_there| if is_guest_there { serve(command, stdio, report, guest) } else { Ok(()) });
    exit(served, report)
}

/// Likewise, where the command comes later, or never.
pub fn run_ahead(order: RawFd, stdio: ChildStdio, report: RawFd, guest: i32) -> ! {
    let served = settle(guest).and_then(|is_guest_there| {
        if !is_guest_there {
            return Ok(());
        }
        sys::close_all_but([order, stdio.stdin.unwrap_or(order), stdio.stdout, stdio.stderr, report]);
        match spare::await_order(order)? {
            Some((mut command, has_stdin)) => {
                let stdin = stdio.stdin.filter(|_| has_stdin);
                serve(&mut command, ChildStdio { stdin, ..stdio }, report, guest)
            }
            None => Ok(()),
        }
    });
    exit(served, report)
}

fn exit(served: Result<(), Errno>, report: RawFd) -> ! {
    let code = match served {
        Ok(()) => 0,
        Err(errno) => {
            let failed = Report::Failed { stage: Stage::Process, errno: errno.raw_os_error() };
            send(report, &failed);
            1
        }
    };
    sys::exit_now(code)
}

/// Makes the keeper a child subreaper that dies with the guest. Returns false where the guest had ended before the
/// parent-death signal was set.
fn settle(guest: i32) -> Result<bool, Errno> {
    sys::block_all_signals();
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    match set_child_subreaper(Some(getpid())) {
        // A kernel that knows of no subreapers leaves orphans to the guest, which looks for them there.
        Err(Errno::INVAL) => {}
        result => result?,
    }
    set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(getppid().map(|pid| pid.as_raw_nonzero().get()) == Some(guest))
}

fn serve(command: &mut Prepared, stdio: ChildStdio, report: RawFd, guest: i32) -> Result<(), Errno> {
    let stdin = stdio.stdin.unwrap_or(report);
    let calls = stdio.calls.unwrap_or(report);
    sys::close_all_but([stdin, stdio.stdout, stdio.stderr, calls, report]);
    let mut start = Start { command, stdio, report: Some(report), die_with_keeper: guest != 1, failed: None };
    let pid =
        sys::start_borrowing(&mut start, child::run).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::AGAIN))?;
    let failed = start.failed.take();
    // Holding the others open would keep the command's streams from ending.
    sys::close_all_but([report]);
    send(report, &failed.unwrap_or(Report::Started));
    reap_all(pid, report);
    Ok(())
}

/// Reaps until no child is left. The end is reported before it is reaped: a keeper that is killed in between leaves the
/// status to the process that inherits its children.
fn reap_all(command: i32, report: RawFd) {
    loop {
        match sys::peek_ended() {
            Ok(ended) => {
                if ended.pid == command {
                    let exited = Report::Exited { status: ended.status, usage: ended.usage };
                    send(report, &exited);
                    // The process that waits for the report goes first: the rest takes longer than that.
                    rustix::thread::sched_yield();
                }
                sys::reap_one(ended.pid);
            }
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            // ECHILD: the last descendant is gone.
            Err(_) => return,
        }
    }
}

fn send(report: RawFd, record: &Report) {
    // The guest may have given the exec up and closed its end; that is no error.
    let _ = rustix::io::write(sys::borrow(report), &record.encode());
}
