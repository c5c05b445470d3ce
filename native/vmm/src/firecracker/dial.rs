//! Connects to the guest: Firecracker listens on a Unix socket for the virtual machine's vsock. A client names a port
//! of the guest, gets `OK`, and is connected; where no process listens in the guest, Firecracker hangs up.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// The port on which `ak-init` listens, as the kernel's command line says.
pub const PORT: u32 = 1024;
/// A booting guest does not listen yet, and the host gets no event when it does.
const DIAL_AGAIN: Duration = Duration::from_millis(2);
/// `OK`, a space, a number of 32 bits and the end of the line.
const LONGEST_ANSWER: usize = 16;

#[derive(Debug)]
pub enum Undialled {
    /// No process listens in the guest, or not yet.
    Nobody,
    Late,
    Socket(io::Error),
    Garbled(String),
}

pub fn dial(socket: &Path, deadline: Instant) -> Result<UnixStream, Undialled> {
    let mut stream = UnixStream::connect(socket).map_err(Undialled::Socket)?;
    stream.write_all(format!("CONNECT {PORT}\n").as_bytes()).map_err(hung_up)?;
    hear_ok(&mut stream, deadline)?;
    stream.set_read_timeout(None).map_err(Undialled::Socket)?;
    Ok(stream)
}

/// Again and again, as long as the machine lives.
pub fn dial_until(
    socket: &Path,
    deadline: Instant,
    mut is_over: impl FnMut() -> bool,
) -> Result<UnixStream, Undialled> {
    loop {
        match dial(socket, deadline) {
            Err(Undialled::Nobody) if is_over() => return Err(Undialled::Nobody),
            Err(Undialled::Nobody) if Instant::now() >= deadline => return Err(Undialled::Late),
            Err(Undialled::Nobody) => thread::sleep(DIAL_AGAIN),
            other => return other,
        }
    }
}

/// Byte by byte, since what follows belongs to the guest's stream.
fn hear_ok(stream: &mut UnixStream, deadline: Instant) -> Result<(), Undialled> {
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        if line.len() >= LONGEST_ANSWER {
            return Err(Undialled::Garbled(String::from_utf8_lossy(&line).into_owned()));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Undialled::Late);
        }
        stream.set_read_timeout(Some(left)).map_err(Undialled::Socket)?;
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(0) => return Err(Undialled::Nobody),
            Ok(_) => line.push(byte[0]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(hung_up(e)),
        }
    }
    let text = String::from_utf8_lossy(&line);
    let is_ok = text.strip_prefix("OK ").is_some_and(|port| port.trim_end().parse::<u32>().is_ok());
    if is_ok { Ok(()) } else { Err(Undialled::Garbled(String::from_utf8_lossy(&line).into_owned())) }
}

pub fn hung_up(error: io::Error) -> Undialled {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => Undialled::Nobody,
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Undialled::Late,
        _ => Undialled::Socket(error),
    }
}
