//! Bytes between the guest's connection and whoever holds the other end of the machine's stream. Firecracker takes no
//! descriptor for it, so each byte is copied once more than with QEMU. What is not read on one side is not read from the
//! other, so nothing piles up here.

use std::{
    io::{self, Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    thread,
};

const PART: usize = 64 << 10;

/// Both ways, until the guest hangs up or the host does. Each end is passed on.
pub fn carry(host: UnixStream, guest: UnixStream) -> io::Result<()> {
    let (host_in, guest_in) = (host.try_clone()?, guest.try_clone()?);
    thread::Builder::new().name("to-guest".into()).spawn(move || copy(host_in, guest))?;
    thread::Builder::new().name("from-guest".into()).spawn(move || copy(guest_in, host))?;
    Ok(())
}

fn copy(mut from: UnixStream, mut to: UnixStream) {
    let mut part = vec![0; PART];
    loop {
        let count = match from.read(&mut part) {
            Ok(0) => break,
            Ok(count) => count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        if to.write_all(&part[..count]).is_err() {
            // Nobody reads there any more: whoever writes is to know.
            let _ = from.shutdown(Shutdown::Read);
            break;
        }
    }
    // A socket that is already closed needs no shutdown.
    let _ = to.shutdown(Shutdown::Write);
}
