//! A sandbox that is built before anybody asks for it: everything but the caller's folders. Two processes wait then. The
//! first has pivoted into the new root and becomes the guest; a second, the placer, has a mount namespace of its own in
//! which the host's paths can still be found, and puts the views in place when they are known.

use std::{
    convert::Infallible,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags, open},
    mount::{MountPropagationFlags, mount_change},
};

use super::{Base, Child, Manner, Prepared, Told, enter, placer::Placer, set_root_attributes};
use crate::{
    channel::Channel,
    fault::{During, Fault, Outcome},
    gvisor,
    host_programs::Lower,
    own_limits,
    place::Root,
    spec::Spec,
    sys::{self, Fork},
};

/// Nothing that anybody could want to show lies there, and callers' paths are looked up after it was covered.
const COVERED: &str = "/sys";

impl Child<'_> {
    /// Does not come back, unless something failed. What is to be shown comes through `orders`.
    pub fn become_warm_guest(mut self, lower: Lower<'_>, orders: Channel) -> Fault {
        match self.clear_placed_numbers().and_then(|()| self.build_warm(lower, orders)) {
            Ok(never) => match never {},
            Err(fault) => {
                // If the supervisor is gone there is nobody to tell.
                let _ = self.channel.send(&Told::Failed(fault.clone()), None);
                fault
            }
        }
    }

    fn build_warm(&self, lower: Lower<'_>, orders: Channel) -> Outcome<Infallible> {
        // What the host mounts and unmounts while this one waits, the placer has to see as well.
        let network = self.begin(MountPropagationFlags::DOWNSTREAM)?;
        let programs = gvisor::Programs::open(self.spec)?;
        let base = self.build_base(COVERED, lower, None)?;
        let captured = network.enter(&self.channel)?;
        let Prepared { rlimits, limited, .. } = self.await_supervisor()?;
        sys::unshare(libc::CLONE_NEWCGROUP).during("make a cgroup namespace")?;
        let home = base.home.clone();
        if let Some(programs) = programs {
            let root = fresh_root()?;
            // It looks its root up once: what is shown later is mounted on folders that were there then.
            for view in &self.spec.views {
                root.folder(&view.target)?;
            }
            self.fork_placer(base, orders)?;
            return self.become_gvisor(&programs, &root, &rlimits);
        }
        own_limits::show(&limited)?;
        let placer = self.fork_placer(base, orders)?;
        enter(&fresh_root()?)?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).during("make mounts private")?;
        // Writable until the views have their places in it.
        set_root_attributes(false)?;
        self.place_descriptors(captured.as_ref())?;
        if self.manner != Manner::Warm {
            await_placer(placer)?;
        }
        self.raise_walls(captured.is_some(), home)
    }

    fn fork_placer(&self, base: Base, orders: Channel) -> Outcome<libc::pid_t> {
        let namespace = open("root/proc/self/ns/mnt", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let namespace: OwnedFd = namespace.during("open the sandbox's mount namespace")?;
        match sys::fork_into(libc::CLONE_NEWNS, None).during("fork the one who shows folders")? {
            Fork::Parent { pid, .. } => Ok(pid),
            Fork::Child => Placer { spec: self.spec, base, namespace, orders }.run(),
        }
    }
}

/// Where a wall is made of what is shown, it is raised after.
fn await_placer(placer: libc::pid_t) -> Outcome<()> {
    let waited = sys::wait_for(placer).during("wait for the folders")?;
    if libc::WIFEXITED(waited.status) && libc::WEXITSTATUS(waited.status) == 0 {
        return Ok(());
    }
    Err(Fault::start("what shows folders in the sandbox was killed"))
}

/// Of the mount namespace that this process is in.
fn fresh_root() -> Outcome<Root> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(Root::new(open(Path::new("root"), flags, Mode::empty()).during("open the new root")?))
}

/// Whether Landlock's rules name a folder that is not there before the views are.
pub fn walls_need_views(spec: &Spec) -> bool {
    let is_view = |path: &PathBuf| spec.views.iter().any(|view| path.starts_with(&view.target));
    spec.gvisor.is_none() && spec.landlock_writable.iter().any(is_view)
}
