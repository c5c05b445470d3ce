//! System calls that rustix does not wrap (or wraps as unsafe). All raw calls of the jail are in this file.

use std::{
    ffi::CStr,
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
        unix::process::ExitStatusExt,
    },
    process::ExitStatus,
};

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Wider than the type that libc gives it.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

pub enum Fork {
    Child,
    Parent { pid: libc::pid_t, pidfd: OwnedFd },
}

/// fork(2) into new namespaces, and into a v2 cgroup.
///
/// Precondition: this process has one thread, so that the child may go on using all of Rust.
pub fn fork_into(namespaces: libc::c_int, cgroup: Option<BorrowedFd<'_>>) -> io::Result<Fork> {
    let mut pidfd: RawFd = -1;
    // SAFETY: an all-zero clone_args is valid.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = (namespaces | libc::CLONE_PIDFD) as u64;
    args.pidfd = &raw mut pidfd as u64;
    args.exit_signal = libc::SIGCHLD as u64;
    if let Some(cgroup) = cgroup {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = cgroup.as_raw_fd() as u64;
    }
    // SAFETY: args outlives the call; no CLONE_VM, so the child has its own copy of everything.
    let pid = check(unsafe { libc::syscall(libc::SYS_clone3, &raw mut args, size_of::<libc::clone_args>()) })?;
    if pid == 0 {
        return Ok(Fork::Child);
    }
    // SAFETY: the kernel has stored a new descriptor that nobody else owns.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok(Fork::Parent { pid: pid as libc::pid_t, pidfd })
}

/// Precondition: `with` is what the kernel reads and writes for this request, or the request takes nothing.
pub fn ioctl<T>(fd: BorrowedFd<'_>, request: u32, with: Option<&mut T>) -> io::Result<libc::c_int> {
    let with = with.map_or(std::ptr::null_mut(), std::ptr::from_mut);
    // SAFETY: the precondition.
    let answer = unsafe { libc::ioctl(fd.as_raw_fd(), request as _, with) };
    check(answer.into()).map(|_| answer)
}

/// Takes over a descriptor that the parent process passed at a fixed number, and keeps it from our children.
pub fn inherited(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_SETFD on any number is harmless; it fails if the descriptor is not open.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: open (just shown), and only main() calls this, once for each number.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[repr(C)]
#[derive(Default)]
pub struct MountAttr {
    pub set: u64,
    pub clear: u64,
    pub propagation: u64,
    pub userns_fd: u64,
}

pub const MOUNT_ATTR_RDONLY: u64 = 0x1;
pub const MOUNT_ATTR_NOSUID: u64 = 0x2;
pub const MOUNT_ATTR_NODEV: u64 = 0x4;
const MOUNT_ATTR_IDMAP: u64 = 0x0010_0000;

/// Adds attributes to a mount, or with `recursive` to all below it.
pub fn mount_setattr(
    mount: BorrowedFd<'_>,
    recursive: bool,
    set: u64,
    idmap: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut attr = MountAttr { set, ..MountAttr::default() };
    if let Some(userns) = idmap {
        attr.set |= MOUNT_ATTR_IDMAP;
        attr.userns_fd = userns.as_raw_fd() as u64;
    }
    set_attributes(mount.as_raw_fd(), c"", libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 }, &attr)
}

/// Adds attributes to the mount at a path and to all below it.
pub fn mount_setattr_at(path: &CStr, set: u64) -> io::Result<()> {
    set_attributes(libc::AT_FDCWD, path, libc::AT_RECURSIVE, &MountAttr { set, ..MountAttr::default() })
}

/// Nothing that is mounted on it, or on what it is a copy of, reaches the other.
pub fn make_private(mount: BorrowedFd<'_>) -> io::Result<()> {
    let attr = MountAttr { propagation: libc::MS_PRIVATE, ..MountAttr::default() };
    set_attributes(mount.as_raw_fd(), c"", libc::AT_EMPTY_PATH | libc::AT_RECURSIVE, &attr)
}

fn set_attributes(at: RawFd, path: &CStr, flags: libc::c_int, attr: &MountAttr) -> io::Result<()> {
    let (attr, size) = (&raw const *attr, size_of::<MountAttr>());
    // SAFETY: the attributes and the path outlive the call.
    check(unsafe { libc::syscall(libc::SYS_mount_setattr, at, path.as_ptr(), flags, attr, size) })?;
    Ok(())
}

/// Closes every descriptor from 3 up but these. Only for a forked process that never returns to code which owns any of
/// the others.
pub fn close_all_but(keep: &[BorrowedFd<'_>]) {
    let mut keep: Vec<RawFd> = keep.iter().map(AsRawFd::as_raw_fd).collect();
    keep.sort_unstable();
    let mut next = 3;
    for fd in keep {
        close_between(next, fd - 1);
        next = next.max(fd + 1);
    }
    close_between(next, RawFd::MAX);
}

fn close_between(first: RawFd, last: RawFd) {
    if first <= last {
        // SAFETY: only numbers are passed; the caller gives up what lies between them.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

/// Asks in a process of its own, where it is not process 1 that asks.
pub fn is_granted_to_a_child(asks: impl FnOnce() -> bool) -> io::Result<bool> {
    // SAFETY: this process has one thread, so the child's copy of its memory is whole.
    match check(unsafe { libc::fork() }.into())? {
        0 => exit_now(i32::from(!asks())),
        child => Ok(wait_for(child as libc::pid_t)?.status == 0),
    }
}

/// Has the file's dirty pages written, so that the next write through a mapping faults and sets the file's times. Its
/// metadata is not written, and nothing where no page is dirty.
pub fn write_back(file: BorrowedFd<'_>) -> io::Result<()> {
    const WHOLLY: libc::c_uint =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: no pointers involved.
    check(unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, WHOLLY) }.into())?;
    Ok(())
}

/// Ends a forked process without running anything of its parent's.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: _exit takes a number and does not return.
    unsafe { libc::_exit(status) }
}

/// Becomes the program behind `program`. Returns only on failure.
pub fn exec_fd(program: BorrowedFd<'_>, words: &[&CStr]) -> io::Error {
    let mut argv: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
    argv.push(std::ptr::null());
    let envp = [std::ptr::null::<libc::c_char>()];
    // SAFETY: both arrays are null-terminated and outlive the call.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            program.as_raw_fd(),
            c"".as_ptr(),
            argv.as_ptr(),
            envp.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    io::Error::last_os_error()
}

/// A copy at a number above all those that the guest's own descriptors have, closed by exec.
pub fn above_placed(fd: impl AsFd) -> io::Result<OwnedFd> {
    const ABOVE: RawFd = 32;
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, ABOVE)?)
}

/// Puts `fd` at number `to`, inherited over exec.
pub fn place_fd(fd: impl AsFd, to: RawFd) -> io::Result<()> {
    // SAFETY: dup2 on descriptors; whatever `to` was is meant to be replaced.
    let done = unsafe { libc::dup2(fd.as_fd().as_raw_fd(), to) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Marks every descriptor from `first` on to be closed by exec.
pub fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: no pointers involved.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) })?;
    Ok(())
}

pub fn set_ids(uid: u32, gid: u32, drop_groups: bool) -> io::Result<()> {
    // SAFETY: plain integers; a null list with length 0 is the documented way to have no groups.
    unsafe {
        if drop_groups {
            check(libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>()))?;
        }
        check(libc::syscall(libc::SYS_setresgid, gid, gid, gid))?;
        check(libc::syscall(libc::SYS_setresuid, uid, uid, uid))?;
    }
    Ok(())
}

pub fn install_seccomp(program: &[libc::sock_filter]) -> io::Result<()> {
    let prog = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: the kernel copies the program during the call and does not write to it.
    check(unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const prog) })?;
    Ok(())
}

/// The number of a limit, as the C library takes it.
#[cfg(target_env = "gnu")]
pub type Resource = libc::__rlimit_resource_t;
#[cfg(not(target_env = "gnu"))]
pub type Resource = libc::c_int;

pub fn set_rlimit(resource: Resource, value: u64) -> io::Result<()> {
    // SAFETY: the struct is filled by the kernel, then by us, and outlives both calls.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(resource, &raw mut limit) < 0 {
            return Err(io::Error::last_os_error());
        }
        // Without CAP_SYS_RESOURCE the hard limit can only go down; a lower one that is there already stays.
        let value = value.min(limit.rlim_max);
        limit = libc::rlimit { rlim_cur: value, rlim_max: value };
        if libc::setrlimit(resource, &raw const limit) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The same for another process, whose user namespace is one of ours.
pub fn set_rlimit_of(pid: libc::pid_t, resource: Resource, value: u64) -> io::Result<()> {
    // SAFETY: the struct is filled by the kernel, then by us, and outlives both calls.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        check(libc::prlimit(pid, resource, std::ptr::null(), &raw mut limit).into())?;
        let value = value.min(limit.rlim_max);
        limit = libc::rlimit { rlim_cur: value, rlim_max: value };
        check(libc::prlimit(pid, resource, &raw const limit, std::ptr::null_mut()).into())?;
    }
    Ok(())
}

pub struct Waited {
    pub status: libc::c_int,
    pub cpu_us: u64,
}

/// Waits for a child and adds up the processor time of it and of all it has waited for.
pub fn wait_for(pid: libc::pid_t) -> io::Result<Waited> {
    loop {
        let mut status = 0;
        // SAFETY: zeroed rusage is valid; both outlive the call.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        if unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) } == pid {
            let us = |t: libc::timeval| t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64;
            return Ok(Waited { status, cpu_us: us(usage.ru_utime) + us(usage.ru_stime) });
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// False if the kernel knows no such capability.
pub fn drop_from_bounding_set(capability: u32) -> io::Result<bool> {
    // SAFETY: no pointers involved.
    if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(capability), 0, 0, 0) } == 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        e if e.raw_os_error() == Some(libc::EINVAL) => Ok(false),
        e => Err(e),
    }
}

/// Gives up every capability but these, for this thread and what it starts.
pub fn keep_capabilities(kept: &[u32]) -> io::Result<()> {
    const VERSION_3: u32 = 0x2008_0522;
    let header = [VERSION_3, 0];
    let mut sets = [[0u32; 3]; 2];
    for capability in kept {
        let [effective, permitted, _] = &mut sets[(capability / 32) as usize];
        *effective |= 1 << (capability % 32);
        *permitted |= 1 << (capability % 32);
    }
    // SAFETY: header and data have the layout of version 3 and outlive the call.
    check(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), sets.as_ptr()) })?;
    Ok(())
}

/// Leaves namespaces for new ones.
pub fn unshare(namespaces: libc::c_int) -> io::Result<()> {
    // SAFETY: no pointers involved; no other thread shares what this changes.
    if unsafe { libc::unshare(namespaces) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Every process of this PID namespace but its first and this one. Whoever calls it knows that the namespace is ours.
pub fn kill_all_others() -> io::Result<()> {
    // SAFETY: only numbers are passed.
    match check(unsafe { libc::kill(-1, libc::SIGKILL) }.into()) {
        // There are none.
        Err(e) if e.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        done => done.map(drop),
    }
}

pub fn ignore_broken_pipes() {
    // SAFETY: ignoring a signal installs no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// What this process is called in lists of processes.
pub fn set_name(name: &CStr) {
    // SAFETY: the name is a string that outlives the call. A name that was not taken changes nothing.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// Becomes readable when a child of this process has ended; SIGCHLD is blocked from here on.
pub fn watch_children() -> io::Result<OwnedFd> {
    let set = mask_children(libc::SIG_BLOCK)?;
    // SAFETY: the set outlives the call, which returns a new descriptor that nobody else owns.
    unsafe {
        let fd = check(libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK).into())?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

/// SIGCHLD alone, which is blocked or not from here on.
fn mask_children(how: libc::c_int) -> io::Result<libc::sigset_t> {
    // SAFETY: sigemptyset fills the set before it is used, and it outlives the calls.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        check(libc::sigprocmask(how, &set, std::ptr::null_mut()).into())?;
        Ok(set)
    }
}

/// A child of this process that has ended, if there is one, and how.
pub fn ended_child() -> io::Result<Option<(libc::pid_t, ExitStatus)>> {
    let mut status = 0;
    // SAFETY: the status outlives the call.
    match check(unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) }.into()) {
        Ok(0) => Ok(None),
        Ok(pid) => Ok(Some((pid as libc::pid_t, ExitStatus::from_raw(status)))),
        // There are no children.
        Err(e) if e.raw_os_error() == Some(libc::ECHILD) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Forks a process that serves for itself: in a session of its own, with 0, 1 and 2 leading to `null` and its mask of
/// signals empty again. None in that process, which must end by `exit_now`.
///
/// Precondition: this process has one thread, so that the child may go on using all of Rust.
pub fn fork_apart(null: BorrowedFd<'_>) -> io::Result<Option<libc::pid_t>> {
    // SAFETY: one thread, so the child's copy of its memory is whole.
    let pid = check(unsafe { libc::fork() }.into())? as libc::pid_t;
    if pid > 0 {
        return Ok(Some(pid));
    }
    let stand_alone = || -> io::Result<()> {
        // SAFETY: no pointers involved.
        check(unsafe { libc::setsid() }.into())?;
        mask_children(libc::SIG_UNBLOCK)?;
        (0..3).try_for_each(|number| place_fd(null, number))
    };
    if stand_alone().is_err() {
        exit_now(1);
    }
    Ok(None)
}

/// Whoever wakes up later is not kept waiting by this process. Where the kernel does not take it, nothing is lost but time.
pub fn let_others_first() {
    let priority: libc::c_int = 0;
    // SAFETY: one number is read. The C library of static programs has no such call of its own.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_BATCH, &raw const priority) };
}
