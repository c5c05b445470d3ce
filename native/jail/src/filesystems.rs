//! What every root gets whatever image it is made from: /proc with the host's parts masked, a minimal /dev, and
//! temporary filesystems with a size.

use std::{
    ffi::CString,
    os::{fd::OwnedFd, unix::fs::symlink},
    path::Path,
};

use rustix::{
    fs::{Mode, mkdir, rmdir},
    io::Errno,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string,
        fsmount, fsopen, mount, mount_bind, mount_bind_recursive,
    },
};

use crate::{
    fault::{During, Fault, Outcome},
    place,
    view::guard::Void,
};

const NO_DEVICES: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);
const NO_PROGRAMS: MountFlags = NO_DEVICES.union(MountFlags::NOEXEC);
/// Of detached mounts.
const NO_DEVICES_ATTRIBUTES: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);
const NO_PROGRAMS_ATTRIBUTES: MountAttrFlags = NO_DEVICES_ATTRIBUTES.union(MountAttrFlags::MOUNT_ATTR_NOEXEC);

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

fn detached(kind: &str, options: &[(&str, &str)], attributes: MountAttrFlags) -> rustix::io::Result<OwnedFd> {
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
    detached("tmpfs", &[(size.0, &size.1), (inodes.0, &inodes.1), ("mode", mode)], NO_DEVICES_ATTRIBUTES)
        .during("mount tmpfs")
}

pub fn tmpfs_size(mib: u64) -> [(&'static str, String); 2] {
    [("size", format!("{mib}m")), ("nr_inodes", (mib * 256).max(4096).to_string())]
}

/// The current folder is the scratch filesystem, with the fresh root in it. `configure` is called with /proc before its
/// settings are closed.
pub fn build(tmp_mib: u64, void: &Void, configure: impl FnOnce(&Path) -> Outcome<()>) -> Outcome<()> {
    build_dev(tmp_mib)?;
    mount_tmpfs("root/tmp", tmp_mib, "1777")?;
    mount("proc", "root/proc", "proc", NO_PROGRAMS, None).map_err(no_proc)?;
    configure(Path::new("root/proc"))?;
    close_proc(void)
}

/// The same at `path`, in one call. No link can be in it: it is of our own making.
pub fn mount_tmpfs(path: &str, mib: u64, mode: &str) -> Outcome<()> {
    let [(size, bytes), (inodes, count)] = tmpfs_size(mib);
    let options = CString::new(format!("{size}={bytes},{inodes}={count},mode={mode}")).during("mount tmpfs")?;
    mount("tmpfs", path, "tmpfs", NO_DEVICES, options.as_c_str()).during(format_args!("mount tmpfs at {path}"))
}

/// Of the process namespace that we are in.
pub fn proc() -> Outcome<OwnedFd> {
    detached("proc", &[], NO_PROGRAMS_ATTRIBUTES).map_err(no_proc)
}

fn no_proc(e: Errno) -> Fault {
    Fault::new("layer_unavailable", format!("a fresh /proc could not be mounted: {e}"))
        .hint("the host's own /proc is masked, as inside a container: run agentkernel outside of it, or give the container an unmasked /proc")
}

fn close_proc(void: &Void) -> Outcome<()> {
    for name in READONLY {
        let at = format!("root/proc/{name}");
        let closed = mount_bind_recursive(&at, &at).and_then(|()| place::readonly_at(&at));
        match closed {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(e) => return Err(e).during("make a part of /proc read-only"),
        }
    }
    for name in MASKED {
        let at = format!("root/proc/{name}");
        let masked = match mount_bind(&void.file_path, &at) {
            Err(Errno::NOTDIR) => mount_bind(&void.folder_path, &at),
            masked => masked,
        };
        match masked {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(e) => return Err(e).during("mask a part of /proc"),
        }
    }
    Ok(())
}

fn build_dev(shm_mib: u64) -> Outcome<()> {
    for name in DEVICES {
        let at = format!("root/dev/{name}");
        place::empty_file(Path::new(&at), 0o644).during("make a device")?;
        mount_bind(format!("/dev/{name}"), &at).during(format_args!("show /dev/{name}"))?;
    }
    for name in ["pts", "shm"] {
        mkdir(format!("root/dev/{name}"), Mode::from_raw_mode(0o755)).during("make a folder of /dev")?;
    }
    let terminals = c"newinstance,ptmxmode=0666,mode=0620";
    mount("devpts", "root/dev/pts", "devpts", MountFlags::NOSUID | MountFlags::NOEXEC, terminals)
        .during("mount devpts")?;
    mount_tmpfs("root/dev/shm", shm_mib, "1777")?;
    // The same queues as those of the IPC namespace. Landlock knows them by it; a kernel without them has no such calls.
    mkdir("root/dev/mqueue", Mode::from_raw_mode(0o755)).during("make a folder of /dev")?;
    match mount("mqueue", "root/dev/mqueue", "mqueue", NO_PROGRAMS, None) {
        Ok(()) => {}
        Err(Errno::NODEV) => rmdir("root/dev/mqueue").during("remove a folder of /dev")?,
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
