//! QEMU as a monitor: its machine `microvm`, spoken to by QMP on a socket that it inherits.

mod arguments;
mod clock;
mod kept;
mod ports;
pub(crate) mod qmp;
mod snapshot_hold;

use std::{
    io::Read,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use ak_wire::host_socket::HostSocket;
use rustix::{
    io::{FdFlags, fcntl_setfd},
    process::{Pid, PidfdFlags, pidfd_open},
};
use serde_json::json;

use crate::{
    console::Console,
    failure::{During, Failure, Outcome},
    monitor::{End, Monitor},
    spec::{Action, MachineSpec},
    watch,
};
use arguments::Ends;
use qmp::{Answer, Qmp};

/// For one answer. QEMU answers at once, unless the machine it runs on has no time for it.
const PATIENCE: Duration = Duration::from_secs(60);
/// How much of the last output is reported. The pipe to the supervisor takes it whole.
const TOLD_CHARS: usize = 2000;
/// The rate limit of saving. QEMU's default is made for networks.
const BYTES_PER_SECOND: u64 = 1 << 40;

pub struct Qemu {
    child: Child,
    pidfd: OwnedFd,
    qmp: Qmp,
    line: UnixStream,
    console: Console,
    /// To process 1 of a machine that stays.
    orders: Option<UnixStream>,
    memory: Memory,
    /// How many OOM kills have been reported.
    told_kills: u32,
    is_line_open: bool,
    is_qmp_open: bool,
}

/// The result of one wait.
enum Turn {
    Over(End),
    /// Something events, to the machine or besides.
    Other,
}

impl Monitor for Qemu {
    fn boot(spec: &MachineSpec, stream: OwnedFd) -> Outcome<Self> {
        let mut started = Self::start(spec, Some(stream))?;
        started.qmp.say(&json!({ "execute": "qmp_capabilities" }))?;
        Ok(started)
    }

    fn restore(spec: &MachineSpec, stream: OwnedFd) -> Outcome<Self> {
        let mut started = Self::start(spec, Some(stream))?;
        started.say_restore()?;
        Ok(started)
    }

    fn keep(spec: &MachineSpec, host_socket: HostSocket) -> Outcome<End> {
        let mut started = Self::start(spec, None)?;
        match spec.does {
            Action::Restore | Action::Continue => started.say_restore()?,
            Action::Boot | Action::Save => started.qmp.say(&json!({ "execute": "qmp_capabilities" }))?,
        }
        kept::run(started, host_socket, spec.does)
    }

    fn save(&mut self) -> Outcome<()> {
        self.prepare_to_save(self.memory)?;
        let state = crate::spec::STATE_FD;
        // SAFETY: the jail put it there, and it stays open for as long as this process lives.
        let state = unsafe { BorrowedFd::borrow_raw(state) };
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

    fn last_output(&mut self) -> String {
        // Whatever else there is to hear, or not, is no news any more.
        while matches!(self.hear_console(), Ok(Heard::Some)) {}
        self.console.last_output(TOLD_CHARS)
    }

    fn await_end(mut self) -> Outcome<End> {
        loop {
            if let Turn::Over(end) = self.turn(&[])? {
                return Ok(end);
            }
            while self.qmp.next_event().is_some() {}
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
    /// All at once: nothing of it depends on an answer, and a refusal is met while its end is awaited.
    fn say_restore(&mut self) -> Outcome<()> {
        self.qmp.say(&json!({ "execute": "qmp_capabilities" }))?;
        self.qmp.say(&capabilities(self.memory))?;
        let uri = format!("fd:{}", crate::spec::STATE_FD);
        self.qmp.say(&json!({ "execute": "migrate-incoming", "arguments": { "uri": uri } }))
    }

    fn prepare_to_save(&mut self, memory: Memory) -> Outcome<()> {
        self.qmp.ask(&capabilities(memory), PATIENCE)?;
        let limit = json!({ "max-bandwidth": BYTES_PER_SECOND });
        self.qmp.ask(&json!({ "execute": "migrate-set-parameters", "arguments": limit }), PATIENCE).map(drop)
    }

    /// Waits until something has events, to the machine or besides.
    fn turn(&mut self, besides: &[BorrowedFd<'_>]) -> Outcome<Turn> {
        let mut fds = vec![self.pidfd.as_fd()];
        fds.extend(self.is_line_open.then(|| self.line.as_fd()));
        fds.extend(self.is_qmp_open.then(|| self.qmp.as_fd()));
        fds.extend(besides);
        let ready = watch::await_any(&fds, None)?;
        let mut following = ready[1..].iter();
        if self.is_line_open && following.next() == Some(&true) {
            self.is_line_open = self.hear_console()? != Heard::End;
            for _ in 0..self.console.new_kills(&mut self.told_kills) {
                // Printed at once: the process that ends the virtual machine does not wait for a report.
                eprintln!("{}", crate::OUT_OF_MEMORY);
            }
            if self.console.is_flooded() {
                let said = self.console.last_output(TOLD_CHARS);
                return Ok(Turn::Over(End::Failed(format!("the machine's kernel flooded its console: {said}"))));
            }
        }
        if self.is_qmp_open && following.next() == Some(&true) {
            self.is_qmp_open = self.hear_qmp()?;
        }
        if ready[0] {
            while self.hear_console()? == Heard::Some {}
            return self.ended().map(Turn::Over);
        }
        Ok(Turn::Other)
    }

    /// Without a stream its hosts are still to come.
    fn start(spec: &MachineSpec, stream: Option<OwnedFd>) -> Outcome<Self> {
        let (qmp, its_qmp) = UnixStream::pair().during("make QEMU's control socket")?;
        let (line, its_line) = UnixStream::pair().during("make the machine's console")?;
        let orders = spec.disk_mib.map(|_| UnixStream::pair()).transpose().during("make a way to the machine")?;
        let (orders, its_orders) = orders.unzip();
        let ends = Ends {
            stream: stream.as_ref().map(AsFd::as_fd),
            qmp: its_qmp.as_fd(),
            console: its_line.as_fd(),
            orders: its_orders.as_ref().map(AsFd::as_fd),
        };
        let arguments = arguments::of(spec, &ends);
        for fd in [ends.stream, Some(ends.qmp), Some(ends.console), ends.orders].into_iter().flatten() {
            fcntl_setfd(fd, FdFlags::empty()).during("give QEMU a descriptor")?;
        }
        let child = Command::new(&spec.program)
            .args(arguments)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .during(format_args!("start {}", spec.program.display()))?;
        // Only the monitor's process has them from here on, so that their end is its end.
        drop((stream, its_qmp, its_line, its_orders));
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| Failure::new("QEMU has no process id"))?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).during("watch QEMU")?;
        line.set_nonblocking(true).during("listen to the console")?;
        if let Some(orders) = &orders {
            orders.set_nonblocking(true).during("speak to the machine")?;
        }
        let (qmp, console) = (Qmp::new(qmp), Console::default());
        Ok(Self {
            child,
            pidfd,
            qmp,
            line,
            console,
            orders,
            memory: memory_of(spec),
            told_kills: 0,
            is_line_open: true,
            is_qmp_open: true,
        })
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
                Answer::Done(_) => self.qmp.is_answered(),
                Answer::Event(name, data) => self.qmp.note(name, data)?,
            }
        }
        Ok(true)
    }

    fn ends_within(&self, patience: Duration) -> bool {
        watch::await_any(&[self.pidfd.as_fd()], Some(Instant::now() + patience)).is_ok()
    }

    fn ended(&mut self) -> Outcome<End> {
        let status = self.child.wait().during("wait for QEMU")?;
        let said = self.console.last_output(TOLD_CHARS);
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
        // It may have ended; then there is no process to kill or wait for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the memory of a machine is when it is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// In a file of its own, which every restore has already.
    Beside,
    Within,
}

fn memory_of(spec: &MachineSpec) -> Memory {
    if spec.disk_mib.is_some() { Memory::Within } else { Memory::Beside }
}

/// The migration capabilities that QEMU needs before it saves or restores.
fn capabilities(memory: Memory) -> serde_json::Value {
    let capability = |name: &str, state: bool| json!({ "capability": name, "state": state });
    json!({
        "execute": "migrate-set-capabilities",
        "arguments": {
            "capabilities": [capability("x-ignore-shared", memory == Memory::Beside), capability("events", true)],
        },
    })
}
