//! A host comes to a kept container: the engine starts this program for it, which carries its stream to the guest's door.

use std::{
    io::{self, Read, Write},
    net::Shutdown,
    os::{fd::AsFd, unix::net::UnixStream},
    thread,
};

use ak_jail::fault::{During, Outcome};

const PORTION: usize = 256 << 10;

/// Hands the guest a stream and carries it on the standard streams, until either side ends it.
pub fn carry() -> Outcome<()> {
    let (ours, guests) = UnixStream::pair().during("make a stream")?;
    ak_door::named::let_in(guests.as_fd()).during("knock at the guest's door")?;
    drop(guests);
    let mut to_guest = ours.try_clone().during("make a stream")?;
    thread::spawn(move || {
        // Its end is the host's: the guest is told in any case.
        let _ = copy(&mut io::stdin().lock(), &mut to_guest);
        let _ = to_guest.shutdown(Shutdown::Write);
    });
    let mut from_guest = ours;
    copy(&mut from_guest, &mut io::stdout().lock()).during("carry the stream")
}

pub fn ask_to_stop(grace_ms: u64) -> Outcome<()> {
    ak_door::named::ask_to_stop(grace_ms).during("knock at the guest's door")
}

fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut portion = vec![0; PORTION];
    loop {
        match from.read(&mut portion) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                to.write_all(&portion[..count])?;
                to.flush()?;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}
