//! Signals to a command, and the end of its whole tree.

use ak_wire::payload::{Signal, SignalScope};

use super::{Exec, KEEPER_GRACE, tree};
use crate::channel::Context;
use crate::sys;

/// Orphans from before a command. Where keepers adopt their commands' orphans, the list is not needed.
pub(super) fn strangers(keepers: &[i32]) -> Vec<i32> {
    if sys::keepers_adopt() { Vec::new() } else { tree::orphans(own_pid(), keepers) }
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

impl Exec {
    pub fn on_signal(&mut self, ctx: &Context, signal: Signal) {
        let (true, Some(pid)) = (self.opened, self.pid) else {
            self.early_signals.push(signal);
            return;
        };
        self.ends_whole |= signal.last;
        // An error means that the processes have ended, or that there is no such signal.
        let _ = match signal.scope {
            SignalScope::Process if self.exit.is_some() => Ok(()),
            SignalScope::Process => sys::kill(pid, signal.signal),
            SignalScope::Group => sys::kill(-pid, signal.signal),
            SignalScope::Tree => {
                self.signal_tree(ctx, signal.signal);
                Ok(())
            }
        };
    }

    /// An interactive shell ignores SIGTERM; what ends it is that its terminal goes away.
    pub fn hang_up(&self) {
        if let (true, Some(pid), None) = (self.is_tty && self.opened, self.pid, self.exit) {
            let _ = sys::kill(-pid, libc::SIGHUP);
        }
    }

    /// The host gives the exec up. Output ends here; EXIT follows the kill.
    pub fn on_close(&mut self, ctx: &mut Context) {
        if !self.closing {
            self.closing = true;
            self.kill(ctx);
        }
    }

    /// Kills the tree, and again until the command's end is known.
    pub(super) fn kill(&mut self, ctx: &Context) {
        self.kill_again_at = Some(ctx.now + KEEPER_GRACE);
        self.signal_tree(ctx, libc::SIGKILL);
        if let Some(keeper) = self.live_keeper() {
            let _ = sys::kill(keeper, libc::SIGCONT);
        }
    }

    pub(super) fn kill_again(&mut self, ctx: &Context) {
        if let Some(keeper) = self.live_keeper() {
            let _ = sys::kill(keeper, libc::SIGKILL);
        }
        self.kill(ctx);
    }

    fn live_keeper(&self) -> Option<i32> {
        self.keeper.filter(|_| !self.keeper_lost)
    }

    pub(super) fn signal_tree(&self, ctx: &Context, signal: i32) {
        let keeper = self.live_keeper();
        if let Some(keeper) = keeper {
            tree::signal(&[keeper], false, signal);
        }
        if keeper.is_none() || !sys::keepers_adopt() {
            let mut orphans = tree::orphans(own_pid(), ctx.keepers);
            orphans.retain(|pid| !self.strangers.contains(pid));
            tree::signal(&orphans, true, signal);
        }
    }
}
