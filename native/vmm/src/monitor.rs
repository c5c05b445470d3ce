//! The one narrow interface to whatever runs a machine. One value is one machine; dropped, it ends.

use std::os::fd::OwnedFd;

use ak_wire::host_socket::HostSocket;

use crate::{
    failure::{Failure, Outcome},
    spec::MachineSpec,
};

/// How a machine ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The machine itself switched itself off.
    Off,
    /// Its kernel, or its monitor, failed: with what it said last.
    Failed(String),
}

pub trait Monitor: Sized {
    /// Starts a machine from its kernel on. `stream` is the host's end of the guest's stream. Where the spec is one to
    /// save, its memory is that of the template.
    fn boot(spec: &MachineSpec, stream: OwnedFd) -> Outcome<Self>;
    /// Starts one from the template's memory and state, of which it changes nothing.
    fn restore(spec: &MachineSpec, stream: OwnedFd) -> Outcome<Self>;
    /// Runs one that stays, until its end. Hosts and orders come through the host socket.
    fn keep(spec: &MachineSpec, _door: HostSocket) -> Outcome<End> {
        Err(Failure::new(format!("{} has no machines that stay", spec.program.display())))
    }
    /// Saves the state of its devices beside its memory. It runs no more afterwards.
    fn save(&mut self) -> Outcome<()>;
    fn pause(&mut self) -> Outcome<()>;
    fn resume(&mut self) -> Outcome<()>;
    /// The pid of the monitor's process.
    fn pid(&self) -> u32;
    /// The last output of its kernel.
    fn last_output(&mut self) -> String;
    /// Waits until it has ended.
    fn await_end(self) -> Outcome<End>;
}
