//! Whether a file of the layer was made of one of the host's: the kernel notes that when the sandbox first writes to it,
//! and the note goes along when the file is moved. It does not say of which one.

use std::{ffi::CStr, os::fd::BorrowedFd};

use rustix::fs::{Mode, OFlags, fgetxattr, openat};

pub fn is_made_of_hosts(directory: BorrowedFd<'_>, name: &CStr) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    // An empty buffer asks for the length.
    let has_note = |file| fgetxattr(file, "user.overlay.origin", &mut [0u8; 0][..]).is_ok();
    openat(directory, name, flags, Mode::empty()).is_ok_and(has_note)
}
