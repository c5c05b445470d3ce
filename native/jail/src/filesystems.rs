//! What every root gets whatever image it is made from: /proc with the host's parts masked, a minimal /dev, and
//! temporary filesystems with a size.

use std::{
    fs, io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::{MetadataExt, symlink},
    },
    path::Path,
};

use rustix::{
    fs::{Access, AtFlags, CWD, accessat},
    io::Errno,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount,
        fsopen,
    },
};

use crate::{
    fault::{During, Fault, Outcome},
    place,
    view::guard::Void,
};

const NO_PROGRAMS: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV).union(MountAttrFlags::MOUNT_ATTR_NOEXEC);
const NO_DEVICES: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);

/// Parts of /proc that speak of the host and not of the sandbox.
const MASKED: [&str; 17] = [
    "acpi",
    "asound",
    "cmdline",
    "interrupts",
    "kallsyms",
    "kcore",
    "keys",
    "key-users",
    "kmsg",
    "latency_stats",
    "modules",
    "partitions",
    "sched_debug",
    "scsi",
    "sysrq-trigger",
    "timer_list",
    "vmallocinfo",
];
const READONLY: [&str; 4] = ["bus", "fs", "irq", "sys"];
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

fn mount(kind: &str, options: &[(&str, &str)], attributes: MountAttrFlags) -> rustix::io::Result<OwnedFd> {
    let fs = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        if value.is_empty() {
            fsconfig_set_flag(&fs, *key)?;
        } else {
            fsconfig_set_string(&fs, *key, *value)?;
        }
    }
    fsconfig_create(&fs)?;
    fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// A filesystem in memory. Small files cost an inode, so these are limited with the size.
pub fn tmpfs(mib: u64, mode: &str) -> Outcome<OwnedFd> {
    let [size, inodes] = tmpfs_size(mib);
    mount("tmpfs", &[(size.0, &size.1), (inodes.0, &inodes.1), ("mode", mode)], NO_DEVICES).during("mount tmpfs")
}

pub fn tmpfs_size(mib: u64) -> [(&'static str, String); 2] {
    [("size", format!("{mib}m")), ("nr_inodes", (mib * 256).max(4096).to_string())]
}

/// The current folder is the scratch filesystem, with the fresh root in it. `configure` is called with /proc before its
/// settings are closed.
pub fn build(tmp_mib: u64, void: &Void, configure: impl FnOnce(&Path) -> Outcome<()>) -> Outcome<()> {
    build_dev(tmp_mib)?;
    attach(&tmpfs(tmp_mib, "1777")?, "tmp")?;
    attach(&proc()?, "proc")?;
    configure(Path::new("root/proc"))?;
    close_proc(void)
}

fn attach(tree: &OwnedFd, path: &str) -> Outcome<()> {
    place::attach_at(tree, &Path::new("root").join(path)).during(format_args!("mount /{path}"))
}

/// Of the process namespace that we are in.
pub fn proc() -> Outcome<OwnedFd> {
    mount("proc", &[], NO_PROGRAMS).map_err(|e| {
        Fault::new("layer_unavailable", format!("a fresh /proc could not be mounted: {e}"))
            .hint("the host's own /proc is masked, as inside a container: run agentkernel outside of it, or give the container an unmasked /proc")
    })
}

fn close_proc(void: &Void) -> Outcome<()> {
    for name in READONLY {
        let path = format!("proc/{name}");
        match place::clone_readonly(&Path::new("root").join(&path)) {
            Ok(tree) => attach(&tree, &path)?,
            Err(Errno::NOENT) => {}
            Err(e) => return Err(e).during("make a part of /proc read-only"),
        }
    }
    let cover = |fd: &OwnedFd| {
        place::clone_tree(fd.as_fd(), Path::new(""))
            .and_then(|t| place::readonly(&t).map(|()| t))
            .during("mask a part of /proc")
    };
    for name in MASKED {
        let path = format!("proc/{name}");
        let at = Path::new("root").join(&path);
        match fs::metadata(&at) {
            // Most often it is for the host's root alone, who is nobody of this user namespace.
            Ok(m) if m.is_file() && m.mode() & 0o006 == 0 && !can_anybody_open(&at)? => {}
            Ok(m) => attach(&cover(if m.is_dir() { &void.folder } else { &void.file })?, &path)?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e).during("mask a part of /proc"),
        }
    }
    Ok(())
}

/// Of this user namespace. This process has all rights in it, so what it may not open nobody there may. Where the
/// namespace maps the host's root, as one within an identity-mapped one can, that is everything.
fn can_anybody_open(path: &Path) -> Outcome<bool> {
    for access in [Access::READ_OK, Access::WRITE_OK] {
        match accessat(CWD, path, access, AtFlags::EACCESS) {
            Ok(()) => return Ok(true),
            Err(Errno::ACCESS | Errno::PERM) => {}
            Err(e) => return Err(e).during("look at a part of /proc"),
        }
    }
    Ok(false)
}

fn build_dev(shm_mib: u64) -> Outcome<()> {
    for name in DEVICES {
        let path = Path::new("/dev").join(name);
        let device = place::clone_tree(CWD, &path).during(format_args!("show {}", path.display()))?;
        place::empty_file(&Path::new("root/dev").join(name), 0o644).during("make a device")?;
        attach(&device, &format!("dev/{name}"))?;
    }
    let no_files = MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NOEXEC);
    let pts = [("newinstance", ""), ("ptmxmode", "0666"), ("mode", "0620")];
    for (name, tree) in
        [("pts", mount("devpts", &pts, no_files).during("mount devpts")?), ("shm", tmpfs(shm_mib, "1777")?)]
    {
        fs::create_dir(Path::new("root/dev").join(name)).during("make a folder of /dev")?;
        attach(&tree, &format!("dev/{name}"))?;
    }
    // The same queues as those of the IPC namespace. Landlock knows them by it; a kernel without them has no such calls.
    match mount("mqueue", &[], NO_PROGRAMS) {
        Ok(queues) => {
            fs::create_dir("root/dev/mqueue").during("make a folder of /dev")?;
            attach(&queues, "dev/mqueue")?;
        }
        Err(Errno::NODEV) => {}
        Err(e) => return Err(e).during("mount mqueue"),
    }
    let links = [
        ("pts/ptmx", "ptmx"),
        ("/proc/self/fd", "fd"),
        ("/proc/self/fd/0", "stdin"),
        ("/proc/self/fd/1", "stdout"),
        ("/proc/self/fd/2", "stderr"),
    ];
    for (target, name) in links {
        symlink(target, Path::new("root/dev").join(name)).during("link a device")?;
    }
    Ok(())
}
