//! Ended children: keepers, commands that have none, and as process 1 whatever a killed keeper left.

use rustix::io::read;

use crate::channel::{Channel, Context, Step};
use crate::exec::Spare;
use crate::outbox::Outbox;
use crate::server::Server;
use crate::sys;

impl Server {
    /// Reports the end of a command that is our own child before it is reaped, which takes longer.
    pub(crate) fn on_child_end(&mut self) {
        let mut ended = false;
        for channel in self.channels.values_mut() {
            if let Channel::Exec(exec) = channel
                && let Some(reaped) = exec.own_child().and_then(sys::peek_at)
            {
                exec.on_reaped(&reaped);
                ended = true;
            }
        }
        if ended {
            self.wants_reaping = true;
        } else {
            self.reap();
        }
    }

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
            self.spare.take_if(|spare| spare.keeper == reaped.pid);
            match self.keepers.iter().position(|pid| *pid == reaped.pid) {
                Some(at) => {
                    self.keepers.swap_remove(at);
                }
                None => self.on_orphan_end(&reaped),
            }
        }
    }

    /// Waits for the end of a child that is no spare keeper.
    pub(crate) fn reap_until_another(&mut self) {
        loop {
            match sys::peek_ended() {
                Ok(ended) => {
                    sys::reap_one(ended.pid);
                    if self.spare.take_if(|spare| spare.keeper == ended.pid).is_none() {
                        return;
                    }
                    self.keepers.retain(|pid| *pid != ended.pid);
                }
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(_) => return,
            }
        }
    }

    /// A command is over. A kept guest, or one that has had a command before, will be asked for more.
    pub(crate) fn on_command_over(&mut self) {
        self.wants_spare =
            self.spare.is_none() && self.shutdown.is_none() && (self.host_socket.is_some() || self.has_served);
        self.has_served = true;
    }

    /// Tried once; where there is not enough of something, the next command's end is the next occasion.
    pub(crate) fn fork_spare(&mut self) {
        self.wants_spare = false;
        self.spare = Spare::fork();
        self.keepers.extend(self.spare.as_ref().map(|spare| spare.keeper));
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
