//! The heap of programs that live for milliseconds. musl's allocator returns free memory to the kernel at once and asks
//! for it again, dozens of times for each sandbox; this one keeps small allocations until `trim` is called. Large ones
//! have a mapping of their own, which comes zeroed, grows by mremap without a copy and is unmapped at once.

use std::{
    alloc::{GlobalAlloc, Layout},
    cell::UnsafeCell,
    ptr,
    sync::atomic::{AtomicBool, Ordering},
};

use dlmalloc::Dlmalloc;

/// From here on an allocation has a mapping of its own.
const LARGE_BYTES: usize = 128 << 10;
const PAGE_BYTES: usize = 4096;
/// The memory that trimming leaves, so that an idle program can answer without asking the kernel for memory first.
const KEPT_BYTES: usize = 64 << 10;

/// For `#[global_allocator]`.
pub struct Heap;

/// Our programs nearly always have one thread, so the lock is a flag, and a thread that finds it taken yields.
struct Shared {
    is_taken: AtomicBool,
    small: UnsafeCell<Dlmalloc>,
}

// SAFETY: `small` is reached through `with_small` only, which lets one thread in at a time.
unsafe impl Sync for Shared {}

static SHARED: Shared = Shared { is_taken: AtomicBool::new(false), small: UnsafeCell::new(Dlmalloc::new()) };

fn with_small<T>(work: impl FnOnce(&mut Dlmalloc) -> T) -> T {
    while SHARED.is_taken.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
        // SAFETY: no pointers involved.
        unsafe { libc::sched_yield() };
    }
    // SAFETY: the flag is ours, and nothing that `work` does allocates by way of this heap.
    let done = work(unsafe { &mut *SHARED.small.get() });
    SHARED.is_taken.store(false, Ordering::Release);
    done
}

/// Gives free memory back to the kernel.
pub fn trim() {
    // SAFETY: only what is free goes.
    with_small(|small| unsafe { small.trim(KEPT_BYTES) });
}

/// By the layout alone, so that it is the same for an allocation from its beginning to its end.
fn is_large(layout: &Layout) -> bool {
    layout.size() >= LARGE_BYTES && layout.align() <= PAGE_BYTES
}

fn map(bytes: usize) -> *mut u8 {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping at no particular place.
    or_null(unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) })
}

fn or_null(mapped: *mut libc::c_void) -> *mut u8 {
    if mapped == libc::MAP_FAILED { ptr::null_mut() } else { mapped.cast() }
}

// SAFETY: small ones are dlmalloc's, one thread at a time; large ones are mappings of their own. Which it is follows from
// the layout, which callers give back as they gave it.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(&layout) {
            return map(layout.size());
        }
        // SAFETY: as the caller promises.
        with_small(|small| unsafe { small.malloc(layout.size(), layout.align()) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(&layout) {
            return map(layout.size());
        }
        // SAFETY: as the caller promises.
        with_small(|small| unsafe { small.calloc(layout.size(), layout.align()) })
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if is_large(&layout) {
            // SAFETY: this mapping was made for this allocation alone. If it cannot be undone it stays, unused.
            unsafe { libc::munmap(at.cast(), layout.size()) };
        } else {
            // SAFETY: as the caller promises.
            with_small(|small| unsafe { small.free(at, layout.size(), layout.align()) });
        }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: callers promise that the size, rounded up to the alignment, is one that a layout can have.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (is_large(&layout), is_large(&wanted)) {
            // SAFETY: this mapping was made for this allocation alone, and its old address is not used after this.
            (true, true) => or_null(unsafe { libc::mremap(at.cast(), layout.size(), size, libc::MREMAP_MAYMOVE) }),
            // SAFETY: as the caller promises.
            (false, false) => with_small(|small| unsafe { small.realloc(at, layout.size(), layout.align(), size) }),
            _ => {
                // SAFETY: two allocations that do not overlap, each at least as large as what is copied.
                unsafe {
                    let new = self.alloc(wanted);
                    if !new.is_null() {
                        ptr::copy_nonoverlapping(at, new, layout.size().min(size));
                        self.dealloc(at, layout);
                    }
                    new
                }
            }
        }
    }
}
