//! The system calls that rustix does not offer in the form needed here, as safe
//! functions. All unsafe code of the guest is in this file and in
//! `exec/prepared.rs`.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use ak_wire::payload::Usage;
use rustix::io::Errno;

/// The descriptor on which the jail leaves the stream to the host or, of a kept sandbox, the door through which
/// streams come. Listeners follow it.
const HOST_FD: RawFd = 3;
pub const LISTENERS: usize = ak_net::capture::Role::ALL.len();

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// What a guest has from its first moment on.
pub struct Inherited {
    /// The stream or the door.
    pub host: OwnedFd,
    pub listeners: [Option<OwnedFd>; LISTENERS],
    /// On which the host is written to, where that is another.
    pub output: Option<OwnedFd>,
    /// The requests of a lazy view.
    pub view: Option<OwnedFd>,
}

/// Takes the host's stream (or the door) and, where the jail says that the network is captured, the sockets at which it arrives.
/// Closes everything else above them. Called once, first of all.
pub fn take_inherited(captured: bool, pipes: bool, machine: bool) -> io::Result<Inherited> {
    let host = take(HOST_FD)?;
    let after_listeners = ak_net::capture::FIRST_FD + LISTENERS as RawFd;
    let output = if pipes { Some(take(after_listeners)?) } else { None };
    let view = if machine { Some(take(after_listeners + 1)?) } else { None };
    let mut listeners = [const { None }; LISTENERS];
    if captured {
        for (number, listener) in (ak_net::capture::FIRST_FD..).zip(&mut listeners) {
            // One that is not there is of a family that the kernel lacks.
            *listener = take(number).ok();
        }
    } else {
        close_between(HOST_FD + 1, after_listeners - 1);
    }
    close_between(after_listeners + RawFd::from(pipes) + RawFd::from(machine), RawFd::MAX);
    Ok(Inherited { host, listeners, output, view })
}

/// Commands never inherit it.
fn take(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: fcntl on a number touches no memory; a closed one is an error.
    checked(unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    // SAFETY: the descriptor is open (checked above) and has no other owner: only `take_inherited` calls this, once for
    // each number, before anything is opened.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

fn close_between(first: RawFd, last: RawFd) {
    if first > last {
        return;
    }
    // SAFETY: only numbers are passed. Callers own, or have given up, every
    // descriptor in the range.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if done < 0 {
        for fd in first..=last.min(4096) {
            // SAFETY: as above, one at a time, for kernels without close_range.
            unsafe { libc::close(fd) };
        }
    }
}

/// Closes every descriptor from 3 up but these. Only for a forked process that
/// never returns to code which owns any of the others.
pub fn close_all_but<const N: usize>(mut keep: [RawFd; N]) {
    keep.sort_unstable();
    let mut next = 3;
    for fd in keep {
        close_between(next, fd - 1);
        next = next.max(fd + 1);
    }
    close_between(next, RawFd::MAX);
}

pub enum Forked {
    Child,
    Parent(i32),
}

/// The guest and its keepers have one thread each, so the child's copy of the
/// memory is whole; it must still not rely on anything but its own memory.
pub fn fork() -> io::Result<Forked> {
    // SAFETY: single-threaded process, see above.
    match checked(unsafe { libc::fork() })? {
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(pid)),
    }
}

/// The stack of `run`, which makes no deep calls.
const SHORT_LIVED_STACK_BYTES: usize = 64 << 10;

/// Starts a process that borrows this one's memory until it executes a program or ends, which this one waits for:
/// nothing is copied, and what it leaves behind in `state` is there to be read. Returns its id.
pub fn start_borrowing<S>(state: &mut S, run: fn(&mut S) -> !) -> io::Result<i32> {
    struct Start<'a, S> {
        state: &'a mut S,
        run: fn(&mut S) -> !,
    }
    extern "C" fn begin<S>(start: *mut libc::c_void) -> libc::c_int {
        // SAFETY: it is the Start below, which its owner does not touch before this process is done with it.
        let Start { state, run } = unsafe { &mut *start.cast::<Start<'_, S>>() };
        run(state)
    }
    // Not on our own stack, of which the compiler has every page touched.
    let mut stack = Box::<[u128]>::new_uninit_slice(SHORT_LIVED_STACK_BYTES / size_of::<u128>());
    let top = stack.as_mut_ptr_range().end;
    let mut start = Start { state, run };
    // SAFETY: CLONE_VFORK holds this process, which has one thread, until the other has a memory of its own or is gone;
    // so stack and start outlive their use. No handler runs in between: a keeper blocks all signals, and the guest has
    // handlers for none.
    let pid = unsafe {
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        libc::clone(begin::<S>, top.cast(), flags, (&raw mut start).cast())
    };
    checked(pid)
}

/// Ends a forked process without running anything of its parent's.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit takes a number and does not return.
    unsafe { libc::_exit(code) }
}

pub struct Reaped {
    pub pid: i32,
    pub status: i32,
    pub usage: Usage,
}

/// One ended child; `None` when there are only running ones; ECHILD when there
/// is none at all.
pub fn reap() -> io::Result<Option<Reaped>> {
    let mut status = 0;
    let mut rusage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are valid for the call; a zeroed rusage is valid.
    let (pid, rusage) = unsafe {
        let pid = libc::wait4(-1, &raw mut status, libc::WNOHANG, rusage.as_mut_ptr());
        (checked(pid)?, rusage.assume_init())
    };
    Ok((pid > 0).then(|| Reaped { pid, status, usage: usage(&rusage) }))
}

/// Waits for the end of a child and leaves it to be reaped with [`reap_one`].
pub fn peek_ended() -> io::Result<Reaped> {
    peek(libc::P_ALL, 0, 0)
}

/// The end of this child, which is left to be reaped; none while it runs.
pub fn peek_at(pid: i32) -> Option<Reaped> {
    peek(libc::P_PID, pid, libc::WNOHANG).ok().filter(|ended| ended.pid == pid)
}

fn peek(whose: libc::idtype_t, id: i32, more: libc::c_int) -> io::Result<Reaped> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let mut rusage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are valid for the call, zeroed values of both types
    // are valid, and waitid fills the fields of a child's end. The C library's
    // function has no place for the resource usage.
    unsafe {
        let how = libc::WEXITED | libc::WNOWAIT | more;
        let done = libc::syscall(libc::SYS_waitid, whose, id, info.as_mut_ptr(), how, rusage.as_mut_ptr());
        checked(done as libc::c_int)?;
        let info = info.assume_init();
        let status = match info.si_code {
            libc::CLD_EXITED => (info.si_status() & 0xff) << 8,
            _ => info.si_status() & 0x7f,
        };
        Ok(Reaped { pid: info.si_pid(), status, usage: usage(&rusage.assume_init()) })
    }
}

/// Whether there is a child, ended or not.
pub fn has_child() -> bool {
    // SAFETY: a null status and usage are allowed; nothing is reaped where nothing has ended, and WNOWAIT leaves the rest.
    unsafe {
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        let nowhere = std::ptr::null_mut::<libc::siginfo_t>();
        libc::syscall(libc::SYS_waitid, libc::P_ALL, 0, nowhere, flags, std::ptr::null_mut::<libc::rusage>()) == 0
    }
}

pub fn reap_one(pid: i32) {
    // SAFETY: a null status and usage are allowed.
    unsafe { libc::wait4(pid, std::ptr::null_mut(), 0, std::ptr::null_mut()) };
}

fn usage(rusage: &libc::rusage) -> Usage {
    let micros = |t: libc::timeval| (t.tv_sec as u64) * 1_000_000 + t.tv_usec as u64;
    Usage { user_us: micros(rusage.ru_utime), system_us: micros(rusage.ru_stime), max_rss_kib: rusage.ru_maxrss as u64 }
}

/// Whether a keeper becomes the parent of what its command leaves behind. gVisor's kernel did not know how for long, and
/// process 1 cannot find out: for itself that is always granted.
pub fn keepers_adopt() -> bool {
    !is_told("orphans")
}

/// The words that it was started with, which never change.
static WORDS: std::sync::OnceLock<Vec<std::ffi::OsString>> = std::sync::OnceLock::new();

/// Said once, at the start.
pub fn hear(words: Vec<std::ffi::OsString>) {
    let _ = WORDS.set(words);
}

/// Whether it was started with this word.
pub fn is_told(word: &str) -> bool {
    WORDS.get().is_some_and(|words| words.iter().any(|said| said == word))
}

/// Begins a session. By the C library's call: gVisor's kernel answers with 0, which is no process id.
pub fn set_session() -> Result<(), Errno> {
    // SAFETY: nothing is passed.
    checked(unsafe { libc::setsid() }).map(drop).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::PERM))
}

/// kill(2) with its own meaning of zero and negative ids.
pub fn kill(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: only numbers are passed.
    checked(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// Blocks SIGCHLD and returns the descriptor on which it arrives instead.
pub fn child_signal_fd() -> io::Result<OwnedFd> {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is initialised by sigemptyset before use; the returned descriptor is new and has no other owner.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        checked(libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()))?;
        let fd = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        Ok(OwnedFd::from_raw_fd(checked(fd)?))
    }
}

/// A write over a size limit, or to a reader that is gone, shall be an error and not the end of the guest.
const IGNORED: [i32; 2] = [libc::SIGXFSZ, libc::SIGPIPE];

/// Resets inherited signal dispositions once, so that commands start with defaults at little cost.
pub fn set_dispositions() {
    const SIGNALS: i32 = 64;
    (1..=SIGNALS).for_each(set_default);
    for signal in IGNORED {
        // SAFETY: SIG_IGN is a valid disposition; no handler code is involved.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

const SIGNAL_SET_BYTES: usize = 8;

/// By the raw call, because the C library keeps two numbers for itself and would leave those as they were inherited.
fn set_default(signal: i32) {
    // All zero is SIG_DFL without flags; the kernel's structure is at most this
    // large on the 64-bit machines that are supported.
    let default = [0u64; 4];
    // SAFETY: the pointer is valid for the call and no handler is set; the
    // two signals that cannot be changed fail without effect.
    unsafe {
        libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), std::ptr::null_mut::<u64>(), SIGNAL_SET_BYTES);
    }
}

pub fn block_all_signals() {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is initialised by sigfillset before use.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut());
    }
}

/// For a command: default dispositions, where the guest's are others, and an empty mask.
pub fn reset_signals() {
    IGNORED.into_iter().for_each(set_default);
    let empty = [0u64; 1];
    // SAFETY: the pointer is valid for the call.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            empty.as_ptr(),
            std::ptr::null_mut::<u64>(),
            SIGNAL_SET_BYTES,
        );
    }
}

/// Views a raw number as a descriptor, for forked processes that know their own
/// few numbers and outlive none of them.
pub fn borrow<'a>(fd: RawFd) -> BorrowedFd<'a> {
    // SAFETY: callers pass numbers that they keep open until they exit or exec.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// The soft limit on descriptors.
pub fn open_files_limit() -> RawFd {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.map_or(RawFd::MAX, |n| RawFd::try_from(n).unwrap_or(RawFd::MAX))
}

/// Gives a child every limit that this process has now.
pub fn share_limits(child: i32) -> io::Result<()> {
    const RESOURCES: i32 = 16;
    for resource in 0..RESOURCES {
        let mut limit = MaybeUninit::<libc::rlimit64>::uninit();
        // SAFETY: the first call fills the structure or fails; the second reads it.
        unsafe {
            checked(libc::prlimit64(0, resource as _, std::ptr::null(), limit.as_mut_ptr()))?;
            checked(libc::prlimit64(child, resource as _, limit.as_ptr(), std::ptr::null_mut()))?;
        }
    }
    Ok(())
}

/// Whether a descriptor lies in the reserve that scans of /proc, file jobs and
/// the killing of trees need even when execs use all the rest.
pub fn is_in_reserve(fd: &OwnedFd) -> bool {
    const RESERVE: RawFd = 16;
    fd.as_raw_fd() >= open_files_limit().saturating_sub(RESERVE)
}

/// Returns from SCHED_BATCH, which the jail's launcher set while nothing waited, to the normal scheduling policy. If
/// the kernel refuses, only time is lost.
pub fn schedule_as_usual() {
    let priority: libc::c_int = 0;
    // SAFETY: one number is read. The C library of static programs has no such call of its own.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_OTHER, &raw const priority) };
}
