//! A helper process that is root of its own user namespace, with further namespaces as asked for.
//! As root it gets an id range of its own, as the backend gives one to each sandbox; otherwise the single id.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use rustix::process::{Gid, Pid, Uid, getegid, geteuid};
use rustix::thread::UnshareFlags;

use crate::process::{Helper, die_with_parent};
use crate::report::{Explain, Fault, Verdict};
use crate::userns_hint;

/// Far above what distributions and other container tools hand out.
pub const RANGE_START: u32 = 0x6000_0000;
pub const RANGE_LENGTH: u32 = 65536;

/// Writes the id maps of the user namespace that a process has just made.
pub type Mapper = fn(Pid) -> Result<(), Fault>;

pub fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: no caller passes FILES, so no descriptor changes its meaning.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Runs `body` as root of a new user namespace with the usual maps, in new namespaces `flags`.
pub fn inside(flags: UnshareFlags, body: impl FnOnce() -> Verdict) -> Verdict {
    inside_mapped(map_range_or_self, flags, body)
}

pub fn inside_mapped(map: Mapper, flags: UnshareFlags, body: impl FnOnce() -> Verdict) -> Verdict {
    let (mut mapper, mut inner) = UnixStream::pair().or_fault("socket pair", "try again")?;
    let helper = Helper::start(move || {
        unshare(UnshareFlags::NEWUSER).map_err(|error| userns_fault("making a user namespace", error))?;
        inner.write_all(b"m").and_then(|()| inner.read_exact(&mut [0])).or_fault("waiting for id maps", "try again")?;
        become_root().map_err(|error| userns_fault("becoming root of a user namespace", error))?;
        unshare(flags).map_err(|error| userns_fault("making namespaces as root of a user namespace", error))?;
        body()
    })?;
    // An end of file here means that the helper failed before; its verdict says why.
    if mapper.read_exact(&mut [0]).is_ok() {
        if let Err(fault) = map(helper.pid) {
            helper.kill()?;
            return Err(fault);
        }
        mapper.write_all(b"g").or_fault("releasing the helper", "try again")?;
    }
    helper.verdict()
}

fn userns_fault(doing: &str, error: io::Error) -> Fault {
    Fault::new(format!("{doing}: {error}"), userns_hint::hint())
}

fn become_root() -> io::Result<()> {
    // Not allowed with a single id, where setgroups is denied for good.
    if fs::read_to_string("/proc/self/setgroups")?.trim() == "allow" {
        rustix::thread::set_thread_groups(&[])?;
    }
    let (gid, uid) = (Gid::ROOT, Uid::ROOT);
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    die_with_parent()
}

pub fn map_range(pid: Pid) -> io::Result<()> {
    let range = format!("0 {RANGE_START} {RANGE_LENGTH}\n");
    write_map(pid, "uid_map", &range)?;
    write_map(pid, "gid_map", &range)
}

fn map_self(pid: Pid) -> io::Result<()> {
    write_map(pid, "setgroups", "deny")?;
    write_map(pid, "uid_map", &format!("0 {} 1\n", geteuid().as_raw()))?;
    write_map(pid, "gid_map", &format!("0 {} 1\n", getegid().as_raw()))
}

/// Root inside a container may own few ids only; then it can still map itself.
fn map_range_or_self(pid: Pid) -> Result<(), Fault> {
    let mapped = if geteuid().is_root() { map_range(pid).or_else(|_| map_self(pid)) } else { map_self(pid) };
    mapped.map_err(|error| userns_fault("writing id maps", error))
}

fn write_map(pid: Pid, file: &str, text: &str) -> io::Result<()> {
    // The kernel takes a map in one write only.
    fs::write(format!("/proc/{}/{file}", pid.as_raw_nonzero()), text)
}
