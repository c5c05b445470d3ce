//! Connects a host to a kept container. The engine starts this program by an exec, and it carries the host's stream
//! between its standard streams and the guest.

use std::{
    io::{self, Read, Write},
    net::Shutdown,
    os::{fd::AsFd, unix::net::UnixStream},
    thread,
};

use ak_jail::fault::{During, Outcome};
use ak_wire::host_socket::named;

const CHUNK_BYTES: usize = 256 << 10;
const REACHING: &str = "reach the guest's host socket";

/// Hands the guest one end of a socket pair, and copies between the other end and the standard streams until either
/// side closes.
pub fn carry() -> Outcome<()> {
    let (ours, guests) = UnixStream::pair().during("make a stream")?;
    named::send_connection(guests.as_fd()).during(REACHING)?;
    drop(guests);
    let mut to_guest = ours.try_clone().during("make a stream")?;
    thread::spawn(move || {
        // An error here ends the connection as the host's end of file does: the guest sees the shutdown either way.
        let _ = copy(&mut io::stdin().lock(), &mut to_guest);
        let _ = to_guest.shutdown(Shutdown::Write);
    });
    let mut from_guest = ours;
    copy(&mut from_guest, &mut io::stdout().lock()).during("carry the stream")
}

/// Asks the guest to end all commands, with `grace_ms` between SIGTERM and SIGKILL.
pub fn stop(grace_ms: u64) -> Outcome<()> {
    named::send_stop(grace_ms).during(REACHING)
}

fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                to.write_all(&chunk[..count])?;
                to.flush()?;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}
