//! The words that a program was started with, for those of ours that start without Rust's own start-up: only that, and
//! glibc by a way of its own, would make `std::env::args` known.

use std::{
    ffi::{CStr, OsStr, OsString, c_char, c_int},
    os::unix::ffi::OsStrExt,
};

/// Without the first, which is the program's name.
///
/// # Safety
/// Both must be what the C library called `main` with.
pub unsafe fn of_main(count: c_int, words: *const *const c_char) -> Vec<OsString> {
    let count = usize::try_from(count).unwrap_or(0);
    let word = |index| {
        // SAFETY: the kernel gave so many words, each a string that ends with a zero and stays where it is.
        let text = unsafe { CStr::from_ptr(*words.add(index)) };
        OsStr::from_bytes(text.to_bytes()).to_owned()
    };
    (1..count).map(word).collect()
}

/// One of the words behind the program's name, where lists of processes look for it.
pub struct Word {
    start: *mut u8,
    room: usize,
}

impl Word {
    /// # Safety
    /// Both must be what the C library called `main` with, and no other reference to the argument may exist.
    pub unsafe fn of_main(count: c_int, words: *const *const c_char, index: usize) -> Option<Self> {
        if index >= usize::try_from(count).unwrap_or(0) {
            return None;
        }
        // SAFETY: there are so many words, each a string that ends with a zero and stays where it is.
        let (start, room) = unsafe { (*words.add(index), CStr::from_ptr(*words.add(index)).count_bytes()) };
        Some(Self { start: start.cast_mut().cast(), room })
    }

    /// As much of `text` as there is room for.
    pub fn replace(&mut self, text: &str) {
        for (at, byte) in text.bytes().chain(std::iter::repeat(0)).take(self.room).enumerate() {
            // SAFETY: within the argument, which a process may change (C says so) and to which no other reference
            // exists.
            unsafe { self.start.add(at).write(byte) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_as_they_are_and_the_name_is_left_out() {
        let given = [c"program", c"run", c"", c"a b", c"\xff"];
        let pointers = given.map(CStr::as_ptr);
        // SAFETY: so many strings, as main gets them.
        let words = unsafe { of_main(5, pointers.as_ptr()) };
        let bytes: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        assert_eq!(bytes, [b"run" as &[u8], b"", b"a b", b"\xff"]);
        // SAFETY: no word is looked at.
        assert!(unsafe { of_main(0, pointers.as_ptr()) }.is_empty());
    }
    #[test]
    fn a_word_is_replaced_where_it_is() {
        let (mut program, mut first, mut second) = (*b"program\0", *b"launch\0", *b"there\0");
        let pointers = [&mut program[..], &mut first, &mut second].map(|word| word.as_mut_ptr().cast_const().cast());
        // SAFETY: so many strings, as main gets them.
        let word = unsafe { Word::of_main(3, pointers.as_ptr(), 1) };
        let mut word = word.expect("there are words");
        word.replace("run");
        assert_eq!((&program, &second), (b"program\0", b"there\0"));
        assert_eq!(&first, b"run\0\0\0\0");
        word.replace("something longer");
        assert_eq!(&first, b"someth\0");
        // SAFETY: no word is looked at.
        assert!(unsafe { Word::of_main(1, pointers.as_ptr(), 1) }.is_none());
    }
}
