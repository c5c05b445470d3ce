//! Firecracker behind the interface that all monitors have: files are descriptors, which Firecracker inherits and opens
//! by their names in /proc; its sockets lie in the jail's own temporary directory.

use std::{
    fs::File,
    io::Read,
    os::fd::{OwnedFd, RawFd},
    path::PathBuf,
};

use super::{Firecracker, Machine, Saved};
use crate::{
    failure::{During, Failure, Outcome},
    monitor::{End, Monitor},
    spec::{INITRD_FD, KERNEL_FD, MEMORY_FD, MachineSpec, ROOT_FD, STATE_FD},
};

const DIRECTORY: &str = "/tmp";
const ELF: &[u8; 4] = b"\x7fELF";

impl Monitor for Firecracker {
    fn boot(spec: &MachineSpec, stream: OwnedFd) -> Outcome<Self> {
        check_kernel()?;
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

    fn last_output(&mut self) -> String {
        Self::last_output(self)
    }

    fn await_end(self) -> Outcome<End> {
        Self::await_end(self)
    }
}

/// Said here, since Firecracker's own words for it name a parser's failure.
fn check_kernel() -> Outcome<()> {
    let mut magic = [0; ELF.len()];
    let kernel = File::open(inherited(KERNEL_FD)).and_then(|mut file| file.read_exact(&mut magic));
    kernel.during("read the machine's kernel")?;
    if &magic == ELF {
        return Ok(());
    }
    Err(Failure::new(
        "Firecracker takes an uncompressed kernel (vmlinux), and this one is compressed: use one that \
                      images/kernel/build.sh made, or QEMU",
    ))
}

fn machine(spec: &MachineSpec) -> Machine {
    Machine {
        program: spec.program.clone(),
        directory: DIRECTORY.into(),
        kernel: inherited(KERNEL_FD),
        initramfs: inherited(INITRD_FD),
        command_line: spec.command_line_on_hardware(),
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
