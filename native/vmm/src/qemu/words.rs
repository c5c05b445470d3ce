//! The words that QEMU is started with. What is saved and what is restored must have the same devices in the same order.

use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use super::{Memory, clock, ports};
use crate::spec::{Accelerator, DISK_FD, Does, INITRD_FD, KERNEL_FD, MEMORY_FD, MachineSpec, ROOT_FD};

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
    words.add("-device", ["virtio-serial-device"]);
    add_port(&mut words, ports::HOST, "agentkernel", ends.stream);
    if let Some(orders) = ends.orders {
        add_port(&mut words, ports::ERRANDS, "errands", None);
        add_port(&mut words, "orders", "orders", Some(orders));
    }
    words.add("-add-fd", [format!("fd={ROOT_FD},set=1")]);
    words.add("-blockdev", ["driver=file,node-name=file,filename=/dev/fdset/1,read-only=on,locking=off"]);
    words.add("-blockdev", ["driver=raw,node-name=root,file=file,read-only=on"]);
    words.add("-device", ["virtio-blk-device,drive=root"]);
    if let Some(mib) = spec.disk_mib {
        add_disk(&mut words, spec, mib);
    }
    words.add("-device", ["virtio-rng-device"]);
    if matches!(spec.does, Does::Restore | Does::Continue) {
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

/// Where no host is, what is written waits for one.
fn add_port(words: &mut Words, id: &str, name: &str, end: Option<BorrowedFd<'_>>) {
    words.add("-chardev", [end.map_or_else(|| format!("null,id={id}"), |end| socket(id, end.as_raw_fd()))]);
    words.add("-device", [format!("virtserialport,chardev={id},name={name},id={id}-port")]);
}

/// A saved machine has seen none but one of this length. What the machine does not need any more, the file gives back.
fn add_disk(words: &mut Words, spec: &MachineSpec, mib: u64) {
    if spec.does == Does::Save {
        words.add(
            "-blockdev",
            [format!("driver=null-co,node-name=disk,size={},read-zeroes=on,discard=unmap", mib << 20)],
        );
    } else {
        words.add("-add-fd", [format!("fd={DISK_FD},set=2")]);
        words.add("-blockdev", ["driver=file,node-name=disk-file,filename=/dev/fdset/2,locking=off,discard=unmap"]);
        words.add("-blockdev", ["driver=raw,node-name=disk,file=disk-file,discard=unmap"]);
    }
    words.add("-device", ["virtio-blk-device,drive=disk,discard=on"]);
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
        (Memory::Beside, Does::Save) => "on",
        (Memory::Beside, Does::Restore) => "off",
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
