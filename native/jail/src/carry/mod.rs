//! Carries what a sandbox wrote into the host's project, after the sandbox is gone: new and changed files, links,
//! deletions, file by file and atomically. The sandbox chose every name and byte here, so nothing is followed,
//! hidden and protected paths are never touched, and what the host changed meanwhile is left as the host has it: the
//! sandbox's version is set aside then.
//!
//! What is new comes first and deletions last, and none where something new could not be written: a file that was moved
//! is in both places rather than in none if the carry is killed or the disk is full.

pub mod aside;
mod contested;
mod delete;
mod hold;
mod later;
mod links;
mod report;
pub mod transfer;

use std::{
    collections::HashSet,
    ffi::{CStr, CString},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use crate::{
    carry::{aside::Aside, hold::Why, later::Failures, links::OwnChanges, transfer::Put},
    fault::{During, Outcome},
    git::{
        carried::{Carried, Closed, cleared_index, is_index, is_link_of_git, is_unfinished},
        objects,
    },
    view::{
        matcher::{Match, Matcher},
        repository::{Deed, Place},
        survey::Survey,
    },
};
pub use report::Report;
use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, RawMode, Stat, chmodat, fchmod, fgetxattr, mkdirat, openat, statat},
    io::Errno,
};

/// Folders in folders. Each takes descriptors and stack while it is carried, and the sandbox can nest without end.
pub const DEEPEST: usize = 200;
/// A folder that the sandbox closed is closed when all is in it.
const FILLABLE: RawMode = 0o700;

pub struct Carrier<'a> {
    pub hide: &'a Matcher,
    pub protect: &'a Matcher,
    review: Option<&'a Matcher>,
    /// Keeps what is not carried over.
    aside: Option<Aside>,
    /// What was hidden or protected when the sandbox started.
    listed: HashSet<&'a [u8]>,
    survey: &'a Survey,
    /// Repositories that stay as they are.
    closed: Closed,
    /// Seconds and nanoseconds: what changed on the host at or after this moment was changed by somebody else.
    since: (i64, u64),
    /// Root gives new files the owner of the folder they are in.
    pub privileged: bool,
    /// The folder that is being carried.
    place: Place,
    /// Deletions, and what takes the place of something else, until all that is new is in its place.
    later: Option<Vec<Vec<u8>>>,
    /// Repositories that the host changed as well.
    contested: Vec<Vec<u8>>,
    own_changes: OwnChanges,
    failures: Failures,
    report: Report,
}

/// The moment before which a file of the host's is the one the sandbox saw.
pub fn now() -> (i64, u64) {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    (t.tv_sec, t.tv_nsec as u64)
}

impl<'a> Carrier<'a> {
    pub fn new(
        hide: &'a Matcher,
        protect: &'a Matcher,
        survey: &'a Survey,
        since: (i64, u64),
        privileged: bool,
    ) -> Self {
        let listed = survey.hidden.iter().chain(&survey.protected).map(|h| h.path.as_slice());
        let listed = listed.chain(survey.cleaned.iter().map(Vec::as_slice)).collect();
        Self {
            hide,
            protect,
            review: None,
            aside: None,
            listed,
            survey,
            closed: Closed::default(),
            since,
            privileged,
            place: Place::default(),
            later: None,
            contested: Vec::new(),
            own_changes: OwnChanges::default(),
            failures: Failures::default(),
            report: Report::default(),
        }
    }

    /// Changes to what `review` names are set aside, and so are conflicts.
    pub fn keeping(self, review: &'a Matcher, aside: Aside) -> Self {
        Self { review: Some(review), aside: Some(aside), ..self }
    }

    /// Applies the writable layer `upper` to `project`.
    pub fn carry(mut self, upper: BorrowedFd<'_>, project: BorrowedFd<'_>) -> Outcome<Report> {
        self.closed = Closed::of(upper, project, self.survey, &|stat| self.changed_on_host(stat))?;
        self.report.repositories = self.closed.reasons().map(str::to_owned).collect();
        self.contested = self.contested_in(upper, project)?;
        self.later = Some(Vec::new());
        self.folder(upper, project, &[])?;
        let later = self.later.take().unwrap_or_default();
        if self.failures.are_none() {
            self.carry_later(upper, project, later)?;
        }
        self.report.held_as = self.aside.and_then(Aside::name);
        self.failures.told(self.report.held_as.as_deref())?;
        self.report.sort();
        Ok(self.report)
    }

    fn folder(&mut self, upper: BorrowedFd<'_>, target: BorrowedFd<'_>, path: &[u8]) -> Outcome<()> {
        self.within(path, target, Some(upper), |this| this.contents(upper, target, path))
    }

    /// Works on the folder `path` of the project, and what the layer has of it.
    fn within(
        &mut self,
        path: &[u8],
        target: BorrowedFd<'_>,
        upper: Option<BorrowedFd<'_>>,
        work: impl FnOnce(&mut Self) -> Outcome<()>,
    ) -> Outcome<()> {
        let inner = Place::of(self.protect, path, self.place, Some(target), upper);
        let outer = std::mem::replace(&mut self.place, inner);
        let done = work(self);
        self.place = outer;
        done
    }

    fn contents(&mut self, upper: BorrowedFd<'_>, target: BorrowedFd<'_>, path: &[u8]) -> Outcome<()> {
        let names = names(upper)?;
        let there = self::names(target)?;
        transfer::clear_leftovers(target, &there)?;
        if is_opaque(upper) {
            let kept: HashSet<&CStr> = names.iter().map(CString::as_c_str).collect();
            for name in there.iter().filter(|n| !kept.contains(n.as_c_str())) {
                let path = join(path, name);
                if !self.puts_off(&path) {
                    self.delete(target, name, &path)?;
                }
            }
        }
        for name in &names {
            let path = join(path, name);
            let carried = self.entry(upper, target, name, &path);
            self.failures.note(&path, carried);
        }
        Ok(())
    }

    fn entry(&mut self, upper: BorrowedFd<'_>, target: BorrowedFd<'_>, name: &CStr, path: &[u8]) -> Outcome<()> {
        if self.untouchable(path) {
            self.note(path, |r| &mut r.refused);
            return Ok(());
        }
        let new = statat(upper, name, AtFlags::SYMLINK_NOFOLLOW).during("look at a changed file")?;
        let kind = FileType::from_raw_mode(new.st_mode);
        if kind == FileType::RegularFile && is_unfinished(path, self.survey) {
            return Ok(());
        }
        if kind != FileType::Directory && self.is_kept_object(target, name, path)? {
            return Ok(());
        }
        if self.awaits_review(path, kind) {
            return self.hold(upper, Some(target), name, path, Why::Review);
        }
        if kind == FileType::CharacterDevice && new.st_rdev == 0 {
            return if self.puts_off(path) { Ok(()) } else { self.delete(target, name, path) };
        }
        if self.leads_in(path, &new)
            || is_link_of_git(path, kind, self.survey)
            || self.place.refuses(name, &Deed::Put(upper, kind))
        {
            self.note(path, |r| &mut r.refused);
            return Ok(());
        }
        Self::make_readable(upper, name, &new)?;
        let old = self.on_host(target, name)?;
        let is_kept = kind == FileType::Directory && old.is_some();
        if !is_kept && self.is_contested(path, old.is_some()) {
            return self.hold(upper, Some(target), name, path, Why::Conflict);
        }
        match kind {
            FileType::Directory => self.enter(upper, target, name, path, old.as_ref(), new.st_mode),
            FileType::RegularFile | FileType::Symlink => self.replace(upper, target, name, path, old.as_ref(), &new),
            _ => {
                self.note(path, |r| &mut r.refused);
                Ok(())
            }
        }
    }

    fn enter(
        &mut self,
        upper: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        name: &CStr,
        path: &[u8],
        old: Option<&Stat>,
        mode: RawMode,
    ) -> Outcome<()> {
        let there = old.is_some_and(|s| FileType::from_raw_mode(s.st_mode) == FileType::Directory);
        if !there {
            if old.is_some() && self.puts_off(path) {
                return Ok(());
            }
            if old.is_some() && !self.clear(target, name, path)? {
                return self.hold(upper, None, name, path, Why::Conflict);
            }
            mkdirat(target, name, Mode::from_raw_mode(mode & 0o777 | FILLABLE)).during("make a folder")?;
            self.own(target, name)?;
            self.note(path, |r| &mut r.written);
        }
        let from = open_folder(upper, name)?;
        let to = open_folder(target, name)?;
        self.folder(from.as_fd(), to.as_fd(), path)?;
        if !there && mode & FILLABLE != FILLABLE {
            fchmod(&to, Mode::from_raw_mode(mode & 0o777)).during("set a folder's mode")?;
        }
        Ok(())
    }

    fn replace(
        &mut self,
        upper: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        name: &CStr,
        path: &[u8],
        old: Option<&Stat>,
        new: &Stat,
    ) -> Outcome<()> {
        if let Some(old) = old {
            if FileType::from_raw_mode(old.st_mode) == FileType::Directory {
                if self.puts_off(path) {
                    return Ok(());
                }
                if !self.clear(target, name, path)? {
                    return self.hold(upper, None, name, path, Why::Conflict);
                }
            } else if self.changed_on_host(old) {
                return self.hold(upper, Some(target), name, path, Why::Conflict);
            }
        }
        let is_index = FileType::from_raw_mode(new.st_mode) == FileType::RegularFile && is_index(path, self.survey);
        let cleared = match if is_index { cleared_index(upper, target, name)? } else { Carried::AsItIs } {
            Carried::AsItIs => None,
            Carried::Instead(file) => Some(file),
            Carried::Nothing => {
                self.note(path, |r| &mut r.refused);
                return Ok(());
            }
        };
        let old = old.filter(|old| FileType::from_raw_mode(old.st_mode) != FileType::Directory);
        let put = self.taking_name(target, name, old, |this| {
            transfer::put((upper, cleared.as_ref()), target, name, old, new, this.privileged)
        });
        match put? {
            Put::Written => self.note(path, |r| &mut r.written),
            Put::Same => {}
            Put::Overtaken => self.hold(upper, Some(target), name, path, Why::Conflict)?,
        }
        Ok(())
    }

    /// Whether the host goes on with what it has there, and nothing is missed. Without a word: git does without.
    fn is_kept_object(&self, target: BorrowedFd<'_>, name: &CStr, path: &[u8]) -> Outcome<bool> {
        Ok(match objects::place(path, self.survey) {
            objects::Place::Elsewhere => false,
            objects::Place::Object => self.on_host(target, name)?.is_some(),
            objects::Place::Beside => true,
        })
    }

    /// Whether a path is hidden or protected, itself or through a folder above it, or too deep.
    fn untouchable(&self, path: &[u8]) -> bool {
        let (folder, name) = split(path);
        let is_protected = |(folder, name): (&[u8], &[u8])| matches!(self.protect.matches(folder, name), Match::Yes);
        self.listed.contains(path)
            || self.closed.has(path)
            || self.survey.linked.as_ref().is_some_and(|linked| !linked.may_change(path))
            || matches!(self.hide.matches(folder, name), Match::Yes)
            || is_protected((folder, name))
            || self.place.as_in_git(path).is_some_and(|path| is_protected(split(&path)))
            || transfer::is_temporary(name)
            || has_control_characters(name)
            || path.iter().filter(|&&b| b == b'/').count() > DEEPEST
    }

    /// Whether a file or link would stand above a protected path and give it another content.
    fn leads_in(&self, path: &[u8], stat: &Stat) -> bool {
        let is_link = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => false,
            FileType::Symlink => true,
            _ => return false,
        };
        let leads_in = |(folder, name): (&[u8], &[u8])| self.protect.leads_in(folder, name, is_link);
        leads_in(split(path)) || self.place.as_in_git(path).is_some_and(|path| leads_in(split(&path)))
    }

    /// The sandbox is over, and its files are the user's; these may have been closed to their owner.
    fn make_readable(upper: BorrowedFd<'_>, name: &CStr, stat: &Stat) -> Outcome<()> {
        let needed = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => 0o500,
            FileType::RegularFile => 0o400,
            _ => return Ok(()),
        };
        if stat.st_mode & needed == needed {
            return Ok(());
        }
        let mode = Mode::from_raw_mode(stat.st_mode & 0o777 | needed);
        chmodat(upper, name, mode, AtFlags::empty()).during("open what the sandbox closed")
    }

    fn on_host(&self, target: BorrowedFd<'_>, name: &CStr) -> Outcome<Option<Stat>> {
        match statat(target, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e).during("look at a file of the project"),
        }
    }

    fn own(&self, target: BorrowedFd<'_>, name: &CStr) -> Outcome<()> {
        if self.privileged { transfer::own_like(target, name) } else { Ok(()) }
    }

    fn note(&mut self, path: &[u8], list: impl Fn(&mut Report) -> &mut Vec<String>) {
        self.report.note(path, list);
    }
}

/// Such a name can mislead whoever reads it in a list, a terminal or a script. `apply` refuses the same.
pub fn has_control_characters(name: &[u8]) -> bool {
    name.iter().any(u8::is_ascii_control)
}

/// The folder with its `/`, and the name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    path.split_at(path.iter().rposition(|&b| b == b'/').map_or(0, |at| at + 1))
}

pub fn open_folder(at: BorrowedFd<'_>, name: &CStr) -> Outcome<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty()).during(format_args!("open the folder {}", name.to_string_lossy()))
}

pub fn is_opaque(folder: BorrowedFd<'_>) -> bool {
    let mut value = [0u8; 4];
    fgetxattr(folder, "user.overlay.opaque", &mut value).is_ok_and(|n| n == 1 && value[0] == b'y')
}

pub fn names(folder: BorrowedFd<'_>) -> Outcome<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder).during("read a folder")? {
        let entry = entry.during("read a folder")?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

pub fn join(path: &[u8], name: &CStr) -> Vec<u8> {
    if path.is_empty() { name.to_bytes().to_vec() } else { [path, b"/", name.to_bytes()].concat() }
}
