//! What is put off until all that is new is in its place, and what failed.

use std::{
    ffi::{CStr, CString},
    os::fd::{AsFd, BorrowedFd},
};

use rustix::{
    fs::{AtFlags, FileType, Stat, statat},
    io::Errno,
};

use super::{Carrier, join, names, open_folder};
use crate::{
    fault::{During, Fault, Outcome},
    view::spelling::is_same,
};

impl Carrier<'_> {
    /// Whether the turn of a path comes later.
    pub(super) fn puts_off(&mut self, path: &[u8]) -> bool {
        self.later.as_mut().map(|later| later.push(path.to_vec())).is_some()
    }

    pub(super) fn carry_later(
        &mut self,
        upper: BorrowedFd<'_>,
        project: BorrowedFd<'_>,
        mut later: Vec<Vec<u8>>,
    ) -> Outcome<()> {
        // Folder by folder: by its bytes, `a-b` would come between `a` and `a/c`.
        later.sort_by(|a, b| a.split(|&b| b == b'/').cmp(b.split(|&b| b == b'/')));
        self.later_in(upper, project, &[], &later)
    }

    /// `later` is in order, and all of it lies in the folder `path`.
    fn later_in(
        &mut self,
        upper: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        path: &[u8],
        later: &[Vec<u8>],
    ) -> Outcome<()> {
        let start = if path.is_empty() { 0 } else { path.len() + 1 };
        self.within(path, target, Some(upper), |this| {
            for here in later.chunk_by(|a, b| first_name(&a[start..]) == first_name(&b[start..])) {
                let name = CString::new(first_name(&here[0][start..])).during("a name")?;
                let path = join(path, &name);
                let done = if here[0] == path {
                    this.now(upper, target, &name, &path)
                } else {
                    this.later_below(upper, target, &name, &path, here)
                };
                this.failures.note(&path, done);
            }
            Ok(())
        })
    }

    fn later_below(
        &mut self,
        upper: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        name: &CStr,
        path: &[u8],
        later: &[Vec<u8>],
    ) -> Outcome<()> {
        // Where the host has taken the folder away, nothing is left to be deleted.
        if self.on_host(target, name)?.is_none() {
            return Ok(());
        }
        let (from, to) = (open_folder(upper, name)?, open_folder(target, name)?);
        self.later_in(from.as_fd(), to.as_fd(), path, later)
    }

    fn now(&mut self, upper: BorrowedFd<'_>, target: BorrowedFd<'_>, name: &CStr, path: &[u8]) -> Outcome<()> {
        // What was renamed to another spelling is in its place already, on a file system for which both are one name.
        if self.on_host(target, name)?.is_some_and(|old| self.changed_on_host(&old))
            && has_other_spelling(upper, target, name)?
        {
            return Ok(());
        }
        match statat(upper, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => self.entry(upper, target, name, path),
            // The sandbox made its folder anew, without this.
            Err(Errno::NOENT) => self.delete(target, name, path),
            Err(e) => Err(e).during("look at a changed file"),
        }
    }
}

/// Whether the layer has something under another spelling of a name, which is the same file in the project.
fn has_other_spelling(upper: BorrowedFd<'_>, target: BorrowedFd<'_>, name: &CStr) -> Outcome<bool> {
    let look = |at, name: &CStr| statat(at, name, AtFlags::SYMLINK_NOFOLLOW);
    let Ok(own) = look(target, name) else { return Ok(false) };
    let swapped =
        name.to_bytes().iter().map(|b| if b.is_ascii_alphabetic() { b ^ 0x20 } else { *b }).collect::<Vec<_>>();
    let swapped = CString::new(swapped).during("a name")?;
    // On most file systems it is another name, and the folder need not be read.
    if !look(target, &swapped).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == (own.st_dev, own.st_ino)) {
        return Ok(false);
    }
    Ok(names(upper)?.iter().any(|other| {
        let is_there = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) != FileType::CharacterDevice;
        let is_own = |stat: &Stat| (stat.st_dev, stat.st_ino) == (own.st_dev, own.st_ino);
        other.as_c_str() != name
            && is_same(other.to_bytes(), name.to_bytes())
            && look(upper, other).is_ok_and(|stat| is_there(&stat))
            && look(target, other).is_ok_and(|stat| is_own(&stat))
    }))
}

fn first_name(path: &[u8]) -> &[u8] {
    path.split(|&byte| byte == b'/').next().unwrap_or_default()
}

/// What could not be carried over keeps nothing else from it.
#[derive(Default)]
pub(super) struct Failures {
    first: Option<Fault>,
    others: u64,
}

impl Failures {
    pub(super) fn note(&mut self, path: &[u8], done: Outcome<()>) {
        match done {
            Err(fault) if self.first.is_none() => {
                let message = format!("{} could not be carried over: {}", String::from_utf8_lossy(path), fault.message);
                self.first = Some(Fault { message, ..fault });
            }
            Err(_) => self.others += 1,
            Ok(()) => {}
        }
    }

    pub(super) fn are_none(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn told(self, held_as: Option<&str>) -> Outcome<()> {
        let Some(fault) = self.first else { return Ok(()) };
        let others = match self.others {
            0 => String::new(),
            1 => ", and 1 other path neither".to_owned(),
            others => format!(", and {others} other paths neither"),
        };
        let held = held_as.map(|name| format!("; what was set aside is listed by: agentkernel diff {name}"));
        Err(Fault { message: format!("{}{others}", fault.message), ..fault }.hint(format!(
            "all else that is new is in the project, and nothing was deleted{}; make room or allow writing there, and run \
             it again",
            held.unwrap_or_default()
        )))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{Mode, OFlags, open};

    use super::*;

    #[test]
    fn a_name_that_is_there_in_another_spelling_is_not_deleted() {
        let scratch = std::env::temp_dir().join(format!("ak-spelling-{}", std::process::id()));
        let (upper, host) = (scratch.join("upper"), scratch.join("host"));
        for folder in [&upper, &host] {
            fs::create_dir_all(folder).expect("make");
        }
        fs::write(upper.join("readme"), "x").expect("write");
        fs::write(host.join("Readme"), "x").expect("write");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let (layer, project) =
            (open(&upper, flags, Mode::empty()).expect("open"), open(&host, flags, Mode::empty()).expect("open"));
        let is_there = || has_other_spelling(layer.as_fd(), project.as_fd(), c"Readme").expect("look");
        assert!(!is_there());
        fs::write(host.join("readme"), "another file").expect("write");
        assert!(!is_there());
        // As a file system has it that takes both for one name.
        fs::remove_file(host.join("readme")).expect("remove");
        for spelling in ["readme", "rEADME"] {
            fs::hard_link(host.join("Readme"), host.join(spelling)).expect("link");
        }
        assert!(is_there());
        fs::remove_dir_all(scratch).expect("remove");
    }
}
