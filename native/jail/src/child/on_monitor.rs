//! The last steps of a child that becomes a virtual machine's monitor instead of the guest: it has a filter of its own, a
//! root that nobody can write, and no user's folder in sight.

use std::{convert::Infallible, path::PathBuf};

use super::{Child, enter, set_root_attributes};
use crate::{
    fault::{During, Fault, Outcome},
    monitor::{self, Monitor},
    place::Root,
    sys,
    walls::{self, Filter, Kept, Walls, Writes},
};

/// Devices without a memory of their own.
const DEVICES: [&str; 2] = ["/dev/null", "/dev/kvm"];
/// In memory, and gone with the jail.
const SOCKETS: &str = "/tmp";

impl Child<'_> {
    /// What the monitor may only read it cannot open for writing either. Root has done so before this process began.
    pub(super) fn close_given(&mut self) -> Outcome<()> {
        if let Some(monitor) = &self.spec.monitor
            && !self.identity.is_host_roots()
        {
            self.given = self.given.take().map(|given| given.close(monitor)?.above_placed()).transpose()?;
        }
        Ok(())
    }

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
        let sockets = monitor.unix_sockets.then_some(SOCKETS);
        let writable: Vec<PathBuf> = DEVICES.into_iter().chain(sockets).map(PathBuf::from).collect();
        self.raise(&Walls {
            capabilities: Kept::OfSandbox { choice: self.spec.capabilities, is_live: walls::has_live_view(self.spec) },
            user: self.identity.has_range().then_some(self.spec.user),
            dies_with_parent: true,
            writes: Writes::WhereKnown(&writable),
            filter: Filter::OfMonitor { has_unix_sockets: monitor.unix_sockets },
        })?;
        monitor::start(monitor, &self.guest)
    }
}
