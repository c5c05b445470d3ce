//! Freezes a virtual machine with its memory saved, so that a copy of its disk that is made meanwhile is of the same
//! moment. It stays frozen for as long as the requester is connected, and resumes by itself when that connection ends
//! for any reason.

use std::{
    io::{ErrorKind, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::fs::{SeekFrom, seek};
use serde_json::{Value, json};

use super::{
    Memory, PATIENCE, Qemu,
    kept::{FREEZE, THAW},
};
use crate::{
    failure::{During, Failure, Outcome},
    monitor::Monitor,
    spec::SAVED_FD,
};

/// Each hold has a number, which process 1 repeats in its answer; the answer may come too late.
pub const FIRST_NUMBER: u8 = 128;

/// How the C library calls it, which QEMU passes on.
const DISK_FULL: &str = "No space left on device";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Process 1 of the machine stops its sandbox, and has what was written put on the disk.
    Stopping,
    Saving,
    Saved,
    /// The requester has gone, and QEMU has not cancelled the migration yet.
    Cancelling,
}

struct Held {
    requester: UnixStream,
    stage: Stage,
}

#[derive(Default)]
pub struct SnapshotHold {
    held: Option<Held>,
    times: u8,
}

impl SnapshotHold {
    /// Whose end is the end of it.
    pub fn requester(&self) -> Option<BorrowedFd<'_>> {
        self.held.as_ref().filter(|held| held.stage != Stage::Cancelling).map(|held| held.requester.as_fd())
    }

    pub fn is_active(&self) -> bool {
        self.held.is_some()
    }

    /// Starts a hold. No other message is handled until it is over.
    pub fn ask(&mut self, machine: &mut Qemu, requester: OwnedFd) -> Outcome<()> {
        let requester = UnixStream::from(requester);
        requester.set_nonblocking(true).during("hold the machine still")?;
        self.held = Some(Held { requester, stage: Stage::Stopping });
        self.times = (self.times + 1) % FIRST_NUMBER;
        machine.order(FREEZE, self.number().into())
    }

    fn number(&self) -> u8 {
        FIRST_NUMBER + self.times
    }

    /// Process 1 says that nothing of the sandbox runs.
    pub fn begin(&mut self, machine: &mut Qemu, number: u8) -> Outcome<()> {
        let is_this = number == self.number();
        match &mut self.held {
            Some(held) if is_this && held.stage == Stage::Stopping => {
                held.stage = Stage::Saving;
                machine.save_whole().or_else(|failure| self.fail(machine, &failure.to_string()))
            }
            // An answer about a request that was cancelled.
            _ => Ok(()),
        }
    }

    /// Process 1 says that something of the sandbox does not stop.
    pub fn is_refused(&mut self, machine: &mut Qemu) -> Outcome<()> {
        match &self.held {
            Some(held) if held.stage == Stage::Stopping => {
                self.fail(machine, "what runs in the machine could not be held still; its console says why")
            }
            // An answer about a request that was cancelled.
            _ => Ok(()),
        }
    }

    /// QEMU's word on how far it is.
    pub fn hear(&mut self, machine: &mut Qemu, news: &Value) -> Outcome<()> {
        let Some(held) = &mut self.held else { return Ok(()) };
        let status = news["status"].as_str().unwrap_or_default();
        match (held.stage, status) {
            (Stage::Saving, "completed") => {
                held.stage = Stage::Saved;
                if tell(&held.requester, &json!({ "said": "saved" })).is_err() {
                    return self.end(machine);
                }
                Ok(())
            }
            (Stage::Saving, "failed" | "cancelled") => {
                let why = machine.qmp.ask(&json!({ "execute": "query-migrate" }), PATIENCE)?;
                let why = why["error-desc"].as_str().unwrap_or("without a reason").to_owned();
                self.fail(machine, &format!("QEMU could not save the machine: {why}"))
            }
            (Stage::Cancelling, "completed" | "failed" | "cancelled") => self.thaw(machine),
            _ => Ok(()),
        }
    }

    /// Looks whether it is still wanted.
    pub fn look(&mut self, machine: &mut Qemu) -> Outcome<()> {
        let Some(held) = &mut self.held else { return Ok(()) };
        if held.stage == Stage::Cancelling {
            return Ok(());
        }
        match held.requester.read(&mut [0; 64]) {
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(()),
            // Whatever is said means that it may go on.
            Ok(_) | Err(_) => self.end(machine),
        }
    }

    fn end(&mut self, machine: &mut Qemu) -> Outcome<()> {
        match &mut self.held {
            Some(held) if held.stage == Stage::Saving => {
                held.stage = Stage::Cancelling;
                machine.qmp.ask(&json!({ "execute": "migrate_cancel" }), PATIENCE).map(drop)
            }
            Some(held) if held.stage == Stage::Cancelling => Ok(()),
            Some(_) => self.thaw(machine),
            None => Ok(()),
        }
    }

    fn fail(&mut self, machine: &mut Qemu, why: &str) -> Outcome<()> {
        if let Some(held) = &self.held {
            // A write to a requester that has gone fails.
            let code = if why.contains(DISK_FULL) { "resource_exhausted" } else { "internal" };
            let _ = tell(&held.requester, &json!({ "said": "failed", "code": code, "message": why }));
        }
        self.thaw(machine)
    }

    /// With the time that it is: the machine's own clock stood still.
    fn thaw(&mut self, machine: &mut Qemu) -> Outcome<()> {
        let Some(held) = self.held.take() else { return Ok(()) };
        if held.stage != Stage::Stopping {
            machine.resume()?;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).during("tell the time")?;
        machine.order(THAW, u64::try_from(now.as_nanos()).during("tell the time")?)?;
        // Closing this end tells the requester that the virtual machine runs.
        drop(held);
        Ok(())
    }
}

impl Qemu {
    /// Begins to; QEMU tells when it has. The processors stand still from the beginning, so that it is of one moment.
    fn save_whole(&mut self) -> Outcome<()> {
        self.pause()?;
        self.prepare_to_save(Memory::Within)?;
        // SAFETY: the jail put it there, and it stays open for as long as this process lives.
        let saved = unsafe { BorrowedFd::borrow_raw(SAVED_FD) };
        seek(saved, SeekFrom::Start(0)).during("open the file for the machine's memory")?;
        self.qmp.hand_over("saved", saved, PATIENCE)?;
        self.qmp.ask(&json!({ "execute": "migrate", "arguments": { "uri": "fd:saved" } }), PATIENCE).map(drop)
    }
}

fn tell(mut requester: &UnixStream, what: &Value) -> Outcome<()> {
    let text = what.to_string();
    let length = u32::try_from(text.len()).map_err(|_| Failure::new("a long message"))?;
    requester
        .write_all(&[&length.to_le_bytes()[..], text.as_bytes()].concat())
        .during("answer whoever holds the machine")
}
