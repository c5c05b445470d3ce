//! Proof that processes have ended.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::Guest;

/// Inside a PID namespace: until only the guest, a keeper and the shell that
/// looks are left.
pub fn wait_alone(guest: &mut Guest) {
    let done = guest.shell("until set -- /proc/[0-9]*; [ $# = 3 ]; do :; done; echo $#");
    assert_eq!(done.text(), "3\n");
}

/// Waits until a process of this test is gone, by event.
pub fn wait_gone(pid: i32) {
    let pid = Pid::from_raw(pid).expect("a process id");
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    let limit = Timespec { tv_sec: 10, tv_nsec: 0 };
    let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
    let count = poll(&mut fds, Some(&limit)).expect("poll");
    assert_eq!(count, 1, "process {pid:?} lives on");
}
