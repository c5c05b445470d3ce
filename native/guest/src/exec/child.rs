//! The command's process until it executes the program. The memory is its parent's, so nothing here allocates or is changed
//! that the parent relies on.

use std::os::fd::RawFd;

use rustix::fs::Mode;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Signal, chdir, getpid, ioctl_tiocsctty, set_parent_process_death_signal, umask};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use super::prepared::Prepared;
use super::report::{Report, Stage};
use crate::sys;
use crate::users::Identity;

/// Descriptors that become 0, 1 and 2. All are above 2.
#[derive(Clone, Copy)]
pub struct ChildStdio {
    /// None leaves the guest's own, which is /dev/null.
    pub stdin: Option<RawFd>,
    pub stdout: RawFd,
    pub stderr: RawFd,
    /// Kept under its own number.
    pub calls: Option<RawFd>,
    pub tty: bool,
}

/// The data that a command's process starts with. It lies in the parent's memory, which both share until execve (as
/// after vfork).
pub struct Start<'a> {
    pub command: &'a mut Prepared,
    pub stdio: ChildStdio,
    /// Where it tells that it exists, where the guest is not its parent.
    pub report: Option<RawFd>,
    /// Process 1 takes everything with it; any other guest needs this.
    pub die_with_keeper: bool,
    /// Why the command was never executed, for the parent.
    pub failed: Option<Report>,
}

/// Becomes the command, or leaves a failure record and exits.
pub fn run(start: &mut Start<'_>) -> ! {
    if let Some(report) = start.report {
        let forked = Report::Forked { pid: getpid().as_raw_nonzero().get() };
        // A guest that is gone has taken the sandbox with it.
        let _ = rustix::io::write(sys::borrow(report), &forked.encode());
    }
    let (stage, errno) = match set_up(start.command, start.stdio, start.die_with_keeper) {
        Ok(()) => (Stage::Exec, start.command.exec()),
        Err(failed) => failed,
    };
    start.failed = Some(Report::Failed { stage, errno: errno.raw_os_error() });
    sys::exit_now(127)
}

fn set_up(command: &Prepared, stdio: ChildStdio, die_with_keeper: bool) -> Result<(), (Stage, Errno)> {
    sys::set_session().map_err(|errno| (Stage::Process, errno))?;
    set_stdio(stdio).map_err(|errno| (Stage::Terminal, errno))?;
    umask(Mode::from_raw_mode(0o022));
    if let Some(identity) = &command.identity {
        become_user(identity).map_err(|errno| (Stage::User, errno))?;
    }
    chdir(command.cwd.as_c_str()).map_err(|errno| (Stage::Cwd, errno))?;
    sys::reset_signals();
    // Where a launcher may have asked for something else.
    if !sys::is_told("machine") {
        sys::schedule_as_usual();
    }
    if die_with_keeper {
        // After the change of user, which would clear it.
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(|errno| (Stage::Process, errno))?;
    }
    Ok(())
}

fn set_stdio(stdio: ChildStdio) -> Result<(), Errno> {
    if stdio.tty {
        ioctl_tiocsctty(sys::borrow(stdio.stdout))?;
    }
    if let Some(calls) = stdio.calls {
        fcntl_setfd(sys::borrow(calls), FdFlags::empty())?;
    }
    if let Some(stdin) = stdio.stdin {
        rustix::stdio::dup2_stdin(sys::borrow(stdin))?;
    }
    rustix::stdio::dup2_stdout(sys::borrow(stdio.stdout))?;
    rustix::stdio::dup2_stderr(sys::borrow(stdio.stderr))
}

fn become_user(identity: &Identity) -> Result<(), Errno> {
    let Identity { uid, gid, groups } = identity;
    set_thread_groups(groups)?;
    set_thread_res_gid(*gid, *gid, *gid)?;
    set_thread_res_uid(*uid, *uid, *uid)
}
