//! Deletions: a whole folder goes only as far as nothing in it is hidden, protected, or changed by the host.

use std::{
    ffi::CStr,
    os::fd::{AsFd, BorrowedFd},
};

use rustix::{
    fs::{AtFlags, FileType, Stat, unlinkat},
    io::Errno,
};

use super::{Carrier, hold::Why, join, names, open_folder};
use crate::{
    fault::{During, Outcome},
    git::carried::is_unfinished,
    view::repository::Deed,
};

impl Carrier<'_> {
    /// Deletes what is at `name` and notes it. What stays is noted, and its deletion set aside.
    pub(super) fn delete(&mut self, target: BorrowedFd<'_>, name: &CStr, path: &[u8]) -> Outcome<()> {
        let Some(old) = self.on_host(target, name)? else { return Ok(()) };
        if FileType::from_raw_mode(old.st_mode) != FileType::Directory && self.is_kept_object(target, name, path)? {
            return Ok(());
        }
        match self.why_it_stays(name, path, &old) {
            None => {}
            Some(Stays::Refused) => {
                self.note(path, |r| &mut r.refused);
                return Ok(());
            }
            Some(Stays::Held(why)) => return self.hold_deletion(path, why),
        }
        if FileType::from_raw_mode(old.st_mode) != FileType::Directory {
            self.taking_name(target, name, Some(&old), |_| {
                unlinkat(target, name, AtFlags::empty()).during("delete a file")
            })?;
            self.note(path, |r| &mut r.deleted);
            return Ok(());
        }
        let folder = open_folder(target, name)?;
        let noted = self.report.mark();
        self.within(path, folder.as_fd(), None, |this| {
            names(folder.as_fd())?.iter().try_for_each(|name| this.delete(folder.as_fd(), name, &join(path, name)))
        })?;
        match unlinkat(target, name, AtFlags::REMOVEDIR) {
            Ok(()) => {
                // All that was in it went with it.
                self.report.take_back(noted);
                self.note(path, |r| &mut r.deleted);
                Ok(())
            }
            // Something in it stays, and was noted.
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(e) => Err(e).during("delete a folder"),
        }
    }

    /// Makes room for something else, if nothing of what is there has to stay. True if the name is free.
    pub(super) fn clear(&mut self, target: BorrowedFd<'_>, name: &CStr, path: &[u8]) -> Outcome<bool> {
        if self.keeps_some(target, name, path)? {
            return Ok(false);
        }
        let noted = self.report.mark();
        self.delete(target, name, path)?;
        let is_free = self.on_host(target, name)?.is_none();
        if is_free {
            // What takes its place is told.
            self.report.take_back(noted);
        }
        Ok(is_free)
    }

    /// Whether anything at or below a path stays. What is refused is noted.
    fn keeps_some(&mut self, target: BorrowedFd<'_>, name: &CStr, path: &[u8]) -> Outcome<bool> {
        let Some(old) = self.on_host(target, name)? else { return Ok(false) };
        if FileType::from_raw_mode(old.st_mode) != FileType::Directory && self.is_kept_object(target, name, path)? {
            return Ok(true);
        }
        match self.why_it_stays(name, path, &old) {
            Some(Stays::Refused) => {
                self.note(path, |r| &mut r.refused);
                return Ok(true);
            }
            Some(Stays::Held(_)) => return Ok(true),
            None => {}
        }
        if FileType::from_raw_mode(old.st_mode) != FileType::Directory {
            return Ok(false);
        }
        let folder = open_folder(target, name)?;
        let mut keeps = false;
        self.within(path, folder.as_fd(), None, |this| {
            for name in names(folder.as_fd())? {
                keeps |= this.keeps_some(folder.as_fd(), &name, &join(path, &name))?;
            }
            Ok(())
        })?;
        Ok(keeps)
    }

    fn why_it_stays(&self, name: &CStr, path: &[u8], old: &Stat) -> Option<Stays> {
        let kind = FileType::from_raw_mode(old.st_mode);
        if self.untouchable(path)
            || self.closed.surrounds(path)
            || kind == FileType::RegularFile && is_unfinished(path, self.survey)
            || self.leads_in(path, old)
            || self.place.refuses(name, &Deed::Delete)
        {
            Some(Stays::Refused)
        } else if self.awaits_review(path, kind) {
            Some(Stays::Held(Why::Review))
        } else if kind != FileType::Directory && self.changed_on_host(old) || self.is_contested(path, true) {
            Some(Stays::Held(Why::Conflict))
        } else {
            None
        }
    }
}

/// Why something of the host's is not deleted.
enum Stays {
    Refused,
    Held(Why),
}
