//! A Landlock ruleset that lets one file be written and refuses another. Uses two devices that every machine
//! has, so no file is made.

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::Context;
use crate::report::{Explain, Verdict, expect};

const ALLOWED: &str = "/dev/zero";
const REFUSED: &str = "/dev/null";
const HINT: &str = "Landlock needs Linux 5.13 or newer with `landlock` in the boot option `lsm=`; without it sandboxes miss their second wall for writes";

const CREATE_RULESET_VERSION: u32 = 1;
const RULE_PATH_BENEATH: u32 = 1;
const ACCESS_WRITE_FILE: u64 = 1 << 1;

#[repr(C)]
struct RulesetAttribute {
    handled_access_fs: u64,
}

#[repr(C, packed)]
struct PathBeneathAttribute {
    allowed_access: u64,
    parent_fd: RawFd,
}

pub fn probe(_: &Context) -> Verdict {
    let abi = abi_version().or_fault("asking for Landlock", HINT)?;
    let writable = |path| OpenOptions::new().write(true).open(path);
    writable(REFUSED).or_fault("writing before the ruleset", HINT)?;
    enforce().or_fault("enforcing a ruleset", HINT)?;
    writable(ALLOWED).or_fault("writing where the ruleset allows it", HINT)?;
    let refused = writable(REFUSED).is_err_and(|error| error.raw_os_error() == Some(libc::EACCES));
    expect(refused, "a write outside of the ruleset was not refused", HINT)?;
    Ok(format!("ABI {abi}; a write outside of the ruleset was refused"))
}

fn abi_version() -> io::Result<i64> {
    // SAFETY: with this flag the kernel takes no structure, as the null pointer and zero size say.
    positive(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<c_void>(), 0, CREATE_RULESET_VERSION)
    })
}

fn enforce() -> io::Result<()> {
    let ruleset = RulesetAttribute { handled_access_fs: ACCESS_WRITE_FILE };
    // SAFETY: the structure is as long as stated and outlives the call.
    let descriptor = positive(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, &raw const ruleset, size_of::<RulesetAttribute>(), 0)
    })?;
    let descriptor = RawFd::try_from(descriptor).map_err(io::Error::other)?;
    // SAFETY: the kernel has just handed this descriptor to us alone.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let allowed = File::open(ALLOWED)?;
    let rule = PathBeneathAttribute { allowed_access: ACCESS_WRITE_FILE, parent_fd: allowed.as_raw_fd() };
    // SAFETY: both descriptors are open, and the structure outlives the call.
    positive(unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, descriptor.as_raw_fd(), RULE_PATH_BENEATH, &raw const rule, 0)
    })?;
    rustix::thread::set_no_new_privs(true)?;
    // SAFETY: takes an open ruleset descriptor and no memory.
    positive(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, descriptor.as_raw_fd(), 0) })?;
    Ok(())
}

fn positive(result: libc::c_long) -> io::Result<i64> {
    if result >= 0 { Ok(result) } else { Err(io::Error::last_os_error()) }
}
