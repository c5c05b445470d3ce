//! What a sandbox or the host replaces in the moment in which it is looked at.

use std::{ffi::CStr, os::fd::BorrowedFd};

use ak_jail::fault::Outcome;
use rustix::fs::Stat;

use crate::{contents, record::Print};

/// None where something failed because one of `sides` is not what it was any more: that concerns this path alone.
pub fn unless_moved<T>(done: Outcome<T>, name: &CStr, sides: &[(BorrowedFd<'_>, &Stat)]) -> Outcome<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(fault) => {
            for (folder, stat) in sides {
                if contents::stat(*folder, name)?.is_none_or(|now| Print::of(&now) != Print::of(stat)) {
                    return Ok(None);
                }
            }
            Err(fault)
        }
    }
}
