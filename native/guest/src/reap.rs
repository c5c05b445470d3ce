//! Ended children: keepers, commands that have none, and as process 1 whatever a killed keeper left.

use rustix::io::read;

use crate::channel::{Channel, Context, Step};
use crate::outbox::Outbox;
use crate::server::Server;
use crate::sys;

impl Server {
    /// Collects all that ended; true when no child is left.
    pub(crate) fn reap(&mut self) -> bool {
        // The signal's record says nothing that wait does not say better.
        let mut records = [0u8; 512];
        while read(&self.process.child_signals, &mut records) == Ok(records.len()) {}
        loop {
            let reaped = match sys::reap() {
                Ok(Some(reaped)) => reaped,
                Ok(None) => return false,
                Err(error) => return error.raw_os_error() == Some(libc::ECHILD),
            };
            match self.keepers.iter().position(|pid| *pid == reaped.pid) {
                Some(at) => {
                    self.keepers.swap_remove(at);
                }
                None => self.on_orphan_end(&reaped),
            }
        }
    }

    /// It may be a command that has no keeper, or whose keeper was killed; then the report with its process id may still
    /// be unread.
    fn on_orphan_end(&mut self, reaped: &sys::Reaped) {
        let mut ended = Vec::new();
        for (id, channel) in &mut self.channels {
            let Channel::Exec(exec) = channel else {
                continue;
            };
            let mut ctx = Context { id: *id, outbox: &mut self.outbox, now: self.now, keepers: &self.keepers };
            exec.look_again();
            if matches!(exec.read_reports(&mut ctx), Step::Ended) {
                ended.push(*id);
            }
            exec.on_reaped(reaped);
        }
        for id in ended {
            self.retire(id);
        }
        for exec in self.kept.detached.values_mut() {
            let mut void = Outbox::void();
            let mut ctx = Context { id: 0, outbox: &mut void, now: self.now, keepers: &self.keepers };
            exec.look_again();
            exec.read_reports(&mut ctx);
            exec.on_reaped(reaped);
        }
    }
}
