//! Firecracker as the monitor of one machine: configured and driven by HTTP on a Unix socket, the guest's stream on a
//! second one. It runs in the jail that every monitor runs in, with its own seccomp filters on top; its `jailer` is not
//! used, since it has to be root on the host and knows neither user namespaces nor our limits.
//!
//! What Firecracker sends is checked as if the guest had written it. Nothing here decides what a machine may have.

mod api;
mod as_monitor;
mod carry;
pub(crate) mod client;
mod dial;
mod failures;
mod process;

use std::{
    io::Read,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::PathBuf,
    time::{Duration, Instant},
};

pub use api::DriveRate;
use api::Request;
use carry::{FromGuest, carry};
use client::Client;
use dial::Undialled;
use process::{Process, Silence, Sockets, describe};

use crate::{
    failure::{During, Failure, Outcome},
    monitor::End,
};

/// For a request that only notes something, and for the start of the process. Far more than a loaded host takes.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// For the ones that read or write all of a machine's memory.
const MEMORY_LIMIT: Duration = Duration::from_secs(120);
/// For the guest's own way to its listener.
const BOOT_LIMIT: Duration = Duration::from_secs(60);
/// For what the guest said last to be read by the host.
const LAST_BYTES_LIMIT: Duration = Duration::from_secs(10);
/// How much of the last output is reported. The pipe to the supervisor takes it whole.
const TOLD_CHARS: usize = 2000;
/// The message of a virtual machine as soon as it waits for its wake message, and again on each connection of a
/// restored one.
const WAITING: &[u8] = br#"{"said":"waiting"}"#;

const LONGEST_MESSAGE: usize = 4096;

/// The configuration of a virtual machine. Paths are those that Firecracker sees in its jail.
#[derive(Debug, Clone)]
pub struct Machine {
    pub program: PathBuf,
    /// The directory of its sockets: new for each process, and not shared.
    pub directory: PathBuf,
    pub kernel: PathBuf,
    pub initramfs: PathBuf,
    pub command_line: String,
    pub processors: u32,
    pub memory_mib: u64,
    /// The first drive, read-only.
    pub root: PathBuf,
    /// The second, of a machine that is kept.
    pub disk: Option<PathBuf>,
    pub disk_rate: Option<DriveRate>,
}

/// A machine that was saved: what its memory held, and everything else.
#[derive(Debug, Clone)]
pub struct Saved {
    pub state: PathBuf,
    pub memory: PathBuf,
}

pub struct Firecracker {
    process: Process,
    client: Client,
    guest: PathBuf,
    from_guest: Option<FromGuest>,
}

impl Firecracker {
    /// Starts a machine from its kernel on. Its guest is not heard of yet.
    pub fn boot(machine: &Machine) -> Outcome<Self> {
        let mut monitor = Self::start(machine)?;
        let command_line = format!("{} ak.stream=vsock:{}", machine.command_line, dial::PORT);
        monitor.ask(&api::machine(machine.processors, machine.memory_mib))?;
        monitor.ask(&api::boot_source(&machine.kernel, &machine.initramfs, command_line.trim_start()))?;
        monitor.ask(&api::drive("root", &machine.root, true, machine.disk_rate))?;
        if let Some(disk) = &machine.disk {
            monitor.ask(&api::drive("disk", disk, false, machine.disk_rate))?;
        }
        monitor.ask(&api::vsock(&monitor.guest))?;
        monitor.ask(&api::entropy())?;
        monitor.ask(&api::start())?;
        Ok(monitor)
    }

    /// Goes on with a machine that was saved; its memory is copied where it is written to. Drives and sockets have to
    /// lie where they lay when it was saved: the saved state names them.
    pub fn restore(machine: &Machine, saved: &Saved) -> Outcome<Self> {
        let mut monitor = Self::start(machine)?;
        monitor.ask_for(&api::load(&saved.state, &saved.memory), MEMORY_LIMIT)?;
        Ok(monitor)
    }

    fn start(machine: &Machine) -> Outcome<Self> {
        let Sockets { api, guest } = Sockets::in_directory(&machine.directory);
        let program = machine.program.display();
        let mut process =
            Process::start(&machine.program, &api).during(format_args!("start Firecracker at {program}"))?;
        match process.connect(&api, Instant::now() + ANSWER_LIMIT) {
            Ok(client) => Ok(Self { process, client, guest, from_guest: None }),
            Err(Silence::Ended) => Err(failures::ended(&mut process, "before it listened", None)),
            Err(Silence::Late) => {
                Err(Failure::new(format!("Firecracker did not listen within {} s", ANSWER_LIMIT.as_secs())))
            }
            Err(Silence::Socket(e)) => Err(e).during("connect to Firecracker"),
        }
    }

    /// The guest's stream, as soon as the guest listens.
    pub fn dial(&mut self) -> Outcome<UnixStream> {
        self.dial_and(|stream, _| Ok(stream))
    }

    /// That of a restored machine: it says on each new connection that it waits, which is no news.
    pub fn dial_restored(&mut self) -> Outcome<UnixStream> {
        self.dial_and(hear_waiting)
    }

    fn dial_and(&mut self, then: fn(UnixStream, Instant) -> Result<UnixStream, Undialled>) -> Outcome<UnixStream> {
        let deadline = Instant::now() + BOOT_LIMIT;
        let process = &mut self.process;
        let dialled = dial::dial_until(&self.guest, deadline, || process.has_ended());
        match dialled.and_then(|stream| then(stream, deadline)) {
            Ok(stream) => Ok(stream),
            Err(_) if self.process.has_ended() => {
                Err(failures::ended(&mut self.process, "before its guest answered", None))
            }
            Err(Undialled::Nobody | Undialled::Late) => Err(Failure::new(format!(
                "the guest did not answer within {} s{}",
                BOOT_LIMIT.as_secs(),
                failures::last_output(&mut self.process)
            ))),
            Err(Undialled::Socket(e)) => Err(e).during("connect to the guest"),
            Err(Undialled::Garbled(what)) => Err(failures::garbled("a call to the guest", &what)),
        }
    }

    /// Bytes between the host's end of the machine's stream and the guest, from now on.
    pub fn carry(&mut self, host: OwnedFd, guest: UnixStream) -> Outcome<()> {
        self.from_guest = Some(carry(host.into(), guest).during("carry the guest's stream")?);
        Ok(())
    }

    /// Writes the machine to two files. It is paused afterwards, and every connection to its guest has ended.
    pub fn save(&mut self, into: &Saved) -> Outcome<()> {
        self.pause()?;
        self.ask_for(&api::save(&into.state, &into.memory), MEMORY_LIMIT)
    }

    pub fn pause(&mut self) -> Outcome<()> {
        self.ask(&api::pause())
    }

    pub fn resume(&mut self) -> Outcome<()> {
        self.ask(&api::resume())
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Until the machine ends by itself: the guest's own end, or a failure.
    pub fn await_end(mut self) -> Outcome<End> {
        let status = self.process.wait().during("wait for Firecracker")?;
        if let Some(from_guest) = &self.from_guest {
            from_guest.await_end(LAST_BYTES_LIMIT);
        }
        let said = self.last_output();
        if self.process.is_flooded() {
            return Ok(End::Failed(format!("the machine's kernel flooded its console: {said}")));
        }
        if self.process.has_panic() {
            return Ok(End::Failed(said));
        }
        if status.success() {
            return Ok(End::Off);
        }
        let separator = if said.is_empty() { "" } else { ": " };
        Ok(End::Failed(format!("Firecracker ended with {}{separator}{said}", describe(status))))
    }

    /// The last that the guest's console and Firecracker said.
    pub fn last_output(&mut self) -> String {
        self.process.last_output(TOLD_CHARS)
    }

    fn ask(&mut self, request: &Request) -> Outcome<()> {
        self.ask_for(request, ANSWER_LIMIT)
    }

    fn ask_for(&mut self, request: &Request, limit: Duration) -> Outcome<()> {
        let answer = self.client.send(request, limit);
        answer.map_err(|why| failures::unanswered(&mut self.process, &request.name(), &why, limit))
    }
}

/// Anything else is what the guest has to say about a failure, or is not our guest.
fn hear_waiting(mut stream: UnixStream, deadline: Instant) -> Result<UnixStream, Undialled> {
    let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    stream.set_read_timeout(Some(left)).map_err(Undialled::Socket)?;
    let mut length = [0; 4];
    stream.read_exact(&mut length).map_err(dial::hung_up)?;
    let mut message = vec![0; (u32::from_le_bytes(length) as usize).min(LONGEST_MESSAGE)];
    stream.read_exact(&mut message).map_err(dial::hung_up)?;
    stream.set_read_timeout(None).map_err(Undialled::Socket)?;
    if message == WAITING {
        Ok(stream)
    } else {
        Err(Undialled::Garbled(String::from_utf8_lossy(&message).into_owned()))
    }
}
