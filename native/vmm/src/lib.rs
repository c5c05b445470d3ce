//! `ak-vmm` runs one machine: it is process 1 of the jail around a virtual machine monitor, starts it, saves and restores
//! through it, and watches over it. It never decides what a machine may do, and has nothing of the host's but descriptors.

pub mod console;
pub mod failure;
pub mod firecracker;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzed;
pub mod hold;
pub mod monitor;
pub mod qemu;
pub mod spec;
pub mod watch;

/// A line of its own among what is said of a machine: its kernel has ended a process for want of memory.
pub const OUT_OF_MEMORY: &str = "ak-vmm: out of memory in the machine";
