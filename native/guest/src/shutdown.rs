//! The orderly end (SHUTDOWN) and the abrupt one (the stream ended).

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{Shutdown as Direction, shutdown};
use rustix::process::getpid;

use crate::channel::{Channel, Context};
use crate::exec::tree;
use crate::server::{End, Server};
use crate::sys;

const MAX_GRACE_MS: u64 = 60_000;
/// How long killed processes have to be gone, and the last frames to leave.
const LAST_WAIT: Duration = Duration::from_secs(1);

#[derive(Clone, Copy)]
pub struct Shutdown {
    /// The end of the present phase.
    pub until: Instant,
    /// SIGKILL was sent; before, SIGTERM.
    killed: bool,
}

impl Server {
    pub(crate) fn start_shutdown(&mut self, grace_ms: u64) {
        if self.shutdown.is_some() {
            return;
        }
        // It ends by that, and with it the last that would be waited for.
        self.spare = None;
        let grace = Duration::from_millis(grace_ms.min(MAX_GRACE_MS));
        self.signal_everything(libc::SIGTERM);
        self.hang_up_terminals();
        self.shutdown = Some(Shutdown { until: self.now + grace, killed: false });
    }

    pub(crate) fn check_shutdown(&mut self) -> Result<(), End> {
        let Some(shutdown) = self.shutdown else {
            return Ok(());
        };
        let all_gone = self.reap();
        let late = shutdown.until <= self.now;
        if !all_gone && !late {
            return Ok(());
        }
        if all_gone || shutdown.killed {
            return self.finish();
        }
        self.signal_everything(libc::SIGKILL);
        self.shutdown = Some(Shutdown { until: self.now + LAST_WAIT, killed: true });
        Ok(())
    }

    /// Sends what credit still allows, all terminal frames, and ends.
    fn finish(&mut self) -> Result<(), End> {
        let give_up_at = Instant::now() + LAST_WAIT;
        self.outbox.stop_coalescing();
        // The events of what ended last may not have been seen yet.
        for channel in self.channels.values_mut() {
            channel.look_again();
        }
        while self.run_channels()? && Instant::now() < give_up_at {
            self.wait_for_host(give_up_at)?;
        }
        for (id, mut channel) in std::mem::take(&mut self.channels) {
            channel.abandon(&mut Context { id, outbox: &mut self.outbox, now: self.now, keepers: &self.keepers });
        }
        self.net.abandon(&mut self.outbox, &self.poller, self.now);
        while !self.outbox.is_empty() && Instant::now() < give_up_at {
            self.wait_for_host(give_up_at)?;
        }
        if self.host_socket.as_ref().is_some_and(|host_socket| host_socket.is_named) {
            self.wait_for_carrier(give_up_at);
        }
        Err(End::ShutDown)
    }

    fn wait_for_host(&mut self, give_up_at: Instant) -> Result<(), End> {
        self.outbox.stop_coalescing();
        self.flush()?;
        if self.outbox.is_empty() {
            return Ok(());
        }
        let Some(host) = &self.host else { return Ok(()) };
        let left = give_up_at.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let mut fds = [PollFd::from_borrowed_fd(host.output(), PollFlags::OUT)];
        poll(&mut fds, Some(&timeout)).map_err(|_| End::StreamEnded)?;
        self.outbox.unstall();
        Ok(())
    }

    /// A process in here carries the stream, and dies with us. It closes its end when it has carried everything.
    fn wait_for_carrier(&self, give_up_at: Instant) {
        let Some(host) = &self.host else { return };
        // One that is gone already has nothing to carry.
        if shutdown(host.input(), Direction::Write).is_err() {
            return;
        }
        let left = give_up_at.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let mut fds = [PollFd::from_borrowed_fd(host.input(), PollFlags::empty())];
        // With an empty event mask, poll reports only POLLHUP and POLLERR.
        let _ = poll(&mut fds, Some(&timeout));
    }

    fn hang_up_terminals(&self) {
        let attached = self.channels.values().filter_map(|channel| match channel {
            Channel::Exec(exec) => Some(exec),
            _ => None,
        });
        for exec in attached.chain(self.kept.detached.values()) {
            exec.hang_up();
        }
    }

    /// Keepers block all signals but SIGKILL, so the others pass them by.
    fn signal_everything(&self, signal: i32) {
        if self.process.is_init {
            // ESRCH: no process is left.
            let _ = sys::kill(-1, signal);
        } else {
            let own = getpid().as_raw_nonzero().get();
            tree::signal(&[own], false, signal);
        }
    }

    /// Ends a sandbox without an owner. Dropping the channels also removes temporary files of unfinished writes.
    pub(crate) fn kill_everything(&mut self) {
        self.signal_everything(libc::SIGKILL);
        self.channels.clear();
        self.kept.detached.clear();
    }
}
