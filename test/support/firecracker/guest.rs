//! The machine's end of its vsock. What listens there does what `ak-init` does: it hears its shape, unless the machine was
//! saved after that, and says on each connection that it waits, until one brings a whole wake message; that one is its
//! last. Then it says and hears what `ak-entry` does, with nothing to copy in, and the real guest takes the connection
//! over. Without a guest there is no shape, and every message that comes is sent back.

use std::{
    io::{self, Read, Write},
    net::Shutdown,
    os::{
        fd::{FromRawFd, OwnedFd, RawFd},
        unix::{
            net::{UnixListener, UnixStream},
            process::CommandExt,
        },
    },
    path::Path,
    process::{Command, Stdio, exit},
    sync::{Arc, Condvar, Mutex},
    thread,
};

/// What the guest is like.
#[derive(Clone)]
pub struct Script {
    /// `ak-guest`, if there is to be a real one.
    pub program: Option<String>,
    /// So many connections are hung up on, as by a guest that still boots.
    pub hangs_up: u32,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    has_booted: bool,
    is_paused: bool,
    is_awake: bool,
    /// It was told.
    has_shape: bool,
    port: u32,
    hung_up: u32,
    connections: Vec<UnixStream>,
}

pub struct Guest {
    shared: Arc<Shared>,
}

const GUEST_STREAM: RawFd = 3;
const OPTION: &str = "ak.stream=vsock:";

impl Guest {
    pub fn listen(socket: &Path, script: Script) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        let shared = Arc::new(Shared::default());
        let guest = Self {
            shared: Arc::clone(&shared),
        };
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (shared, script) = (Arc::clone(&shared), script.clone());
                thread::spawn(move || serve(stream, &shared, &script));
            }
        });
        Ok(guest)
    }

    /// `words` is the kernel's command line.
    pub fn boot(&self, words: &str) {
        self.change(|state| {
            state.has_booted = true;
            let port = words
                .split_ascii_whitespace()
                .find_map(|word| word.strip_prefix(OPTION));
            state.port = port.and_then(|port| port.parse().ok()).unwrap_or(0);
        });
    }

    /// What goes with it when it is saved.
    pub fn has_shape(&self) -> bool {
        self.shared
            .state
            .lock()
            .expect("nobody panics with it")
            .has_shape
    }

    pub fn recall(&self, has_shape: bool) {
        self.change(|state| state.has_shape = has_shape);
    }

    pub fn set_paused(&self, is_paused: bool) {
        self.change(|state| state.is_paused = is_paused);
    }

    pub fn reset_connections(&self) {
        self.change(|state| {
            for stream in state.connections.drain(..) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.shared.state.lock().expect("nobody panics with it"));
        self.shared.changed.notify_all();
    }
}

impl Shared {
    /// As soon as the machine runs.
    fn while_running<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let state = self.state.lock().expect("nobody panics with it");
        let is_still = |state: &mut State| !state.has_booted || state.is_paused;
        act(&mut self
            .changed
            .wait_while(state, is_still)
            .expect("nobody panics with it"))
    }
}

/// One connection. Whatever goes wrong with it ends it, as a reset would.
fn serve(mut stream: UnixStream, shared: &Shared, script: &Script) {
    let Ok(port) = hear_port(&mut stream) else {
        return;
    };
    let is_taken = shared.while_running(|state| {
        if state.hung_up < script.hangs_up {
            state.hung_up += 1;
            return false;
        }
        if state.port != port || state.is_awake {
            return false;
        }
        state.connections.extend(stream.try_clone().ok());
        true
    });
    if !is_taken || stream.write_all(b"OK 1073741824\n").is_err() {
        return;
    }
    if script.program.is_some() && !shared.while_running(|state| state.has_shape) {
        if hear(&mut stream).is_err() {
            return;
        }
        shared.while_running(|state| state.has_shape = true);
    }
    loop {
        if send(&mut stream, br#"{"said":"waiting"}"#).is_err() {
            return;
        }
        match hear(&mut stream) {
            // It is about to be saved.
            Ok(message) if message.is_empty() => {}
            Ok(_) => break,
            Err(_) => return,
        }
    }
    shared.while_running(|state| state.is_awake = true);
    match &script.program {
        Some(program) => run(program, stream),
        None => echo(&mut stream),
    }
    // The guest's end is the machine's, and so Firecracker's.
    exit(0);
}

fn hear_port(stream: &mut UnixStream) -> io::Result<u32> {
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
        if line.len() > 32 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    let text = String::from_utf8_lossy(&line);
    let port = text
        .strip_prefix("CONNECT ")
        .and_then(|port| port.trim_end().parse().ok());
    port.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn echo(stream: &mut UnixStream) {
    while let Ok(message) = hear(stream) {
        if message == b"panic" {
            println!("Kernel panic - not syncing: as it was told");
            exit(0);
        }
        if send(stream, &message).is_err() {
            return;
        }
    }
}

fn run(program: &str, mut stream: UnixStream) {
    let begun = send(&mut stream, br#"{"said":"here"}"#)
        .and_then(|()| hear(&mut stream))
        .and_then(|_order| send(&mut stream, br#"{"said":"started","layers":[]}"#));
    if begun.is_err() {
        return;
    }
    let mut command = Command::new(program);
    command
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // SAFETY: between fork and exec only one system call is made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            // The number at which the guest looks for its stream. It stays open, as the number is not ours to own.
            let mut placed = std::mem::ManuallyDrop::new(OwnedFd::from_raw_fd(GUEST_STREAM));
            Ok(rustix::io::dup2(&stream, &mut placed)?)
        });
    }
    if let Err(e) = command.status() {
        println!("double: {program}: {e}");
    }
}

fn hear(stream: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut message = vec![0; u32::from_le_bytes(length).min(1 << 20) as usize];
    stream.read_exact(&mut message)?;
    Ok(message)
}

fn send(stream: &mut UnixStream, message: &[u8]) -> io::Result<()> {
    stream.write_all(&(message.len() as u32).to_le_bytes())?;
    stream.write_all(message)
}
