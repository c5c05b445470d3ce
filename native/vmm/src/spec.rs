//! The configuration of one virtual machine, which the host passes as one argument of JSON. Files come as descriptors
//! at fixed numbers, so that the process that runs it needs no path of the host's.

use std::{os::fd::RawFd, path::PathBuf};

use serde::Deserialize;

use crate::failure::{Failure, Outcome};

/// The guest's stream: the jail puts it there.
pub const STREAM_FD: RawFd = 3;
pub const KERNEL_FD: RawFd = 4;
pub const INITRD_FD: RawFd = 5;
/// The read-only root of what runs in the machine.
pub const ROOT_FD: RawFd = 6;
/// The machine's memory: of a template that is being made, or of one that is sealed.
pub const MEMORY_FD: RawFd = 7;
/// The state of its devices.
pub const STATE_FD: RawFd = 8;
/// The disk of a persistent virtual machine.
pub const DISK_FD: RawFd = 9;
/// Where the memory of one that stays is saved while it runs.
pub const SAVED_FD: RawFd = 10;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MachineSpec {
    pub version: u32,
    pub does: Action,
    pub monitor: MonitorKind,
    /// The monitor's program, where the jail shows it.
    pub program: PathBuf,
    pub accelerator: Accelerator,
    pub memory_mib: u64,
    pub vcpus: u32,
    /// Whether its kernel finds its devices by ACPI; else they are named on its command line.
    pub acpi: bool,
    pub command_line: String,
    /// The size of a persistent virtual machine's disk: hosts connect and disconnect, and the descriptor of the stream
    /// is a host socket.
    #[serde(default)]
    pub disk_mib: Option<u64>,
    /// The first message to a virtual machine that is to be saved; all copies have read it then.
    #[serde(default)]
    pub says: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Boot from the kernel, and serve the host of the stream.
    Boot,
    /// From its kernel to where it waits for its wake message; then saved, and over.
    Save,
    /// From where it was saved.
    Restore,
    /// From where one that stays was saved while it ran, with its memory as part of the state.
    Continue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MonitorKind {
    Qemu,
    Firecracker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accelerator {
    Kvm,
    /// Software emulation (TCG): not a security boundary.
    Tcg,
}

const FOR_EMULATION: [&str; 2] = ["noapic", "nolapic_timer"];
const LEAST_MEMORY_MIB: u64 = 64;
const MOST_MEMORY_MIB: u64 = 1 << 20;
const MOST_VCPUS: u32 = 64;
const MOST_DISK_MIB: u64 = 16 << 20;

impl MachineSpec {
    pub fn parse(text: &str) -> Outcome<Self> {
        let spec: Self = serde_json::from_str(text).map_err(|e| Failure::new(format!("the machine's spec: {e}")))?;
        spec.check().map_err(|what| Failure::new(format!("the machine's spec: {what}")))?;
        Ok(spec)
    }

    /// The kernel's command line where hardware runs it. The options for emulation would take the kernel's own
    /// interrupt controllers and timers from it.
    pub fn command_line_on_hardware(&self) -> String {
        let words = self.command_line.split_ascii_whitespace().filter(|word| !FOR_EMULATION.contains(word));
        words.collect::<Vec<_>>().join(" ")
    }

    fn check(&self) -> Result<(), String> {
        if self.version != 1 {
            return Err(format!("version {} is not 1", self.version));
        }
        if !self.program.is_absolute() {
            return Err("the monitor's path must be absolute".into());
        }
        if !(LEAST_MEMORY_MIB..=MOST_MEMORY_MIB).contains(&self.memory_mib) {
            return Err(format!("memoryMib must be {LEAST_MEMORY_MIB} to {MOST_MEMORY_MIB}"));
        }
        if !(1..=MOST_VCPUS).contains(&self.vcpus) {
            return Err(format!("vcpus must be 1 to {MOST_VCPUS}"));
        }
        if self.does == Action::Continue && self.disk_mib.is_none() {
            return Err("only a machine that stays can continue".into());
        }
        if self.disk_mib.is_some_and(|mib| !(1..=MOST_DISK_MIB).contains(&mib)) {
            return Err(format!("diskMib must be 1 to {MOST_DISK_MIB}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"{"version":1,"does":"boot","monitor":"qemu","program":"/usr/bin/qemu","accelerator":"tcg","memoryMib":128,"vcpus":1,"acpi":false,"commandLine":"quiet"}"#;

    #[test]
    fn a_whole_spec_is_understood() {
        let spec = MachineSpec::parse(WHOLE).unwrap();
        assert_eq!((spec.does, spec.accelerator, spec.memory_mib), (Action::Boot, Accelerator::Tcg, 128));
    }

    #[test]
    fn hardware_is_not_told_what_emulation_needs() {
        let mut spec = MachineSpec::parse(WHOLE).unwrap();
        spec.command_line = "quiet noapic nolapic_timer no_timer_check tsc=reliable".into();
        assert_eq!(spec.command_line_on_hardware(), "quiet no_timer_check tsc=reliable");
    }

    #[test]
    fn what_is_unknown_or_out_of_bounds_is_refused() {
        for (from, to) in [
            ("\"vcpus\":1", "\"vcpus\":1,\"more\":2"),
            ("\"vcpus\":1", "\"vcpus\":0"),
            ("\"version\":1", "\"version\":2"),
            ("\"vcpus\":1", "\"vcpus\":1,\"diskMib\":0"),
            ("boot", "continue"),
            ("128", "1"),
            ("/usr/bin/qemu", "qemu"),
        ] {
            MachineSpec::parse(&WHOLE.replace(from, to)).unwrap_err();
        }
    }
}
