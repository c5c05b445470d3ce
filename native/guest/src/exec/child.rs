//! The command's process between fork and exec. Nothing here allocates.

use std::os::fd::RawFd;

use rustix::fs::Mode;
use rustix::io::Errno;
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
    pub tty: bool,
}

/// Where the command's process finds those around it.
#[derive(Clone, Copy)]
pub struct Surroundings {
    pub report: RawFd,
    /// Closes on exec, which is how the keeper learns of the success.
    pub failure: RawFd,
    /// Process 1 takes everything with it; any other guest needs this.
    pub die_with_keeper: bool,
}

/// Becomes the command, or writes a failure record and exits.
pub fn run(command: &mut Prepared, stdio: ChildStdio, around: Surroundings) -> ! {
    let forked = Report::Forked { pid: getpid().as_raw_nonzero().get() };
    // A guest that is gone has taken the sandbox with it.
    let _ = rustix::io::write(sys::borrow(around.report), &forked.encode());
    let (stage, errno) = match set_up(command, stdio, around.die_with_keeper) {
        Ok(()) => (Stage::Exec, command.exec()),
        Err(failed) => failed,
    };
    let report = Report::Failed { stage, errno: errno.raw_os_error() };
    // A keeper that is gone needs no answer.
    let _ = rustix::io::write(sys::borrow(around.failure), &report.encode());
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
