//! System calls without a safe form in a library. All unsafe code of this crate but the loading of compiled modules
//! (`loaded.rs`) is here.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use ak_wire::payload::Usage;

/// Where the jail leaves the stream to the host, or the door through which it comes.
const HOST_FD: RawFd = 3;

/// Takes the host's stream and closes everything above it. Called once, before anything is opened.
pub fn take_inherited() -> io::Result<OwnedFd> {
    // SAFETY: fcntl on a number touches no memory; a closed one is an error.
    if unsafe { libc::fcntl(HOST_FD, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: only numbers are passed, and no descriptor above the stream has an owner yet.
    unsafe { libc::syscall(libc::SYS_close_range, HOST_FD + 1, RawFd::MAX, 0) };
    // SAFETY: the descriptor is open (checked above), and only this function takes it.
    Ok(unsafe { OwnedFd::from_raw_fd(HOST_FD) })
}

/// Ends the process without waiting for any of its threads.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit takes a number and does not return.
    unsafe { libc::_exit(code) }
}

/// The resource usage of the calling thread.
pub fn thread_usage() -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for the call, and a zeroed rusage is a valid one where the call fails.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    let micros = |time: libc::timeval| (time.tv_sec as u64) * 1_000_000 + time.tv_usec as u64;
    Usage { user_us: micros(usage.ru_utime), system_us: micros(usage.ru_stime), max_rss_kib: 0 }
}
