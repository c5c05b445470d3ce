//! A command line that found out by itself that it needs a daemon, and has started one, calls this program again and
//! stays as its parent: `AGENTKERNEL_RELAY` is `PID:FD`, the parent and where it wants to hear that the daemon declined.
//! The parent passes on the signals that it gets. This process is in the same group and gets most of them too, so only
//! those of the parent count; and it must not outlive it.

use std::env;
use std::fs::File;
use std::io::Write;
use std::os::fd::FromRawFd;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

pub const VARIABLE: &str = "AGENTKERNEL_RELAY";

pub struct Relay {
    pub parent: Pid,
    declined: File,
}

impl Relay {
    /// None where nobody asked for it, or whoever did is gone.
    pub fn find() -> Option<Self> {
        let value = env::var(VARIABLE).ok()?;
        let (parent, descriptor) = value.split_once(':')?;
        let parent = Pid::from_raw(parent.parse().ok()?)?;
        let descriptor: i32 = descriptor.parse().ok().filter(|&number| number > 2)?;
        set_parent_process_death_signal(Some(Signal::KILL)).ok()?;
        if getppid() != Some(parent) {
            return None;
        }
        // SAFETY: the parent opened this descriptor for us alone, and nothing here has opened any other yet.
        let declined = unsafe { File::from_raw_fd(descriptor) };
        Some(Self { parent, declined })
    }

    /// What the daemon answered instead of agreeing; empty where it answered nothing.
    pub fn decline(mut self, answer: &[u8]) {
        // Where it cannot be told, the parent sees that this ended with nothing said.
        let _ = self.declined.write_all(b"declined\n").and_then(|()| self.declined.write_all(answer));
    }
}
