//! Firecracker's process: started with nothing but its own words, watched, and ended with everything in it. What it and
//! the guest's serial console say is kept, the last of it only.

use std::{
    io::{self, Read},
    os::{
        fd::OwnedFd,
        unix::process::{CommandExt, ExitStatusExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, set_parent_process_death_signal};

use super::client::Client;
use crate::console::Console;

/// Firecracker opens its socket some milliseconds after its start, without an event.
const LOOK_AGAIN: Duration = Duration::from_millis(1);
/// How long the last output is read after the end, unless another process holds the pipe.
const LINE_LIMIT: Duration = Duration::from_millis(500);

pub struct Process {
    child: Child,
    console: Arc<Mutex<Console>>,
    /// Hears of the end of each line that leads here.
    lines: Receiver<()>,
    open_lines: usize,
}

impl Process {
    /// Starts Firecracker. Its own seccomp filters are on by default. It sees only the jail's files, and inherits only
    /// the descriptors of the virtual machine's files.
    pub fn start(program: &Path, socket: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg("--id").arg("machine").arg("--api-sock").arg(socket);
        command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: between fork and exec only one system call is made, and nothing is allocated.
        unsafe {
            command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
        }
        let mut child = command.spawn()?;
        let (sender, lines) = channel();
        let console = Arc::default();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mut process = Self { child, console, lines, open_lines: 0 };
        process.listen_to(stdout, &sender)?;
        process.listen_to(stderr, &sender)?;
        Ok(process)
    }

    fn listen_to(&mut self, line: Option<impl Read + Send + 'static>, over: &Sender<()>) -> io::Result<()> {
        let Some(mut line) = line else { return Ok(()) };
        let (console, over) = (Arc::clone(&self.console), over.clone());
        let process = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty())?;
        self.open_lines += 1;
        thread::Builder::new().name("console".into()).spawn(move || {
            listen(&mut line, &console, &process);
            // The receiver may be gone.
            let _ = over.send(());
        })?;
        Ok(())
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// As soon as it listens.
    pub fn connect(&mut self, socket: &Path, deadline: Instant) -> Result<Client, Silence> {
        loop {
            match Client::connect(socket) {
                Ok(client) => return Ok(client),
                Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {}
                Err(e) => return Err(Silence::Socket(e)),
            }
            if self.has_ended() {
                return Err(Silence::Ended);
            }
            if Instant::now() >= deadline {
                return Err(Silence::Late);
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// How it ended, if it does so within a while: who closed a connection may need a moment to be gone.
    pub fn end_within(&mut self, while_: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + while_;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < deadline => thread::sleep(LOOK_AGAIN),
                _ => return None,
            }
        }
    }

    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }

    /// At once, whatever the guest does.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        // It may have ended by itself, which is as well.
        if let Err(e) = self.child.kill()
            && e.kind() != io::ErrorKind::InvalidInput
        {
            return Err(e);
        }
        self.child.wait()
    }

    /// The last that Firecracker and the guest's console said; after its end all of it has arrived.
    pub fn last_output(&mut self, most: usize) -> String {
        if self.has_ended() {
            while self.open_lines > 0 && self.lines.recv_timeout(LINE_LIMIT).is_ok() {
                self.open_lines -= 1;
            }
        }
        self.console().last_output(most)
    }

    pub fn has_panic(&self) -> bool {
        self.console().has_panic()
    }

    pub fn is_flooded(&self) -> bool {
        self.console().is_flooded()
    }

    fn console(&self) -> MutexGuard<'_, Console> {
        self.console.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A failure would mean that it is not our child any more.
        let _ = self.kill();
    }
}

/// Why its socket gave no answer.
#[derive(Debug)]
pub enum Silence {
    Ended,
    Late,
    Socket(io::Error),
}

/// A machine that floods its console is ended.
fn listen(line: &mut impl Read, console: &Mutex<Console>, process: &OwnedFd) {
    let mut part = [0; 4096];
    while let Ok(count @ 1..) = line.read(&mut part) {
        let mut console = console.lock().unwrap_or_else(PoisonError::into_inner);
        console.hear(&part[..count]);
        if console.is_flooded() {
            // It may have ended by itself, which is as well.
            let _ = pidfd_send_signal(process, Signal::KILL);
            return;
        }
    }
}

/// In words. Numbers are those that Firecracker documents for its ends.
pub fn describe(status: ExitStatus) -> String {
    let meaning = match (status.code(), status.signal()) {
        (Some(148), _) => ": a system call that its own filter forbids",
        (Some(149..=151 | 154..=157), _) => ": a signal that it does not survive",
        (Some(152), _) => ": its configuration is bad",
        (Some(153), _) => {
            ": it does not know an option that it was started with; its version may be too old or too new"
        }
        (_, Some(libc::SIGKILL)) => ": killed, or out of memory",
        _ => "",
    };
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}{meaning}"),
        (None, Some(signal)) => format!("signal {signal}{meaning}"),
        (None, None) => status.to_string(),
    }
}

/// Its sockets, in a directory that is the machine's own: Firecracker refuses to listen where a file is already.
pub struct Sockets {
    pub api: PathBuf,
    pub guest: PathBuf,
}

impl Sockets {
    pub fn in_directory(directory: &Path) -> Self {
        Self { api: directory.join("api.sock"), guest: directory.join("guest.sock") }
    }
}
