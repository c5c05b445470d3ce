//! Firecracker behind the interface that all monitors have: files are descriptors, which Firecracker inherits and opens
//! by their names in /proc; its sockets lie in the jail's own temporary folder.

use std::{
    os::fd::{OwnedFd, RawFd},
    path::PathBuf,
};

use super::{Firecracker, Machine, Saved};
use crate::{
    failure::Outcome,
    monitor::{End, Monitor},
    spec::{INITRD_FD, KERNEL_FD, MEMORY_FD, MachineSpec, ROOT_FD, STATE_FD},
};

const FOLDER: &str = "/tmp";

impl Monitor for Firecracker {
    fn boot(spec: &MachineSpec, stream: OwnedFd) -> Outcome<Self> {
        let mut started = Self::boot(&machine(spec))?;
        let guest = started.dial()?;
        started.carry(stream, guest)?;
        Ok(started)
    }

    fn restore(spec: &MachineSpec, stream: OwnedFd) -> Outcome<Self> {
        let mut started = Self::restore(&machine(spec), &saved())?;
        let guest = started.dial_restored()?;
        started.carry(stream, guest)?;
        Ok(started)
    }

    fn save(&mut self) -> Outcome<()> {
        Self::save(self, &saved())
    }

    fn pause(&mut self) -> Outcome<()> {
        Self::pause(self)
    }

    fn resume(&mut self) -> Outcome<()> {
        Self::resume(self)
    }

    fn pid(&self) -> u32 {
        Self::pid(self)
    }

    fn last_words(&mut self) -> String {
        Self::last_words(self)
    }

    fn await_end(self) -> Outcome<End> {
        Self::await_end(self)
    }
}

fn machine(spec: &MachineSpec) -> Machine {
    Machine {
        program: spec.program.clone(),
        folder: FOLDER.into(),
        kernel: inherited(KERNEL_FD),
        initramfs: inherited(INITRD_FD),
        command_line: spec.command_line.clone(),
        processors: spec.vcpus,
        memory_mib: spec.memory_mib,
        root: inherited(ROOT_FD),
        disk: None,
        disk_rate: None,
    }
}

fn saved() -> Saved {
    Saved { state: inherited(STATE_FD), memory: inherited(MEMORY_FD) }
}

fn inherited(fd: RawFd) -> PathBuf {
    format!("/proc/self/fd/{fd}").into()
}
