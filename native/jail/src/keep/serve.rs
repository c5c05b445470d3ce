//! The supervisor of a kept sandbox at work: waits for the sandbox's end and for orders, and obeys them.

use std::{
    os::fd::{AsFd, BorrowedFd},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    rand::{GetRandomFlags, getrandom},
};

use super::{
    clients::Clients,
    door::Door,
    orders::{Answer, Order, Status},
};
use crate::{
    fault::{During, Fault, Outcome},
    sandbox::Sandbox,
    view::contents::Contents,
};

/// What a guest may take beyond the grace time to end by itself.
const AFTER_GRACE: Duration = Duration::from_secs(3);
const MAX_GRACE_MS: u64 = 60_000;

/// Why the sandbox ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Stopped,
    Killed,
    /// By itself.
    Own,
}

pub struct Server<'a> {
    pub sandbox: Sandbox<'a>,
    pub door: Door,
    pub clients: Clients,
    pub started_at: SystemTime,
    pub is_paused: bool,
    ticket: String,
    cause: Cause,
    kill_at: Option<Instant>,
}

impl<'a> Server<'a> {
    pub fn new(sandbox: Sandbox<'a>, door: Door, clients: Clients, started_at: SystemTime) -> Self {
        Self {
            sandbox,
            door,
            clients,
            started_at,
            is_paused: false,
            ticket: String::new(),
            cause: Cause::Own,
            kill_at: None,
        }
    }

    /// Until the sandbox has ended.
    pub fn run(&mut self) -> Outcome<Cause> {
        let mut is_trimmed = false;
        loop {
            let wait = match self.kill_at {
                Some(at) => Some(at.saturating_duration_since(Instant::now())),
                None => (!is_trimmed).then_some(ak_sys::idle::IDLE_AFTER),
            };
            let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
            let mut fds = vec![PollFd::new(self.sandbox.pidfd(), PollFlags::IN)];
            fds.extend(self.clients.poll_fds());
            let count = match poll(&mut fds, wait.as_ref()) {
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(e) => return Err(e).during("wait for the sandbox"),
            };
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            drop(fds);
            if count == 0 && self.kill_at.is_none() {
                self.sandbox.contents().iter().for_each(Contents::keep);
                ak_sys::idle::trim();
            }
            is_trimmed = count == 0;
            if self.kill_at.is_some_and(|at| at <= Instant::now()) {
                self.kill_at = None;
                self.sandbox.kill();
            }
            if ready[0] {
                return Ok(self.cause);
            }
            for (index, _) in ready[2..].iter().enumerate().filter(|(_, ready)| **ready) {
                self.hear(index);
            }
            self.clients.drop_gone();
            if ready[1] {
                self.clients.accept();
            }
        }
    }

    fn hear(&mut self, index: usize) {
        while !self.clients.all[index].is_gone() {
            let answered = match self.clients.all[index].order() {
                None => return,
                Some(Ok(order)) => self.obey(index, order),
                Some(Err(fault)) => Err(fault),
            };
            if let Err(fault) = answered {
                self.clients.all[index].tell(&Answer::Failed(&fault));
            }
        }
    }

    fn obey(&mut self, index: usize, order: Order) -> Outcome<()> {
        match order {
            Order::Own {} => {
                self.ticket = new_ticket()?;
                self.clients.give_to(index);
                let ticket = self.ticket.clone();
                let answer =
                    Answer::Owned { ticket: &ticket, status: status(&self.sandbox, self.is_paused, self.started_at) };
                self.clients.all[index].tell(&answer);
            }
            Order::Stream { ticket } => {
                let client = &mut self.clients.all[index];
                if ticket == self.ticket && !ticket.is_empty() {
                    // Without the guest's answer the host finds its connection closed, as without a valid ticket.
                    self.door.let_in(client.fd.as_fd());
                }
                client.drop_later();
            }
            Order::Errand {} => self.pass_to_machine(index, Door::let_ask)?,
            Order::Hold {} => self.pass_to_machine(index, Door::let_hold)?,
            Order::Status {} => {
                let answer = Answer::Status(status(&self.sandbox, self.is_paused, self.started_at));
                self.clients.all[index].tell(&answer);
            }
            Order::Pause {} => {
                self.sandbox.cgroup.freeze()?;
                self.is_paused = true;
                self.clients.all[index].tell(&Answer::Done);
            }
            Order::Resume {} => {
                self.thaw()?;
                self.clients.all[index].tell(&Answer::Done);
            }
            Order::Stop { grace_ms } => {
                self.clients.all[index].awaits_end = true;
                self.thaw()?;
                let grace_ms = grace_ms.min(MAX_GRACE_MS);
                let is_told = self.door.stop(grace_ms);
                let patience = if is_told { Duration::from_millis(grace_ms) + AFTER_GRACE } else { Duration::ZERO };
                let at = Instant::now() + patience;
                self.kill_at = Some(self.kill_at.map_or(at, |earlier| earlier.min(at)));
                if self.cause == Cause::Own {
                    self.cause = Cause::Stopped;
                }
                self.clients.all[index].tell(&Answer::Done);
            }
            Order::Kill {} => {
                self.clients.all[index].awaits_end = true;
                self.cause = Cause::Killed;
                self.sandbox.kill();
                // In a group that is frozen by v1, the signal waits for this.
                self.thaw()?;
                self.clients.all[index].tell(&Answer::Done);
            }
        }
        Ok(())
    }

    /// Where the machine takes no more, whoever asks finds the connection closed.
    fn pass_to_machine(&mut self, index: usize, pass: fn(&Door, BorrowedFd<'_>) -> bool) -> Outcome<()> {
        if !self.sandbox.is_machine() {
            return Err(Fault::new("unsupported", "the sandbox is in no machine of its own"));
        }
        let client = &mut self.clients.all[index];
        pass(&self.door, client.fd.as_fd());
        client.drop_later();
        Ok(())
    }

    fn thaw(&mut self) -> Outcome<()> {
        if self.is_paused {
            self.sandbox.cgroup.thaw()?;
            self.is_paused = false;
        }
        Ok(())
    }
}

fn status<'a>(sandbox: &'a Sandbox<'_>, paused: bool, started_at: SystemTime) -> Status<'a> {
    Status {
        guest: sandbox.pid(),
        paused,
        started_at_ms: started_at.duration_since(UNIX_EPOCH).map_or(0, |t| t.as_millis() as u64),
        layers: &sandbox.layers,
        usage: sandbox.usage(),
    }
}

fn new_ticket() -> Outcome<String> {
    let mut bytes = [0u8; 16];
    let length = getrandom(&mut bytes[..], GetRandomFlags::empty()).during("make a ticket")?;
    if length != bytes.len() {
        return Err(Fault::new("internal", "no randomness for a ticket"));
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
