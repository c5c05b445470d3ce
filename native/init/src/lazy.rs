//! A directory of the host's that is shown and not copied: a file system whose reads become requests, and above it an
//! overlay, which takes what the sandbox writes. Who answers the kernel is a process of its own, outside the sandbox's
//! namespaces and limits: no process in the sandbox can see it.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use ak_jail::{
    fault::{During, Fault, Outcome},
    place,
    spec::User,
    sys::{Fork, close_all_but, fork_into},
};
use ak_lazy::fuse::{Owner, View, mount};
use rustix::{
    fs::{Gid, Mode, OFlags, Uid, chown, mkdir, open},
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, UnmountFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen,
        unmount,
    },
    process::chdir,
};

use crate::end;

/// In the file system in memory at the target, where the overlay covers them.
const LOWER: &str = "l";
const UPPER: &str = "u";
const WORK: &str = "w";

pub struct LazyParts {
    /// None where the kernel has no FUSE.
    pub device: Option<OwnedFd>,
    /// Leads to the guest, and by it to the host.
    pub stream: OwnedFd,
}

impl LazyParts {
    /// In the sandbox's mounts. `target` has a file system of its own, which nothing is in.
    pub fn show(self, target: &Path, user: User) -> Outcome<()> {
        let Some(device) = self.device else {
            return Err(Fault::new("layer_unavailable", "the machine's kernel has no FUSE to show the project by"));
        };
        chdir(target).during("enter the project's place")?;
        for name in [LOWER, UPPER, WORK] {
            mkdir(name, Mode::from_raw_mode(0o755)).during("make a layer")?;
        }
        chown(UPPER, Some(Uid::from_raw(user.uid)), Some(Gid::from_raw(user.gid))).during("own the writable layer")?;
        let lower = mount(&device).during("mount the lazy view")?;
        place::attach_at(&lower, Path::new(LOWER)).during("attach the lazy view")?;
        drop(lower);
        serve(device, self.stream, user)?;
        let tree = overlay()?;
        // The overlay has a mount of its own of it, and nobody else is to have one.
        unmount(LOWER, UnmountFlags::DETACH).during("detach the lazy view")?;
        place::attach(&tree, &open(".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).during("find the project")?)
            .during("show the project")?;
        chdir("/").during("leave the project")
    }
}

/// In a process of its own, which the machine's end ends.
fn serve(device: OwnedFd, stream: OwnedFd, user: User) -> Outcome<()> {
    match fork_into(0, None).during("start the lazy view")? {
        Fork::Parent { .. } => Ok(()),
        Fork::Child => {
            // Not the port of the host, which others wait to have for themselves.
            close_all_but(&[device.as_fd(), stream.as_fd()]);
            let owner = Owner { uid: user.uid, gid: user.gid };
            let served =
                chdir("/").map_err(std::io::Error::from).and_then(|()| View::new(device, stream, owner)?.serve());
            if let Err(e) = served {
                end::log(&format!("the lazy view ended: {e}"));
            }
            std::process::exit(1)
        }
    }
}

fn overlay() -> Outcome<OwnedFd> {
    let fs = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC).during("open overlay")?;
    for (key, value) in [("lowerdir", LOWER), ("upperdir", UPPER), ("workdir", WORK)] {
        fsconfig_set_string(&fs, key, value).during("name a layer")?;
    }
    fsconfig_create(&fs).during("join the project and its writable layer")?;
    let closed = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, closed).during("mount overlay")
}
