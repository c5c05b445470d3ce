//! Waiting for several descriptors at once, with an end to it.

use std::{
    os::fd::BorrowedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use crate::failure::{Failure, Outcome};

/// Which of them can be read, or have ended. Fails when the time is over; without one it waits for as long as it takes.
pub fn await_any(fds: &[BorrowedFd<'_>], until: Option<Instant>) -> Outcome<Vec<bool>> {
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(Failure::new("it took too long"));
        }
        let mut asked: Vec<PollFd<'_>> = fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        match poll(&mut asked, left.and_then(timespec).as_ref()) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(asked.iter().map(|fd| !fd.revents().is_empty()).collect()),
            Err(e) => return Err(Failure::new(format!("wait for the machine: {e}"))),
        }
    }
}

fn timespec(duration: Duration) -> Option<Timespec> {
    Timespec::try_from(duration).ok()
}
