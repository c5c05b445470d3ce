//! Firecracker behind the interface that all monitors have: files are descriptors, which Firecracker inherits and opens
//! by their names in /proc; its sockets lie in the jail's own temporary folder.

use std::{
    os::{
        fd::{AsFd, OwnedFd, RawFd},
        unix::net::UnixStream,
    },
    path::PathBuf,
};

use rustix::io::{FdFlags, fcntl_setfd};

use super::{Firecracker, Machine, Saved, carry::carry};
use crate::{
    failure::{During, Failure, Outcome},
    monitor::{End, Monitor},
    spec::{Accelerator, INITRD_FD, KERNEL_FD, MEMORY_FD, MachineSpec, ROOT_FD, STATE_FD},
};

const FOLDER: &str = "/tmp";
/// The keyboard's controller is what Firecracker takes a reset from.
const COMMAND_LINE: &str = "console=ttyS0 quiet reboot=k panic=-1 oops=panic";

impl Monitor for Firecracker {
    fn boot(spec: &MachineSpec, stream: OwnedFd) -> Outcome<Self> {
        let stream = ours(stream)?;
        let mut started = Self::boot(&machine(spec)?)?;
        let guest = started.dial()?;
        carry(stream, guest).during("carry the guest's stream")?;
        Ok(started)
    }

    fn restore(spec: &MachineSpec, stream: OwnedFd) -> Outcome<Self> {
        let stream = ours(stream)?;
        let mut started = Self::restore(&machine(spec)?, &saved())?;
        let guest = started.dial_restored()?;
        carry(stream, guest).during("carry the guest's stream")?;
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

/// Firecracker must not have it: the stream is to end with us.
fn ours(stream: OwnedFd) -> Outcome<UnixStream> {
    fcntl_setfd(stream.as_fd(), FdFlags::CLOEXEC).during("keep the guest's stream")?;
    Ok(UnixStream::from(stream))
}

fn machine(spec: &MachineSpec) -> Outcome<Machine> {
    if spec.accelerator != Accelerator::Kvm {
        return Err(Failure::new("Firecracker runs machines by KVM only; use QEMU where there is none"));
    }
    Ok(Machine {
        program: spec.program.clone(),
        folder: FOLDER.into(),
        kernel: inherited(KERNEL_FD),
        initramfs: inherited(INITRD_FD),
        command_line: COMMAND_LINE.into(),
        processors: spec.vcpus,
        memory_mib: spec.memory_mib,
        root: inherited(ROOT_FD),
        disk: None,
        disk_rate: None,
    })
}

fn saved() -> Saved {
    Saved { state: inherited(STATE_FD), memory: inherited(MEMORY_FD) }
}

fn inherited(fd: RawFd) -> PathBuf {
    format!("/proc/self/fd/{fd}").into()
}
