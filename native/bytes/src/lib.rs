//! Copying and comparing bytes, in place of what musl has for x86-64. Its copy has the processor prepare for a long one
//! each time, and its comparison goes byte by byte; what our programs copy and compare are names and numbers, thousands
//! of a few bytes for each sandbox. A program has these calls by naming this crate (`use ak_bytes as _;`).

#![cfg(all(target_arch = "x86_64", any(target_env = "musl", test)))]

use std::{
    arch::{
        asm,
        x86_64::{__m128i, _mm_loadu_si128, _mm_storeu_si128},
    },
    cmp::Ordering,
};

/// Up to here everything is read before anything is written, so that it does not matter whether the two overlap.
const SHORT_BYTES: usize = 128;

/// # Safety
/// As for `memmove`: `count` bytes can be read and written. They may overlap.
// No loop in here: the compiler would take it for a copy, and call the very function that it is.
#[inline(always)]
unsafe fn move_bytes(to: *mut u8, from: *const u8, count: usize) {
    // SAFETY: as the caller promises; each step stays within `count`.
    unsafe {
        match count {
            0 => {}
            1 => to.write(from.read()),
            2..=4 => both_ends::<u16>(to, from, count),
            5..=8 => both_ends::<u32>(to, from, count),
            9..=16 => both_ends::<u64>(to, from, count),
            17..=32 => {
                let (first, last) = (load(from), load(from.add(count - 16)));
                store(to, first);
                store(to.add(count - 16), last);
            }
            33..=64 => {
                let (a, b) = (load(from), load(from.add(16)));
                let (y, z) = (load(from.add(count - 32)), load(from.add(count - 16)));
                store(to, a);
                store(to.add(16), b);
                store(to.add(count - 32), y);
                store(to.add(count - 16), z);
            }
            65..=SHORT_BYTES => {
                let (a, b, c, d) = (load(from), load(from.add(16)), load(from.add(32)), load(from.add(48)));
                let (w, x) = (load(from.add(count - 64)), load(from.add(count - 48)));
                let (y, z) = (load(from.add(count - 32)), load(from.add(count - 16)));
                store(to, a);
                store(to.add(16), b);
                store(to.add(32), c);
                store(to.add(48), d);
                store(to.add(count - 64), w);
                store(to.add(count - 48), x);
                store(to.add(count - 32), y);
                store(to.add(count - 16), z);
            }
            // Behind what is read, or before it: forwards nothing is overwritten that is still to be read.
            _ if to.addr().wrapping_sub(from.addr()) >= count => {
                asm!("rep movsb", inout("rcx") count => _, inout("rdi") to => _, inout("rsi") from => _,
                    options(nostack, preserves_flags));
            }
            _ => {
                asm!("std", "rep movsb", "cld", inout("rcx") count => _, inout("rdi") to.add(count - 1) => _,
                    inout("rsi") from.add(count - 1) => _, options(nostack));
            }
        }
    }
}

/// # Safety
/// As for `move_bytes`, and `T` has at most `count` bytes and at least half as many.
#[inline(always)]
unsafe fn both_ends<T: Copy>(to: *mut u8, from: *const u8, count: usize) {
    let last = count - size_of::<T>();
    // SAFETY: as the caller promises.
    unsafe {
        let (start, end) = (from.cast::<T>().read_unaligned(), from.add(last).cast::<T>().read_unaligned());
        to.cast::<T>().write_unaligned(start);
        to.add(last).cast::<T>().write_unaligned(end);
    }
}

/// # Safety
/// Sixteen bytes can be read.
#[inline(always)]
unsafe fn load(from: *const u8) -> __m128i {
    // SAFETY: as the caller promises.
    unsafe { _mm_loadu_si128(from.cast()) }
}

/// # Safety
/// Sixteen bytes can be written.
#[inline(always)]
unsafe fn store(to: *mut u8, bytes: __m128i) {
    // SAFETY: as the caller promises.
    unsafe { _mm_storeu_si128(to.cast(), bytes) }
}

/// # Safety
/// `count` bytes can be read of both.
#[inline(always)]
unsafe fn compare_bytes(one: *const u8, other: *const u8, count: usize) -> Ordering {
    let mut at = 0;
    // SAFETY: as the caller promises; `at` stays below `count`.
    unsafe {
        while count - at >= 8 {
            let word = |bytes: *const u8| u64::from_be_bytes(bytes.add(at).cast::<[u8; 8]>().read_unaligned());
            let (one, other) = (word(one), word(other));
            if one != other {
                return one.cmp(&other);
            }
            at += 8;
        }
        while at < count {
            let (one, other) = (one.add(at).read(), other.add(at).read());
            if one != other {
                return one.cmp(&other);
            }
            at += 1;
        }
    }
    Ordering::Equal
}

/// Under the names that the compiler calls. All four, since those of musl come as one.
#[cfg(not(test))]
mod calls {
    use std::{cmp::Ordering, ffi::c_int};

    use super::{compare_bytes, move_bytes};

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { move_bytes(to, from, count) };
        to
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { move_bytes(to, from, count) };
        to
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, count: usize) -> c_int {
        // SAFETY: as the caller promises.
        match unsafe { compare_bytes(one, other, count) } {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn bcmp(one: *const u8, other: *const u8, count: usize) -> c_int {
        // SAFETY: as the caller promises.
        unsafe { memcmp(one, other, count) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize) -> Vec<u8> {
        (0..count).map(|at| (at * 7 + at / 251) as u8).collect()
    }

    /// Longer than what is copied at once, with all lengths up to there, and some that are far longer.
    fn counts() -> impl Iterator<Item = usize> {
        (0..2 * SHORT_BYTES + 3).chain([4095, 4096, 70_001])
    }

    #[test]
    fn a_copy_has_every_byte_and_touches_no_other() {
        for count in counts() {
            for shift in [0, 1, 7] {
                let from = numbers(count + shift);
                let mut to = vec![0xee; count + 2 * shift + 1];
                // SAFETY: both have as many bytes behind their start.
                unsafe { move_bytes(to.as_mut_ptr().add(shift), from.as_ptr().add(shift), count) };
                assert_eq!(to[shift..shift + count], from[shift..], "{count} bytes");
                assert!(to[..shift].iter().chain(&to[shift + count..]).all(|byte| *byte == 0xee), "{count} bytes");
            }
        }
    }

    #[test]
    fn what_overlaps_is_moved_as_if_it_did_not() {
        for count in counts() {
            for (from, to) in [(0, 0), (0, 1), (1, 0), (0, 9), (9, 0), (3, 90), (90, 3), (0, 200), (200, 0)] {
                let mut bytes = numbers(count + 200);
                let mut expected = bytes.clone();
                expected.splice(to..to + count, bytes[from..from + count].iter().copied());
                // SAFETY: both lie within the bytes.
                unsafe { move_bytes(bytes.as_mut_ptr().add(to), bytes.as_ptr().add(from), count) };
                assert!(bytes == expected, "{count} bytes from {from} to {to}");
            }
        }
    }

    #[test]
    fn the_first_difference_decides() {
        for count in counts().filter(|count| *count < 4000) {
            let one = numbers(count);
            // SAFETY: as many bytes as are compared.
            let compared = |other: &[u8]| unsafe { compare_bytes(one.as_ptr(), other.as_ptr(), count) };
            assert_eq!(compared(&one), Ordering::Equal);
            for at in 0..count {
                for change in [1, 0x80] {
                    let mut other = one.clone();
                    other[at] = other[at].wrapping_add(change);
                    other[at + 1..].fill(0);
                    assert_eq!(compared(&other), one[at].cmp(&other[at]), "{count} bytes, at {at}");
                }
            }
        }
    }
}
