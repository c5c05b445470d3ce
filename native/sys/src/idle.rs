//! How little an idle process of ours needs to hold. A machine may run hundreds of sandboxes, each with two.

use std::time::Duration;

/// A process that has had nothing to do for this long is idle.
pub const IDLE_AFTER: Duration = Duration::from_millis(100);

unsafe extern "C" {
    /// The linker's marks around the program's constants and code.
    static __executable_start: u8;
    static etext: u8;
}

/// Maps all of the program that lies in its file, for one that will have no time to be given it piece by piece. A kernel
/// that does not know how leaves it at that.
pub fn map_all() {
    let (start, end) = (&raw const __executable_start, &raw const etext);
    // SAFETY: these pages are the program's own, and are read at most.
    unsafe { libc::madvise(start.cast_mut().cast(), end.addr() - start.addr(), libc::MADV_POPULATE_READ) };
}

/// Gives unused heap back, and forgets the program's own clean pages: reading around faults maps nearly all of it at
/// the start, and an idle process needs little. What is used again is mapped again from the page cache.
pub fn trim() {
    const PAGE: usize = 4096;
    let start = (&raw const __executable_start).addr();
    let end = (&raw const etext).addr() & !(PAGE - 1);
    crate::heap::trim();
    // SAFETY: the range is the mapped beginning of the program file: headers, constants and code, which nothing ever
    // writes. For such pages DONTNEED means to read them from the file again.
    unsafe {
        if end > start {
            let first = (&raw const __executable_start).cast_mut().cast();
            libc::madvise(first, end - start, libc::MADV_DONTNEED);
        }
    }
}
