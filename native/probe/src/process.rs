//! Forked helpers. The whole program has one thread, so a forked child may run any code; every child dies
//! with its parent and answers over a pipe.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use rustix::pipe::{PIPE_BUF, PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use crate::report::{Fault, Verdict};

/// Forks; the child runs `body` and exits with what it returns, never coming back into the caller's code.
pub fn fork(body: impl FnOnce() -> i32) -> io::Result<Pid> {
    let parent = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: the process has a single thread, so the child inherits no lock held by another one.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            PARENT.store(parent, Relaxed);
            let status = catch_unwind(AssertUnwindSafe(body)).unwrap_or(101);
            // SAFETY: ends the child at once; exit handlers belong to the parent.
            unsafe { libc::_exit(status) }
        }
        pid => Pid::from_raw(pid).ok_or_else(|| io::Error::other("fork answered no process id")),
    }
}

/// Who forked this process.
static PARENT: AtomicI32 = AtomicI32::new(0);

/// Ties this process's life to its parent's. To be repeated after a change of ids, which clears it. Fails if the
/// parent is gone already: the signal would never come. A parent outside of a new pid namespace has no number in it.
pub fn die_with_parent() -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    match rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get()) {
        Some(parent) if parent != PARENT.load(Relaxed) => Err(io::Error::other("whoever started this probe is gone")),
        _ => Ok(()),
    }
}

pub fn wait(pid: Pid) -> io::Result<WaitStatus> {
    loop {
        match rustix::process::waitpid(Some(pid), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(status),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// Sends a verdict in one write, which a pipe keeps whole, so the reader need not wait for the end of file.
pub fn send(answer: OwnedFd, mut verdict: Verdict) -> io::Result<()> {
    match &mut verdict {
        Ok(detail) => tidy(detail),
        Err(Fault { detail, hint }) => {
            tidy(detail);
            hint.iter_mut().for_each(tidy);
        }
    }
    std::fs::File::from(answer).write_all(&serde_json::to_vec(&verdict)?)
}

/// Two texts of this length fit into one pipe write: without control characters JSON at most doubles them.
const TEXT_LIMIT: usize = PIPE_BUF / 5;

fn tidy(text: &mut String) {
    *text = text.replace(char::is_control, "?");
    cut(text, TEXT_LIMIT);
}

fn cut(text: &mut String, room: usize) {
    let mut end = room.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}

/// The verdict that a child sent, or None if it ended without one.
pub fn receive(answer: OwnedFd) -> io::Result<Option<Verdict>> {
    let mut bytes = [0; PIPE_BUF];
    let length = std::fs::File::from(answer).read(&mut bytes)?;
    if length == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&bytes[..length])?))
}

fn unexpected(error: io::Error) -> Fault {
    Fault::new(format!("helper process: {error}"), "try again")
}

/// A child that will answer one verdict.
pub struct Helper {
    pub pid: Pid,
    answer: OwnedFd,
}

impl Helper {
    pub fn start(body: impl FnOnce() -> Verdict) -> Result<Helper, Fault> {
        let (answer, writer) = pipe().map_err(unexpected)?;
        let pid = fork(|| {
            let verdict = die_with_parent().map_err(unexpected).and_then(|()| body());
            i32::from(send(writer, verdict).is_err())
        })
        .map_err(unexpected)?;
        Ok(Helper { pid, answer })
    }

    pub fn verdict(self) -> Verdict {
        let answer = receive(self.answer);
        let status = wait(self.pid).map_err(unexpected)?;
        answer.map_err(unexpected)?.unwrap_or_else(|| Err(ended_silently(status)))
    }

    pub fn kill(self) -> Result<(), Fault> {
        rustix::process::kill_process(self.pid, Signal::KILL)
            .map_err(io::Error::from)
            .and_then(|()| wait(self.pid))
            .map(|_| ())
            .map_err(unexpected)
    }
}

/// Runs `body` in a child of its own and hands its verdict back.
pub fn verdict_of(body: impl FnOnce() -> Verdict) -> Verdict {
    Helper::start(body)?.verdict()
}

pub fn ended_silently(status: WaitStatus) -> Fault {
    let how = match (status.terminating_signal(), status.exit_status()) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, Some(code)) => format!("ended with status {code}"),
        (None, None) => "ended".to_owned(),
    };
    Fault::new(
        format!("the probe {how} without an answer"),
        "a security module or another program ends processes that use this layer; look into the kernel log",
    )
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn cutting_keeps_whole_characters() {
        let mut text = "aé".to_owned();
        cut(&mut text, 2);
        assert_eq!(text, "a");
    }
}
