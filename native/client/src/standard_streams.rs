//! Standard streams that the caller has closed. Their numbers must not be given to anything else.

use rustix::{
    fd::{BorrowedFd, IntoRawFd},
    fs::{Mode, OFlags, open},
    io::{Errno, fcntl_getfd},
};

/// A closed one becomes one that nothing is read from and that takes everything.
pub fn fill_gaps() {
    for number in 0..3 {
        // SAFETY: nothing is done with it but to ask whether it is open.
        let stream = unsafe { BorrowedFd::borrow_raw(number) };
        if fcntl_getfd(stream) != Err(Errno::BADF) {
            continue;
        }
        // The lowest number that is free is this one. Without /dev/null there is nothing better than the gap.
        if let Ok(void) = open("/dev/null", OFlags::RDWR, Mode::empty()) {
            let _ = void.into_raw_fd();
        }
    }
}
