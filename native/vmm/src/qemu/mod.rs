//! QEMU as a monitor: its machine `microvm`, spoken to by QMP on a socket that it inherits.

mod clock;
mod qmp;
mod words;

use std::{
    io::Read,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::{
    io::{FdFlags, fcntl_setfd},
    process::{Pid, PidfdFlags, pidfd_open},
};
use serde_json::json;

use crate::{
    console::Console,
    failure::{During, Failure, Outcome},
    monitor::{End, Monitor},
    spec::MachineSpec,
    watch,
};
use qmp::{Answer, Qmp};
use words::Ends;

/// For one answer. QEMU answers at once, unless the machine it runs on has no time for it.
const PATIENCE: Duration = Duration::from_secs(60);
/// How much of what was said last is told. The pipe to the supervisor takes it whole.
const TOLD_CHARS: usize = 2000;

pub struct Qemu {
    child: Child,
    pidfd: OwnedFd,
    qmp: Qmp,
    line: UnixStream,
    console: Console,
}

impl Monitor for Qemu {
    fn boot(spec: &MachineSpec, stream: OwnedFd) -> Outcome<Self> {
        let mut started = Self::start(spec, stream)?;
        started.qmp.say(&json!({ "execute": "qmp_capabilities" }))?;
        Ok(started)
    }

    fn restore(spec: &MachineSpec, stream: OwnedFd) -> Outcome<Self> {
        let mut started = Self::start(spec, stream)?;
        // All at once: nothing of it depends on an answer, and a refusal is met while its end is awaited.
        started.qmp.say(&json!({ "execute": "qmp_capabilities" }))?;
        started.qmp.say(&ignore_shared())?;
        let uri = format!("fd:{}", crate::spec::STATE_FD);
        started.qmp.say(&json!({ "execute": "migrate-incoming", "arguments": { "uri": uri } }))?;
        Ok(started)
    }

    fn save(&mut self) -> Outcome<()> {
        self.qmp.ask(&ignore_shared(), PATIENCE)?;
        let state = crate::spec::STATE_FD;
        // SAFETY: the jail put it there, and it stays open for as long as this process lives.
        let state = unsafe { std::os::fd::BorrowedFd::borrow_raw(state) };
        self.qmp.hand_over("state", state, PATIENCE)?;
        self.qmp.ask(&json!({ "execute": "migrate", "arguments": { "uri": "fd:state" } }), PATIENCE)?;
        let until = Instant::now() + PATIENCE;
        loop {
            let answer = self.qmp.ask(&json!({ "execute": "query-migrate" }), PATIENCE)?;
            match answer.get("status").and_then(|status| status.as_str()) {
                Some("completed") => return Ok(()),
                Some("failed" | "cancelled") => {
                    return Err(Failure::new(format!("QEMU could not save the machine: {answer}")));
                }
                _ if Instant::now() > until => return Err(Failure::new("QEMU took too long to save the machine")),
                _ => self.qmp.await_event("MIGRATION", Duration::from_millis(50))?,
            }
        }
    }

    fn pause(&mut self) -> Outcome<()> {
        self.qmp.ask(&json!({ "execute": "stop" }), PATIENCE).map(drop)
    }

    fn resume(&mut self) -> Outcome<()> {
        self.qmp.ask(&json!({ "execute": "cont" }), PATIENCE).map(drop)
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn last_words(&mut self) -> String {
        // Whatever else there is to hear, or not, is no news any more.
        while matches!(self.hear_console(), Ok(Heard::Some)) {}
        self.console.last_words(TOLD_CHARS)
    }

    fn await_end(mut self) -> Outcome<End> {
        let mut is_line_open = true;
        let mut is_qmp_open = true;
        let mut told_kills = 0;
        loop {
            let mut fds = vec![self.pidfd.as_fd()];
            if is_line_open {
                fds.push(self.line.as_fd());
            }
            if is_qmp_open {
                fds.push(self.qmp.as_fd());
            }
            let ready = watch::await_any(&fds, None)?;
            let mut following = ready[1..].iter();
            if is_line_open && following.next() == Some(&true) {
                is_line_open = self.hear_console()? != Heard::End;
                for _ in 0..self.console.new_kills(&mut told_kills) {
                    // At once: whoever ends the machine does not wait for what is said of it.
                    eprintln!("{}", crate::OUT_OF_MEMORY);
                }
                if self.console.is_flooded() {
                    let said = self.console.last_words(TOLD_CHARS);
                    return Ok(End::Failed(format!("the machine's kernel flooded its console: {said}")));
                }
            }
            if is_qmp_open && following.next() == Some(&true) {
                is_qmp_open = self.hear_qmp()?;
            }
            if ready[0] {
                while self.hear_console()? == Heard::Some {}
                return self.ended();
            }
        }
    }
}

#[derive(PartialEq, Eq)]
enum Heard {
    Some,
    NothingNow,
    End,
}

impl Qemu {
    fn start(spec: &MachineSpec, stream: OwnedFd) -> Outcome<Self> {
        let (qmp, its_qmp) = UnixStream::pair().during("make QEMU's control socket")?;
        let (line, its_line) = UnixStream::pair().during("make the machine's console")?;
        let ends = Ends { stream: &stream, qmp: its_qmp.as_fd(), console: its_line.as_fd() };
        let words = words::of(spec, &ends);
        for fd in [stream.as_fd(), its_qmp.as_fd(), its_line.as_fd()] {
            fcntl_setfd(fd, FdFlags::empty()).during("give QEMU a descriptor")?;
        }
        let child = Command::new(&spec.program)
            .args(words)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .during(format_args!("start {}", spec.program.display()))?;
        // Only the monitor's process has them from here on, so that their end is its end.
        drop((stream, its_qmp, its_line));
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| Failure::new("QEMU has no process id"))?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).during("watch QEMU")?;
        line.set_nonblocking(true).during("listen to the console")?;
        Ok(Self { child, pidfd, qmp: Qmp::new(qmp), line, console: Console::default() })
    }

    fn hear_console(&mut self) -> Outcome<Heard> {
        let mut bytes = [0; 4096];
        match self.line.read(&mut bytes) {
            Ok(0) => Ok(Heard::End),
            Ok(count) => {
                self.console.hear(&bytes[..count]);
                Ok(Heard::Some)
            }
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => Ok(Heard::NothingNow),
            // A socket that its peer left with unread bytes says so once.
            Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => Ok(Heard::End),
            Err(e) => Err(e).during("listen to the console"),
        }
    }

    fn hear_qmp(&mut self) -> Outcome<bool> {
        for answer in self.qmp.hear()? {
            match answer {
                Answer::Refused(why) => return Err(Failure::new(format!("QEMU refused: {why}"))),
                Answer::Gone => return Ok(false),
                Answer::Done(_) | Answer::Event(_) => {}
            }
        }
        Ok(true)
    }

    fn ended(&mut self) -> Outcome<End> {
        let status = self.child.wait().during("wait for QEMU")?;
        let said = self.console.last_words(TOLD_CHARS);
        if self.console.has_panic() {
            return Ok(End::Failed(said));
        }
        if status.success() {
            return Ok(End::Off);
        }
        Ok(End::Failed(format!("QEMU ended with {status}{}{said}", if said.is_empty() { "" } else { ": " })))
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        // It may have ended; then there is nobody to kill, and nobody to wait for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The memory is a file that whoever restores it has already.
fn ignore_shared() -> serde_json::Value {
    let capability = |name: &str| json!({ "capability": name, "state": true });
    json!({
        "execute": "migrate-set-capabilities",
        "arguments": { "capabilities": [capability("x-ignore-shared"), capability("events")] },
    })
}
