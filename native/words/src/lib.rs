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
}
