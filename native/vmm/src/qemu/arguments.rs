//! The arguments that QEMU is started with. What is saved and what is restored must have the same devices in the same order.

use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use super::{Memory, clock, ports};
use crate::spec::{Accelerator, Action, DISK_FD, INITRD_FD, KERNEL_FD, MEMORY_FD, MachineSpec, ROOT_FD};

/// QEMU's ends of what leads to it.
pub struct Ends<'a> {
    /// None while no host is there.
    pub stream: Option<BorrowedFd<'a>>,
    pub qmp: BorrowedFd<'a>,
    pub console: BorrowedFd<'a>,
    /// The port for orders of a persistent virtual machine.
    pub orders: Option<BorrowedFd<'a>>,
}

/// How much translated code software emulation keeps. Its own guess is a part of the host's memory, far above what the
/// jail allows.
const TRANSLATED_MIB: u32 = 64;

const NONE: [&str; 0] = [];

pub fn of(spec: &MachineSpec, ends: &Ends<'_>) -> Vec<String> {
    let mut arguments = Arguments::default();
    arguments.add("-nodefaults", NONE);
    arguments.add("-no-user-config", NONE);
    arguments.add("-no-reboot", NONE);
    arguments.add("-display", ["none"]);
    arguments.add("-sandbox", ["on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"]);
    // Without these timers a guest hangs or loses a second under software emulation.
    let acpi = if spec.acpi { "on" } else { "off" };
    arguments.add("-M", [format!("microvm,acpi={acpi},pic=on,pit=on,rtc=on,isa-serial=on,memory-backend=memory")]);
    arguments.add("-accel", [accelerator(spec)]);
    arguments.add("-cpu", ["max"]);
    arguments.add("-smp", [spec.vcpus.to_string()]);
    arguments.add("-m", [format!("{}M", spec.memory_mib)]);
    arguments.add("-object", [memory(spec)]);
    arguments.add("-chardev", [socket("console", ends.console.as_raw_fd())]);
    arguments.add("-serial", ["chardev:console"]);
    arguments.add("-chardev", [socket("control", ends.qmp.as_raw_fd())]);
    arguments.add("-mon", ["chardev=control,mode=control"]);
    arguments.add("-device", ["virtio-serial-device"]);
    add_port(&mut arguments, ports::HOST, "agentkernel", ends.stream);
    if let Some(orders) = ends.orders {
        add_port(&mut arguments, ports::REQUESTS, "requests", None);
        add_port(&mut arguments, "orders", "orders", Some(orders));
    }
    arguments.add("-add-fd", [format!("fd={ROOT_FD},set=1")]);
    arguments.add("-blockdev", ["driver=file,node-name=file,filename=/dev/fdset/1,read-only=on,locking=off"]);
    arguments.add("-blockdev", ["driver=raw,node-name=root,file=file,read-only=on"]);
    arguments.add("-device", ["virtio-blk-device,drive=root"]);
    if let Some(mib) = spec.disk_mib {
        add_disk(&mut arguments, spec, mib);
    }
    arguments.add("-device", ["virtio-rng-device"]);
    if matches!(spec.does, Action::Restore | Action::Continue) {
        arguments.add("-incoming", ["defer"]);
    } else {
        arguments.add("-kernel", [inherited(KERNEL_FD)]);
        arguments.add("-initrd", [inherited(INITRD_FD)]);
        arguments.add("-append", [command_line(spec)]);
    }
    arguments.0
}

#[derive(Default)]
struct Arguments(Vec<String>);

impl Arguments {
    fn add<const N: usize>(&mut self, option: &str, values: [impl Into<String>; N]) {
        self.0.push(option.into());
        self.0.extend(values.map(Into::into));
    }
}

/// Where no host is, what is written waits for one.
fn add_port(arguments: &mut Arguments, id: &str, name: &str, end: Option<BorrowedFd<'_>>) {
    arguments.add("-chardev", [end.map_or_else(|| format!("null,id={id}"), |end| socket(id, end.as_raw_fd()))]);
    arguments.add("-device", [format!("virtserialport,chardev={id},name={name},id={id}-port")]);
}

/// A saved machine has seen none but one of this length. What the machine does not need any more, the file gives back.
fn add_disk(arguments: &mut Arguments, spec: &MachineSpec, mib: u64) {
    if spec.does == Action::Save {
        arguments.add(
            "-blockdev",
            [format!("driver=null-co,node-name=disk,size={},read-zeroes=on,discard=unmap", mib << 20)],
        );
    } else {
        arguments.add("-add-fd", [format!("fd={DISK_FD},set=2")]);
        arguments.add("-blockdev", ["driver=file,node-name=disk-file,filename=/dev/fdset/2,locking=off,discard=unmap"]);
        arguments.add("-blockdev", ["driver=raw,node-name=disk,file=disk-file,discard=unmap"]);
    }
    arguments.add("-device", ["virtio-blk-device,drive=disk,discard=on"]);
}

fn accelerator(spec: &MachineSpec) -> String {
    match spec.accelerator {
        Accelerator::Kvm => "kvm".into(),
        Accelerator::Tcg => format!("tcg,tb-size={TRANSLATED_MIB}"),
    }
}

/// Describes the memory: private to this virtual machine where it is restored, the template's file where it is saved. A
/// persistent one has memory of its own and reads it from the saved state: saving it again reads every page, which
/// would fill the holes of a file.
fn memory(spec: &MachineSpec) -> String {
    let size = spec.memory_mib;
    let share = match (super::memory_of(spec), spec.does) {
        (Memory::Beside, Action::Save) => "on",
        (Memory::Beside, Action::Restore) => "off",
        _ => return format!("memory-backend-ram,id=memory,size={size}M"),
    };
    format!("memory-backend-file,id=memory,size={size}M,mem-path={},share={share}", inherited(MEMORY_FD))
}

fn socket(id: &str, fd: RawFd) -> String {
    format!("socket,id={id},fd={fd}")
}

fn inherited(fd: RawFd) -> String {
    format!("/proc/self/fd/{fd}")
}

fn command_line(spec: &MachineSpec) -> String {
    let stays = if spec.disk_mib.is_some() { " ak.stays" } else { "" };
    if spec.accelerator == Accelerator::Kvm {
        return format!("{}{stays}", spec.command_line_on_hardware());
    }
    let told = clock::counter_khz().map(|khz| format!(" tsc_early_khz={khz}"));
    // To find out how fast its own timer runs would take it longer than all else that it does before it waits.
    let timer = if spec.acpi { "" } else { " noapic nolapic_timer" };
    format!("{}{}{timer}{stays}", spec.command_line, told.unwrap_or_default())
}
