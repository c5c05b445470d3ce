//! Tests: files that the sandbox or the host replaces at the moment they are read.

use std::{ffi::CStr, os::fd::BorrowedFd};

use ak_jail::fault::Outcome;
use rustix::fs::Stat;

use crate::{contents, record::Print};

/// File times can be too coarse to tell that something was replaced and put back; then it is tried again.
const TRIES: usize = 10;

/// None where something fails because one of `sides` is not what it was any more: that concerns this path alone.
pub fn unless_moved<T>(
    mut attempt: impl FnMut() -> Outcome<T>,
    name: &CStr,
    sides: &[(BorrowedFd<'_>, &Stat)],
) -> Outcome<Option<T>> {
    let mut tries = 1;
    loop {
        let fault = match attempt() {
            Ok(done) => return Ok(Some(done)),
            Err(fault) => fault,
        };
        for (directory, stat) in sides {
            if contents::stat(*directory, name)?.is_none_or(|now| Print::of(&now) != Print::of(stat)) {
                return Ok(None);
            }
        }
        if tries == TRIES {
            return Err(fault);
        }
        tries += 1;
    }
}
