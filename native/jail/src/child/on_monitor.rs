//! The last steps of a child that becomes a virtual machine's monitor instead of the guest: it has a filter of its own, a
//! root that nobody can write, and no user's folder in sight.

use std::{convert::Infallible, path::PathBuf};

use super::{Child, Told, enter, set_root_attributes};
use crate::{
    fault::{During, Fault, Outcome},
    monitor::{self, Monitor},
    place::Root,
    sys, walls,
};

/// Devices without a memory of their own.
const DEVICES: [&str; 2] = ["/dev/null", "/dev/kvm"];
/// In memory, and gone with the jail.
const SOCKETS: &str = "/tmp";

impl Child<'_> {
    pub(super) fn become_monitor(
        &self,
        monitor: &Monitor,
        root: &Root,
        rlimits: &[(sys::Resource, u64)],
    ) -> Outcome<Infallible> {
        let Some(given) = &self.given else { return Err(Fault::new("internal", "the monitor's files are not open")) };
        monitor::show_devices(monitor)?;
        enter(root)?;
        set_root_attributes(true)?;
        for (resource, value) in rlimits {
            sys::set_rlimit(*resource, *value).during("set a resource limit")?;
        }
        self.place_descriptors(None)?;
        given.place()?;
        walls::drop_capabilities(self.spec)?;
        walls::become_user(self.spec, self.identity)?;
        walls::no_new_privileges()?;
        let sockets = monitor.unix_sockets.then_some(SOCKETS);
        let writable: Vec<PathBuf> = DEVICES.into_iter().chain(sockets).map(PathBuf::from).collect();
        self.channel.send(&Told::Layer(walls::landlock_where_known(&writable)?), None)?;
        walls::seccomp_monitor(monitor.unix_sockets)?;
        if !self.channel.peer_lives() {
            return Err(Fault::start("the supervisor is gone"));
        }
        monitor::start(monitor, &self.guest)
    }
}
