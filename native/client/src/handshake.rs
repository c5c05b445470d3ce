//! Asks the daemon to serve this command line. It agrees only where it is of the same build and would do exactly what
//! the command line does by itself.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A daemon that does not answer for so long is left alone.
const PATIENCE: Duration = Duration::from_secs(2);
const MAX_HEAD: usize = 4096;
const HEAD_END: &[u8] = b"\r\n\r\n";

/// What came behind the agreement; None if the daemon does not serve this, for whatever reason.
pub fn agree(socket: &mut UnixStream, build: &str, start: &[u8]) -> Option<Vec<u8>> {
    socket.set_read_timeout(Some(PATIENCE)).ok()?;
    socket.set_write_timeout(Some(PATIENCE)).ok()?;
    let mut request = format!(
        "GET /client HTTP/1.1\r\nHost: agentkernel\r\nConnection: Upgrade\r\nUpgrade: agentkernel-client\r\n\
         Agentkernel-Build: {build}\r\n\r\n"
    )
    .into_bytes();
    // In one piece: the daemon wakes up once.
    request.extend_from_slice(start);
    socket.write_all(&request).ok()?;
    let mut answer = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        let count = socket.read(&mut buffer).ok().filter(|&count| count > 0)?;
        answer.extend_from_slice(&buffer[..count]);
        if let Some(at) = answer.windows(HEAD_END.len()).position(|window| window == HEAD_END) {
            return answer.starts_with(b"HTTP/1.1 101 ").then(|| answer.split_off(at + HEAD_END.len()));
        }
        if answer.len() > MAX_HEAD {
            return None;
        }
    }
}
