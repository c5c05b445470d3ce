//! Asks the daemon to serve this command line. It agrees only where it is of the same build and would do exactly what
//! the command line does by itself.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A daemon that does not answer for so long is left alone.
const PATIENCE: Duration = Duration::from_secs(2);
const MAX_HEAD: usize = 4096;
const HEAD_END: &[u8] = b"\r\n\r\n";

/// Returns the bytes behind the agreement, or the daemon's answer where it does not serve this command line.
pub fn agree(socket: &mut UnixStream, build: &str, start: &[u8]) -> Result<Vec<u8>, Vec<u8>> {
    let mut answer = Vec::new();
    let limits = (socket.set_read_timeout(Some(PATIENCE)), socket.set_write_timeout(Some(PATIENCE)));
    if limits.0.is_err() || limits.1.is_err() {
        return Err(answer);
    }
    let mut request = format!(
        "GET /client HTTP/1.1\r\nHost: agentkernel\r\nConnection: Upgrade\r\nUpgrade: agentkernel-client\r\n\
         Agentkernel-Build: {build}\r\n\r\n"
    )
    .into_bytes();
    // In one piece: the daemon wakes up once.
    request.extend_from_slice(start);
    if socket.write_all(&request).is_err() {
        return Err(answer);
    }
    let mut buffer = [0; 1024];
    loop {
        match socket.read(&mut buffer) {
            Ok(count) if count > 0 => answer.extend_from_slice(&buffer[..count]),
            _ => return Err(answer),
        }
        if let Some(at) = answer.windows(HEAD_END.len()).position(|window| window == HEAD_END) {
            let is_agreement = answer.starts_with(b"HTTP/1.1 101 ");
            return if is_agreement { Ok(answer.split_off(at + HEAD_END.len())) } else { Err(answer) };
        }
        if answer.len() > MAX_HEAD {
            return Err(answer);
        }
    }
}
