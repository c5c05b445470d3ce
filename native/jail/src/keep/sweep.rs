//! What a killed supervisor leaves behind: its sandbox dies with it, but not in the same moment, and its cgroups and its
//! socket stay.

use std::path::Path;

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::retry_on_intr,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use serde::Serialize;

use super::folder::{State, StateFolder, boot_id, exists, start_of};
use crate::{
    cgroup,
    fault::{During, Fault, Outcome},
    view::placeholder::Placeholders,
};

/// For processes that are killed already to be gone. One that waits for a dead filesystem may never be.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

#[derive(Serialize)]
pub struct Swept {
    /// A supervisor lives; nothing was touched.
    pub alive: bool,
}

pub fn sweep(path: &Path) -> Outcome<Swept> {
    if !exists(path) {
        return Ok(Swept { alive: false });
    }
    let Some(folder) = StateFolder::try_claim(path)? else { return Ok(Swept { alive: true }) };
    clear(&folder)?;
    Ok(Swept { alive: false })
}

/// Afterwards nothing of an earlier sandbox runs or is left, but its disk.
pub fn clear(folder: &StateFolder) -> Outcome<()> {
    let last = folder.last_supervisor();
    let state = folder.read_state();
    if let Some(state) = &state {
        cgroup::thaw_all(&state.cgroups);
        await_guest(state)?;
        cgroup::remove_all(&state.cgroups);
        Placeholders::sweep(&state.journal);
        folder.write_lost()?;
    }
    folder.forget()?;
    if let Some(pid) = last {
        sweep_cgroups(&pid.to_string());
    }
    Ok(())
}

/// Process 1 of the sandbox is gone only after all others in it.
fn await_guest(state: &State) -> Outcome<()> {
    if state.boot != boot_id() {
        return Ok(());
    }
    let Some(pid) = Pid::from_raw(state.guest) else { return Ok(()) };
    let Ok(guest) = pidfd_open(pid, PidfdFlags::empty()) else { return Ok(()) };
    // Looked at after it was opened: now the id cannot come to mean another process.
    if start_of(state.guest) != Some(state.guest_start) {
        return Ok(());
    }
    // It has that signal from the kernel already, unless its supervisor died in its first moments.
    let _ = pidfd_send_signal(&guest, Signal::KILL);
    let mut polled = [PollFd::new(&guest, PollFlags::IN)];
    if retry_on_intr(|| poll(&mut polled, Some(&PATIENCE))).during("wait for the last sandbox")? == 0 {
        return Err(Fault::new("conflict", "processes of the last sandbox do not end")
            .hint("they may wait for a device or a network filesystem; try again later"));
    }
    Ok(())
}

/// The groups are empty, but the kernel may need a moment to notice.
fn sweep_cgroups(supervisor: &str) {
    for _ in 0..200 {
        cgroup::sweep_kept();
        if !cgroup::has_of_kept(supervisor) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
