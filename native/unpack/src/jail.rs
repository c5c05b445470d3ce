//! The jail around the reader of an image: unpacking one layer, or making a disk. A child in namespaces of its own,
//! with an image's layers and the target directory as its whole filesystem, does the reading; this process waits for
//! it, and kills it when the requester has gone.

use std::{
    ffi::CString,
    fs::{self, File},
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::PermissionsExt,
    },
    path::{Path, PathBuf},
};

use ak_jail::{
    channel::Channel,
    child::{READONLY, enter},
    control::Control,
    fault::{During, Fault, Outcome},
    filesystems,
    identity::{Identity, is_host_root},
    layers::{self, Layers},
    place::{self, Root},
    spec::{IdChoice, User},
    sys::{self, Fork},
    view::mask,
    walls::{self, Filter, Kept, Walls, Writes},
};
use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{Mode, OFlags, mkdir, open, stat},
    io::Errno,
    mount::{
        FsMountFlags, MountAttrFlags, MountPropagationFlags, fsconfig_create, fsconfig_set_string, fsmount,
        mount_change,
    },
    process::{Signal, chdir, pidfd_send_signal, umask},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    blob::Tar,
    extract::{Extractor, Limits, Summary},
    order::Order,
    refused::Refused,
};

const NAMESPACES: i32 = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID;
const WRITABLE: u64 = sys::MOUNT_ATTR_NOSUID | sys::MOUNT_ATTR_NODEV;
/// chown, dac_override, fowner, fsetid, setfcap: what it takes to give files their owners, modes and attributes.
const KEPT: [u32; 5] = [0, 1, 3, 4, 31];
/// The memory limit of an archive's reader: far above its need, and harmless to the host.
const MAX_MEMORY: u64 = 1 << 30;
pub const ROOT: User = User { uid: 0, gid: 0 };

#[derive(Serialize, Deserialize)]
enum ChildResult<T> {
    Done(T),
    Failed(Fault),
}

/// Directories as mounts, with the ids that they have in the jail.
pub struct Trees {
    /// The uppermost first; they cannot be written.
    pub layers: Vec<OwnedFd>,
    pub target: OwnedFd,
}

pub fn apply(order: &Order, control: &Control, blob: File) -> Outcome<Summary> {
    for name in ["fs", "work"] {
        let directory = order.target.join(name);
        // The root of images that do not speak of it, whatever the caller's mask says.
        fs::create_dir(&directory)
            .and_then(|()| fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)))
            .map_err(|e| store_fault("make the layer's directory", &e))?;
    }
    let summary = in_jail(&order.below, &order.target, control, |trees, close| {
        enter(&build_root(&trees)?)?;
        close()?;
        read_archive(order, blob)
    })?;
    if order.sync {
        let directory = open(&order.target, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        directory.and_then(rustix::fs::syncfs).map_err(|e| store_fault("write the layer to disk", &e))?;
    }
    Ok(summary)
}

/// Has a process in a jail do something with these directories. It builds its own root, and raises the walls by the function
/// that it is given before it looks at anything of an image's.
pub fn in_jail<T: Serialize + DeserializeOwned>(
    layers: &[PathBuf],
    target: &Path,
    control: &Control,
    work: impl FnOnce(Trees, &dyn Fn() -> Outcome<()>) -> Outcome<T>,
) -> Outcome<T> {
    let privileged = is_host_root();
    let identity = Identity::choose(IdChoice::Best, ROOT)?;
    let layers = Layers::open(layers, privileged)?;
    let target = Layers::open(&[target.to_owned()], privileged)?;
    let (ours, theirs) = Channel::pair()?;
    let (pid, pidfd) = match sys::fork_into(NAMESPACES, None).during("make the unpacker's namespaces")? {
        Fork::Parent { pid, pidfd } => (pid, pidfd),
        Fork::Child => {
            drop(ours);
            let told = match in_child(&identity, &theirs, layers, target, work) {
                Ok(done) => ChildResult::Done(done),
                Err(fault) => ChildResult::Failed(fault),
            };
            // Without a reader there is nothing to report to.
            let _ = theirs.send(&told, None);
            std::process::exit(0);
        }
    };
    drop((theirs, work));
    let mapped = identity
        .write_maps(pid)
        .and_then(|()| layers.map_ids(pid, READONLY))
        .and_then(|()| target.map_ids(pid, WRITABLE))
        .and_then(|()| ours.send(&(), None));
    let told = mapped.and_then(|()| {
        await_end(control, &pidfd)?;
        ours.receive::<ChildResult<T>>()
    });
    // It may have ended by itself.
    let _ = pidfd_send_signal(&pidfd, Signal::KILL);
    sys::wait_for(pid).during("wait for the unpacker")?;
    match told? {
        Some((ChildResult::Done(done), _)) => Ok(done),
        Some((ChildResult::Failed(fault), _)) => Err(fault),
        None => Err(Fault::new("image_invalid", "the unpacker ended while it read the layer")
            .hint("the layer may need more memory to unpack than is allowed")),
    }
}

/// Until the child has ended or the caller is gone.
fn await_end(control: &Control, pidfd: &OwnedFd) -> Outcome<()> {
    loop {
        let mut fds = [PollFd::new(pidfd, PollFlags::IN), PollFd::from_borrowed_fd(control.as_fd(), PollFlags::IN)];
        match poll(&mut fds, None) {
            Err(Errno::INTR) => continue,
            Err(e) => return Err(e).during("wait for the unpacker"),
            Ok(_) if !fds[0].revents().is_empty() => return Ok(()),
            Ok(_) => return Err(Fault::start("whoever asked for the layer is gone")),
        }
    }
}

fn in_child<T>(
    identity: &Identity,
    channel: &Channel,
    layers: Layers,
    target: Layers,
    work: impl FnOnce(Trees, &dyn Fn() -> Outcome<()>) -> Outcome<T>,
) -> Outcome<T> {
    // Modes come from the archive alone.
    umask(Mode::empty());
    sys::unshare(libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS).during("make more namespaces")?;
    channel.expect::<()>()?;
    if identity.has_range() {
        sys::set_ids(0, 0, true).during("become root of the jail")?;
    }
    walls::die_with_parent()?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).during("make mounts private")?;
    let [target] = <[OwnedFd; 1]>::try_from(target.into_trees(WRITABLE)?).map_err(|_| Fault::start("no target"))?;
    let trees = Trees { layers: layers.into_trees(READONLY)?, target };
    work(trees, &|| close(channel))
}

fn close(channel: &Channel) -> Outcome<()> {
    sys::set_rlimit(libc::RLIMIT_DATA, MAX_MEMORY).during("limit memory")?;
    sys::set_rlimit(libc::RLIMIT_CORE, 0).during("forbid core files")?;
    walls::raise(&Walls {
        capabilities: Kept::Only(&KEPT),
        // It is root of the jail already, where it has more than one id.
        user: None,
        dies_with_parent: true,
        writes: Writes::ByMountsAlone,
        filter: Filter::OfReader,
    })?;
    if !channel.peer_lives() {
        return Err(Fault::start("whoever asked for the layer is gone"));
    }
    Ok(())
}

/// Changes to the directory in which the root is built.
pub fn enter_scratch() -> Outcome<()> {
    let scratch = filesystems::tmpfs(1, "0755")?;
    place::attach_at(&scratch, Path::new("/tmp")).during("mount the scratch filesystem")?;
    chdir("/tmp").during("enter the scratch filesystem")
}

/// The new layer over those below it, as one tree.
fn build_root(Trees { layers: below, target }: &Trees) -> Outcome<Root> {
    enter_scratch()?;
    for name in ["t", "root"] {
        mkdir(name, Mode::from_raw_mode(0o755)).during("make a directory")?;
    }
    place::attach_at(target, Path::new("t")).during("attach the new layer")?;
    let tree = if below.is_empty() {
        place::clone_tree(rustix::fs::CWD, Path::new("t/fs")).during("open the new layer")?
    } else {
        let fs = layers::overlay(&layers::attach(below)?)?;
        // A layer that does not speak of the root leaves it as it is.
        let upper = open("t/fs", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let like = stat("i0").during("look at the root below")?;
        mask::resemble(upper.during("open the new layer")?.as_fd(), &CString::from(c"."), &like)?;
        fsconfig_set_string(&fs, "upperdir", "t/fs").during("overlay's writable layer")?;
        fsconfig_set_string(&fs, "workdir", "t/work").during("overlay's work directory")?;
        fsconfig_create(&fs).map_err(|e| {
            Fault::new("layer_unavailable", format!("the image's layers could not be joined: {e}"))
                .hint("the image store must lie on a filesystem that overlay can write to, such as ext4, xfs or btrfs")
        })?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, attributes).during("mount overlay")?
    };
    place::attach_at(&tree, Path::new("root")).during("attach the layers")?;
    let root = open("root", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    Ok(Root::new(root.during("open the layers")?))
}

fn read_archive(order: &Order, blob: File) -> Outcome<Summary> {
    let slash = open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).during("open the root")?;
    let limits = Limits { bytes: order.max_bytes, entries: order.max_entries };
    // An archive has headers and padding beside its files.
    let limit = order.max_bytes.saturating_add(order.max_entries.saturating_mul(2048));
    let mut tar = Tar::open(blob, order.compression, limit);
    let summary = Extractor::new(slash.as_fd(), limits).apply(&mut tar).map_err(fault_of)?;
    let digest = tar.finish().map_err(|e| invalid(&e.to_string()))?;
    if digest != order.diff_id {
        let what = format!("a layer's content has the digest {digest}, and the image says {}", order.diff_id);
        return Err(
            Fault::new("digest_mismatch", what).hint("the image is damaged or was tampered with: pull it again")
        );
    }
    Ok(summary)
}

fn invalid(why: &str) -> Fault {
    Fault::new("image_invalid", format!("a layer of the image cannot be unpacked: {why}"))
}

fn fault_of(refused: Refused) -> Fault {
    match refused {
        Refused::Hostile(why) => invalid(&why),
        Refused::Full(why) => store_fault("unpack a layer", &why),
        Refused::Io(why) => invalid(&why),
    }
}

pub fn store_fault(what: &str, e: &dyn std::fmt::Display) -> Fault {
    Fault::new("resource_exhausted", format!("{what}: {e}"))
        .hint("check that the image store's disk has room and can be written; agentkernel images prune frees some")
}
