//! What is set aside instead of carried over: changes that wait for a review, and the sandbox's side of conflicts. The
//! project stays as it is.

use std::{
    collections::HashSet,
    ffi::{CStr, CString},
    os::fd::{AsFd, BorrowedFd},
};

use rustix::fs::{AtFlags, FileType, Stat, statat};

use super::{Carrier, is_opaque, join, names, open_folder, split, transfer};
use crate::{
    fault::{During, Outcome},
    view::matcher::Match,
};

/// Why something is set aside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    Review,
    /// The host has changed it, or what is in its place.
    Conflict,
}

impl Carrier<'_> {
    /// Whether a path, or for a link what would be reached through it, waits for a review. All below it waits too.
    pub(super) fn awaits_review(&self, path: &[u8], kind: FileType) -> bool {
        let (folder, name) = split(path);
        self.review.is_some_and(|review| {
            matches!(review.matches(folder, name), Match::Yes)
                || kind == FileType::Symlink && review.leads_in(folder, name, true)
        })
    }

    /// Sets aside what the layer has at a path and all below it, as far as it differs from the host's.
    pub(super) fn hold(
        &mut self,
        upper: BorrowedFd<'_>,
        host: Option<BorrowedFd<'_>>,
        name: &CStr,
        path: &[u8],
        why: Why,
    ) -> Outcome<()> {
        if self.untouchable(path) {
            self.note(path, |r| &mut r.refused);
            return Ok(());
        }
        let new = statat(upper, name, AtFlags::SYMLINK_NOFOLLOW).during("look at a changed file")?;
        Self::make_readable(upper, name, &new)?;
        let old = host.map(|host| self.on_host(host, name)).transpose()?.flatten();
        let kind = FileType::from_raw_mode(new.st_mode);
        let why = if self.awaits_review(path, kind) { Why::Review } else { why };
        match kind {
            FileType::CharacterDevice if new.st_rdev == 0 => match old {
                Some(_) => self.hold_deletion(path, why),
                None => Ok(()),
            },
            FileType::Directory => {
                let host = host.filter(|_| is_folder(old.as_ref()));
                self.hold_folder((upper, host), name, path, &new, why)
            }
            FileType::RegularFile | FileType::Symlink => {
                if let (Some(host), Some(old)) = (host, &old)
                    && transfer::is_unchanged(upper, host, name, Some(old), &new)?
                {
                    return Ok(());
                }
                if let Some(aside) = &mut self.aside {
                    aside.put(upper, name, path, &new)?;
                }
                self.note_held(path, why);
                Ok(())
            }
            _ => {
                self.note(path, |r| &mut r.refused);
                Ok(())
            }
        }
    }

    pub(super) fn hold_deletion(&mut self, path: &[u8], why: Why) -> Outcome<()> {
        if let Some(aside) = &mut self.aside {
            aside.delete(path)?;
        }
        self.note_held(path, why);
        Ok(())
    }

    fn note_held(&mut self, path: &[u8], why: Why) {
        if let Some(git) = path.strip_suffix(b"packed-refs").filter(|_| why == Why::Conflict) {
            self.contested.push(git.to_vec());
        }
        self.note(path, |report| match why {
            Why::Review => &mut report.held,
            Why::Conflict => &mut report.conflicts,
        });
    }

    fn hold_folder(
        &mut self,
        (upper, host): (BorrowedFd<'_>, Option<BorrowedFd<'_>>),
        name: &CStr,
        path: &[u8],
        new: &Stat,
        why: Why,
    ) -> Outcome<()> {
        let from = open_folder(upper, name)?;
        let beside = host.map(|host| open_folder(host, name)).transpose()?;
        if beside.is_none() {
            if let Some(aside) = &mut self.aside {
                aside.folder(path, new.st_mode)?;
            }
            self.note_held(path, why);
        }
        let changed = names(from.as_fd())?;
        if let Some(beside) = beside.as_ref().filter(|_| is_opaque(from.as_fd())) {
            let kept: HashSet<&CStr> = changed.iter().map(CString::as_c_str).collect();
            for gone in names(beside.as_fd())?.iter().filter(|name| !kept.contains(name.as_c_str())) {
                let path = join(path, gone);
                if !self.untouchable(&path) {
                    self.hold_deletion(&path, why)?;
                }
            }
        }
        changed.iter().try_for_each(|name| {
            self.hold(from.as_fd(), beside.as_ref().map(AsFd::as_fd), name, &join(path, name), why)
        })
    }
}

fn is_folder(stat: Option<&Stat>) -> bool {
    stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}
