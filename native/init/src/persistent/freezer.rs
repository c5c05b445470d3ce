//! The sandbox held still, by its cgroup: nothing of it runs while the machine is saved, and in a copy of the machine
//! nothing runs before the copy is one of its own.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom, Write},
    time::{Duration, Instant},
};

use ak_jail::fault::{During, Fault, Outcome};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use crate::limits::SANDBOX;

/// A process that waits for a disk is frozen when it has what it waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Resolves when nothing of it runs any more.
pub fn begin() -> Outcome<()> {
    let what = "hold the sandbox still";
    let mut events = File::open(format!("{SANDBOX}/cgroup.events")).during(what)?;
    fs::write(format!("{SANDBOX}/cgroup.freeze"), "1").during(what)?;
    let until = Instant::now() + PATIENCE;
    loop {
        let mut text = String::new();
        events.seek(SeekFrom::Start(0)).during(what)?;
        events.read_to_string(&mut text).during(what)?;
        if is_frozen(&text) {
            return Ok(());
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Fault::new("internal", format!("{what}: it took longer than {} s", PATIENCE.as_secs())));
        }
        let left = Timespec::try_from(left).during(what)?;
        match poll(&mut [PollFd::new(&events, PollFlags::PRI)], Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e).during(what),
        }
    }
}

/// A way to end it, also from where the machine's own files are out of sight.
pub struct Thaw(File);

impl Thaw {
    pub fn open() -> Outcome<Self> {
        let file = File::options().write(true).open(format!("{SANDBOX}/cgroup.freeze"));
        file.during("find the sandbox's freezer").map(Self)
    }

    pub fn now(mut self) -> Outcome<()> {
        self.0.write_all(b"0").during("let the sandbox go on")
    }
}

fn is_frozen(events: &str) -> bool {
    events.lines().any(|line| line == "frozen 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_whether_all_stand_still() {
        assert!(is_frozen("populated 1\nfrozen 1\n"));
        assert!(!is_frozen("populated 1\nfrozen 0\n"));
        assert!(!is_frozen(""));
    }
}
