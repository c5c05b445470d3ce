//! The last steps of a child whose guest runs on gVisor's kernel: this process becomes `runsc`, and the guest is started
//! in there.

use std::convert::Infallible;

use rustix::{
    fs::{Mode, OFlags, open},
    mount::{MountPropagationFlags, mount_change},
};

use super::{Child, Manner, Told, enter, set_attributes};
use crate::{
    fault::{During, Fault, Outcome},
    gvisor::{self, Programs},
    host_image,
    place::Root,
    sys,
    walls::{Filter, Kept, Walls, Writes},
};

impl Child<'_> {
    /// In the end the guest runs here too, but on gVisor's kernel, for which this one is the jail.
    pub(super) fn become_gvisor(
        &self,
        programs: &Programs,
        root: &Root,
        rlimits: &[(sys::Resource, u64)],
    ) -> Outcome<Infallible> {
        let (Some(gvisor), Some(runtime)) = (&self.spec.gvisor, &self.runtime) else {
            return Err(Fault::new("internal", "runsc is not open"));
        };
        gvisor::furnish(self.spec, root, programs, self.manner, rlimits)?;
        set_attributes(root.fd(), self.spec.root_readonly)?;
        if self.spec.root_readonly {
            host_image::close_etc(root.fd())?;
        }
        let scratch = open(".", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        enter(&Root::new(scratch.during("open gVisor's root")?))?;
        if self.manner == Manner::Warm {
            // What is shown later has to arrive in the mount namespaces that gVisor makes for itself.
            private_then_shared()?;
        }
        sys::close_on_exec_from(3).during("close descriptors")?;
        // Once only: gVisor shuts a socket down when the first of its descriptors is closed.
        sys::place_fd(&self.stream, 0).during("place the stream")?;
        let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).during("open /dev/null")?;
        sys::place_fd(&null, 1).during("place a descriptor")?;
        drop(null);
        sys::place_fd(&runtime.says, 2).during("place a descriptor")?;
        for layer in gvisor::layers(self.spec, gvisor) {
            self.channel.send(&Told::Layer(layer), None)?;
        }
        self.raise(&Walls {
            capabilities: Kept::All,
            user: None,
            dies_with_parent: true,
            writes: Writes::ByMountsAlone,
            filter: Filter::OfRuntime,
        })?;
        gvisor::start(self.spec, gvisor, &runtime.program, self.identity.has_range())
    }
}

/// Cut off from the host's mounts first: nothing of theirs arrives any more, and nothing of ours there.
fn private_then_shared() -> Outcome<()> {
    for kind in [MountPropagationFlags::PRIVATE, MountPropagationFlags::SHARED] {
        mount_change("/", kind | MountPropagationFlags::REC).during("share mounts with gVisor")?;
    }
    Ok(())
}
