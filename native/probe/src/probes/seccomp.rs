//! A system call filter that makes one call answer EPERM and leaves the others alone.

use std::io;

use rustix::io::Errno;

use super::Context;
use crate::report::{Explain, Verdict, expect};

const HINT: &str = "the kernel needs CONFIG_SECCOMP_FILTER, and an outer filter must allow prctl";

#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xc000_00b7;

/// Harmless, and never refused by itself.
const DENIED: libc::c_long = libc::SYS_sched_yield;

pub fn probe(_: &Context) -> Verdict {
    call_denied().or_fault("sched_yield before the filter", HINT)?;
    rustix::thread::set_no_new_privs(true).or_fault("setting no_new_privs", HINT)?;
    install().or_fault("installing a filter", HINT)?;
    let answer = call_denied();
    expect(
        answer.is_err_and(|error| error.raw_os_error() == Some(Errno::PERM.raw_os_error())),
        "a denied system call was not refused with EPERM",
        HINT,
    )?;
    expect(std::fs::metadata("/").is_ok(), "the filter also refuses calls that it allows", HINT)?;
    Ok("a filter was installed, and a denied call answers EPERM".to_owned())
}

fn call_denied() -> io::Result<()> {
    // SAFETY: sched_yield takes no arguments and touches no memory.
    match unsafe { libc::syscall(DENIED) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn install() -> io::Result<()> {
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let answer = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut filter = [
        step(load, 0, 0, std::mem::offset_of!(libc::seccomp_data, arch) as u32),
        step(equal, 1, 0, AUDIT_ARCH),
        step(answer, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        step(load, 0, 0, std::mem::offset_of!(libc::seccomp_data, nr) as u32),
        step(equal, 0, 1, DENIED as u32),
        step(answer, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program points to a filter of the stated length; both outlive the call.
    let result = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
