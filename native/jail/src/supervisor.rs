//! The process outside the walls of a temporary sandbox: starts it, stays until it has ended, and leaves nothing behind.
//! It ends the sandbox when the order comes or when whoever gave the orders is gone.

use std::{
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::Path,
};

use ak_sys::args::Word;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{
    cgroup::{self, Stats},
    control::{Control, Event, Order},
    fault::{During, Outcome},
    foresight,
    sandbox::{Sandbox, Ties, Warm},
    spec::Spec,
    sys,
    view::{contents::Contents, memory::Memory, placeholder::Placeholders},
};

/// What is for a supervisor to do beside its sandbox, as whoever started it says.
pub struct Chores {
    /// Removing what supervisors that were killed have left, once its own sandbox has ended.
    pub sweeps: bool,
    /// What those before it have read of projects.
    pub memory: Option<Memory>,
    /// Where it writes for which state directory it works, for `stop --all`.
    pub mark: Option<Word>,
}

/// A whole supervisor. False where there was no sandbox, and whoever gave the orders knows why.
pub fn run(control: OwnedFd, stream: OwnedFd, chores: Chores) -> bool {
    // Whatever it was called before.
    sys::set_name(c"ak-jail");
    let mut control = Control::new(control);
    match supervise(&mut control, stream, chores) {
        Ok(()) => true,
        Err(fault) => {
            control.send(&Event::Failed(&fault));
            false
        }
    }
}

fn supervise(control: &mut Control, stream: OwnedFd, mut chores: Chores) -> Outcome<()> {
    let Some(line) = control.line()? else {
        return Ok(());
    };
    let spec = Spec::parse(&line)?;
    show_mark(&mut chores, &spec);
    if spec.warm {
        // Whoever looks at the machine sees that it is nobody's yet.
        sys::set_name(c"ak-warm");
        let warm = Warm::start(spec, stream)?;
        control.send(&Event::Warm);
        let mut foreseen = None;
        let line = loop {
            // Nobody came for what was looked at: its file system must not stay busy for that.
            let Some(line) = await_caller(control, &warm, &mut || foreseen = None)? else {
                return Ok(());
            };
            if !foresight::is_order(&line) {
                break line;
            }
            foreseen = warm.look(&line, chores.memory.as_mut());
        };
        sys::set_name(c"ak-jail");
        let spec = warm.spec_of(&line)?;
        show_mark(&mut chores, &spec);
        let sandbox = warm.take(&spec, foreseen)?;
        return see_to_its_end(control, sandbox, &spec, chores);
    }
    let sandbox = Sandbox::start(&spec, Ties { stream, disk: None, since: None, born: &mut |_| Ok(()) })?;
    see_to_its_end(control, sandbox, &spec, chores)
}

/// The journal is in the state directory, and there is one for each.
fn show_mark(chores: &mut Chores, spec: &Spec) {
    if let Some(word) = &mut chores.mark {
        word.replace(&state_mark(&spec.journal));
    }
}

/// FNV-1a of the path, as the host computes it too (src/backends/linux/state-mark.ts).
fn state_mark(journal: &Path) -> String {
    let hash = journal
        .as_os_str()
        .as_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}

/// Waits until somebody wants it. None: nobody will, or it has died.
fn await_caller(control: &mut Control, warm: &Warm, idle: &mut dyn FnMut()) -> Outcome<Option<Vec<u8>>> {
    if control.has_line() || is_spoken_to(control, warm.pidfd(), idle)? { control.line() } else { Ok(None) }
}

fn see_to_its_end(control: &mut Control, mut sandbox: Sandbox<'_>, spec: &Spec, chores: Chores) -> Outcome<()> {
    control.send(&Event::Started { pid: sandbox.pid(), layers: &sandbox.layers });
    // Taking it apart now would be in the way of the command's start.
    let mut remains = sandbox.remains();
    let contents = sandbox.contents();
    let order = await_end(control, &sandbox, &mut || remains = None)?;
    if order == Some(Order::Finish) {
        let Stats { oom_kills, pids_denied, memory_peak_bytes } = sandbox.cgroup.stats();
        let cpu_us = sandbox.cgroup.cpu_us();
        control.send(&Event::Ending { oom_kills, pids_denied, memory_peak_bytes, cpu_us });
    }
    drop(remains);
    let end = sandbox.end(order == Some(Order::Finish))?;
    control.send(&Event::Exited(&end));
    contents.iter().for_each(Contents::keep);
    if let Some(memory) = chores.memory {
        memory.keep();
    }
    if chores.sweeps {
        cgroup::sweep();
        Placeholders::sweep(&spec.journal);
    }
    Ok(())
}

/// Waits for the sandbox to end, for an order, or for the owner to go. `idle` is called when that takes long.
fn await_end(control: &mut Control, sandbox: &Sandbox<'_>, idle: &mut dyn FnMut()) -> Outcome<Option<Order>> {
    if !control.has_line() {
        // Where it has ended by itself, whoever owns it decides what to do with its changes.
        is_spoken_to(control, sandbox.pidfd(), idle)?;
    }
    control.order()
}

/// Whether it is the other side that was heard of first, and not the end of the process.
fn is_spoken_to(control: &Control, process: &OwnedFd, idle: &mut dyn FnMut()) -> Outcome<bool> {
    let mut patience = Timespec::try_from(ak_sys::idle::IDLE_AFTER).ok();
    loop {
        let mut fds = [PollFd::new(process, PollFlags::IN), PollFd::from_borrowed_fd(control.as_fd(), PollFlags::IN)];
        match poll(&mut fds, patience.as_ref()) {
            Ok(0) => {
                idle();
                ak_sys::idle::trim();
                patience = None;
                continue;
            }
            Ok(_) => return Ok(!fds[1].revents().is_empty()),
            Err(rustix::io::Errno::INTR) => continue,
            Err(e) => return Err(e).during("wait for the sandbox"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_directory_has_the_mark_that_the_host_computes() {
        assert_eq!(state_mark(Path::new("/home/me/.local/state/agentkernel/journal")), "997fbb9450736f85");
    }
}
