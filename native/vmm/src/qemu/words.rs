//! The words that QEMU is started with. What is saved and what is restored must have the same devices in the same order.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use super::clock;
use crate::spec::{Accelerator, Does, INITRD_FD, KERNEL_FD, MEMORY_FD, MachineSpec, ROOT_FD};

/// QEMU's ends of what leads to it.
pub struct Ends<'a> {
    pub stream: &'a OwnedFd,
    pub qmp: BorrowedFd<'a>,
    pub console: BorrowedFd<'a>,
}

/// How much translated code software emulation keeps. Its own guess is a part of the host's memory, far above what the
/// jail allows.
const TRANSLATED_MIB: u32 = 64;

const NONE: [&str; 0] = [];

pub fn of(spec: &MachineSpec, ends: &Ends<'_>) -> Vec<String> {
    let mut words = Words::default();
    words.add("-nodefaults", NONE);
    words.add("-no-user-config", NONE);
    words.add("-no-reboot", NONE);
    words.add("-display", ["none"]);
    words.add("-sandbox", ["on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"]);
    // Without these timers a guest hangs or loses a second under software emulation.
    let acpi = if spec.acpi { "on" } else { "off" };
    words.add("-M", [format!("microvm,acpi={acpi},pic=on,pit=on,rtc=on,isa-serial=on,memory-backend=memory")]);
    words.add("-accel", [accelerator(spec)]);
    words.add("-cpu", ["max"]);
    words.add("-smp", [spec.vcpus.to_string()]);
    words.add("-m", [format!("{}M", spec.memory_mib)]);
    words.add("-object", [memory(spec)]);
    words.add("-chardev", [socket("console", ends.console.as_raw_fd())]);
    words.add("-serial", ["chardev:console"]);
    words.add("-chardev", [socket("control", ends.qmp.as_raw_fd())]);
    words.add("-mon", ["chardev=control,mode=control"]);
    words.add("-chardev", [socket("stream", ends.stream.as_raw_fd())]);
    words.add("-device", ["virtio-serial-device"]);
    words.add("-device", ["virtserialport,chardev=stream,name=agentkernel"]);
    words.add("-add-fd", [format!("fd={ROOT_FD},set=1")]);
    words.add("-blockdev", ["driver=file,node-name=file,filename=/dev/fdset/1,read-only=on,locking=off"]);
    words.add("-blockdev", ["driver=raw,node-name=root,file=file,read-only=on"]);
    words.add("-device", ["virtio-blk-device,drive=root"]);
    words.add("-device", ["virtio-rng-device"]);
    if spec.does == Does::Restore {
        words.add("-incoming", ["defer"]);
    } else {
        words.add("-kernel", [inherited(KERNEL_FD)]);
        words.add("-initrd", [inherited(INITRD_FD)]);
        words.add("-append", [command_line(spec)]);
    }
    words.0
}

#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn add<const N: usize>(&mut self, option: &str, values: [impl Into<String>; N]) {
        self.0.push(option.into());
        self.0.extend(values.map(Into::into));
    }
}

fn accelerator(spec: &MachineSpec) -> String {
    match spec.accelerator {
        Accelerator::Kvm => "kvm".into(),
        Accelerator::Tcg => format!("tcg,tb-size={TRANSLATED_MIB}"),
    }
}

/// What is restored is private to this machine; what is saved is the template's.
fn memory(spec: &MachineSpec) -> String {
    let size = spec.memory_mib;
    match spec.does {
        Does::Boot => format!("memory-backend-ram,id=memory,size={size}M"),
        does => {
            let share = if does == Does::Save { "on" } else { "off" };
            format!("memory-backend-file,id=memory,size={size}M,mem-path={},share={share}", inherited(MEMORY_FD))
        }
    }
}

fn socket(id: &str, fd: RawFd) -> String {
    format!("socket,id={id},fd={fd}")
}

fn inherited(fd: RawFd) -> String {
    format!("/proc/self/fd/{fd}")
}

fn command_line(spec: &MachineSpec) -> String {
    if spec.accelerator == Accelerator::Kvm {
        return spec.command_line_on_hardware();
    }
    let told = clock::counter_khz().map(|khz| format!(" tsc_early_khz={khz}"));
    format!("{}{}", spec.command_line, told.unwrap_or_default())
}
