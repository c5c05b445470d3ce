//! Keeps `/proc/PID` out of the files interface: the guest opens files here, so `/proc/self` would be the guest's own
//! memory, environment and paths, with rights that no command has.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::OnceLock;

use rustix::fs::{
    CWD, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, Stat, fstat, openat, openat2, readlink, stat, statfs,
};
use rustix::io::Errno;

use crate::channel::Refusal;

const PROC: &str = "/proc";

/// Opens a path, but not by a link that leads to what a process has open, runs or sees as its root.
pub fn open(path: impl rustix::path::Arg + Copy, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS) {
        // gVisor lacks openat2, and seccomp filters of older engines refuse it. A file of a process is still recognised
        // by itself.
        Err(Errno::NOSYS | Errno::PERM) => openat(CWD, path, flags, Mode::empty()),
        opened => opened,
    }
}

/// Fails for a file or directory that is about one process. `found` is its stat result.
pub fn refuse_processes(file: impl AsFd, found: &Stat) -> Result<(), Refusal> {
    if Some(found.st_dev) != proc_device() {
        return Ok(());
    }
    let path = readlink(format!("{PROC}/self/fd/{}", file.as_fd().as_raw_fd()), Vec::new())?;
    let below = path.to_bytes().strip_prefix(PROC.as_bytes());
    match below {
        Some([] | [b'/']) => Ok(()),
        Some([b'/', first, ..]) if !first.is_ascii_digit() => Ok(()),
        _ => Err(Refusal::new("denied", "what the kernel shows of a process; run a command in the sandbox to read it")),
    }
}

/// The same of a path that was not opened; what a link leads to does not count.
pub fn refuse_processes_at(path: &str, found: &Stat) -> Result<(), Refusal> {
    if Some(found.st_dev) != proc_device() {
        return Ok(());
    }
    let named = openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    refuse_processes(&named, &fstat(&named)?)
}

/// None where there is no such filesystem. Nothing in a sandbox can mount another.
fn proc_device() -> Option<u64> {
    static DEVICE: OnceLock<Option<u64>> = OnceLock::new();
    *DEVICE.get_or_init(|| {
        let is_proc = statfs(PROC).is_ok_and(|found| found.f_type as u64 == PROC_SUPER_MAGIC as u64);
        is_proc.then(|| stat(PROC).ok().map(|found| found.st_dev)).flatten()
    })
}
