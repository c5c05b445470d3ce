//! Deletions: a whole folder goes only as far as nothing in it is hidden, protected, or changed by the host.

use std::{
    ffi::CStr,
    os::fd::{AsFd, BorrowedFd},
};

use rustix::{
    fs::{AtFlags, FileType, unlinkat},
    io::Errno,
};

use super::{Carrier, hold::Why, join, names, open_folder};
use crate::{
    fault::{During, Outcome},
    view::repository::{Deed, Place},
};

/// Why something of the host's is to go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Clearing {
    /// The sandbox deleted it. What stays is noted, and the deletion set aside.
    Deletion,
    /// The sandbox has something else in its place, which is set aside as a whole if anything stays.
    Replacement,
}

impl Carrier<'_> {
    /// Deletes what is at `name` and notes it.
    pub(super) fn delete(&mut self, target: BorrowedFd<'_>, name: &CStr, path: &[u8]) -> Outcome<()> {
        if self.clear(target, name, path, Clearing::Deletion)? {
            self.note(path, |r| &mut r.deleted);
        }
        Ok(())
    }

    /// True if the name is free now, and something was there.
    pub(super) fn clear(&mut self, target: BorrowedFd<'_>, name: &CStr, path: &[u8], why: Clearing) -> Outcome<bool> {
        let Some(old) = self.on_host(target, name)? else {
            return Ok(false);
        };
        if self.untouchable(path) || self.leads_in(path, &old) || self.place.refuses(name, &Deed::Delete) {
            self.note(path, |r| &mut r.refused);
            return Ok(false);
        }
        if self.awaits_review(path, FileType::from_raw_mode(old.st_mode)) {
            self.stays(path, why, Why::Review)?;
            return Ok(false);
        }
        if FileType::from_raw_mode(old.st_mode) != FileType::Directory {
            if self.changed_on_host(&old) {
                self.stays(path, why, Why::Conflict)?;
                return Ok(false);
            }
            unlinkat(target, name, AtFlags::empty()).during("delete a file")?;
            return Ok(true);
        }
        let folder = open_folder(target, name)?;
        let there = names(folder.as_fd())?;
        let inner = Place::of(self.protect, path, self.place, Some(folder.as_fd()), None);
        let outer = std::mem::replace(&mut self.place, inner);
        let cleared =
            there.iter().try_for_each(|name| self.clear(folder.as_fd(), name, &join(path, name), why).map(drop));
        self.place = outer;
        cleared?;
        match unlinkat(target, name, AtFlags::REMOVEDIR) {
            Ok(()) => Ok(true),
            // Something in it stays, and was noted.
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(e) => Err(e).during("delete a folder"),
        }
    }

    fn stays(&mut self, path: &[u8], clearing: Clearing, why: Why) -> Outcome<()> {
        if clearing == Clearing::Deletion { self.hold_deletion(path, why) } else { Ok(()) }
    }
}
