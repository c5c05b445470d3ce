//! Carries bytes between the guest's connection and the other end of the virtual machine's stream. Firecracker accepts
//! no descriptor for it, so each byte is copied once more than with QEMU. Each side is read only as fast as the other
//! side takes the bytes, so nothing piles up here.

use std::{
    io::{self, Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

const PART: usize = 64 << 10;

/// The guest's last bytes are still on their way when its virtual machine has ended.
pub struct FromGuest(Receiver<()>);

impl FromGuest {
    /// Waits until all of it has arrived, or its reader takes too long.
    pub fn await_end(&self, limit: Duration) {
        // A sender that is gone has sent, or has died with nothing left to carry.
        let _ = self.0.recv_timeout(limit);
    }
}

/// Carries both directions. The guest sees the host's end of file. The host does not see the guest's: it takes the end
/// of this process for that of the virtual machine, and then gets the reason.
pub fn carry(host: UnixStream, guest: UnixStream) -> io::Result<FromGuest> {
    let (mut host_in, mut guest_out) = (host.try_clone()?, guest.try_clone()?);
    let (over, from_guest) = channel();
    thread::Builder::new().name("to-guest".into()).spawn(move || {
        copy(&mut host_in, &mut guest_out);
        // A connection that has ended needs no such word.
        let _ = guest_out.shutdown(Shutdown::Write);
    })?;
    thread::Builder::new().name("from-guest".into()).spawn(move || {
        copy(&mut &guest, &mut &host);
        let _ = over.send(());
    })?;
    Ok(FromGuest(from_guest))
}

/// Until one of them has ended.
fn copy(from: &mut impl Read, to: &mut impl Write) {
    let mut part = vec![0; PART];
    loop {
        match from.read(&mut part) {
            Ok(0) => return,
            Ok(count) if to.write_all(&part[..count]).is_err() => return,
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
