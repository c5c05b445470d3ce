//! Walks the sandbox's layer beside the host's directory and finds what differs.

use std::{
    collections::HashSet,
    ffi::{CStr, CString},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use ak_jail::{
    carry::{is_opaque, join, open_folder, transfer},
    fault::{During, Fault, Outcome},
    keep::project::Project,
    view::repository::{Deed, Place},
};
use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, open, statat},
    io::Errno,
};

use crate::{
    change::{Change, Kind, Node, Side, Verdict},
    contents,
    moved::unless_moved,
    origin::is_made_of_hosts,
    record::{Print, Record},
    rules::{Rules, is_too_deep},
};

/// More are counted, not listed.
const MAX_CHANGES: usize = 200_000;
/// A sandbox can fill directories without end; beyond this they are not read on.
const MAX_ENTRIES: usize = 2_000_000;
const MAX_NAMES: usize = 500_000;

const CHANGED: &str = "changed on the host since";
const DELETED: &str = "deleted on the host since";
const MOVED: &str = "replaced while it was looked at";

/// Both sides, and what differs.
pub struct Comparison {
    /// Empty where the sandbox has written nothing yet.
    pub layer: Option<OwnedFd>,
    pub host: OwnedFd,
    /// By path.
    pub changes: Vec<Change>,
    /// Changes that are not listed, as far as they were seen.
    pub omitted: u64,
    pub rules: Rules,
}

pub fn compare(state: &Path, project: &Project, record: &Record) -> Outcome<Comparison> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let host = open(&project.source, flags, Mode::empty()).map_err(|e| {
        Fault::new("not_found", format!("the project {} cannot be opened: {e}", project.source.display()))
            .hint("bring it back to where it was when the sandbox was made")
    })?;
    let layer = match open(project.layer(state), flags | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(layer) => Some(layer),
        Err(Errno::NOENT) => None,
        Err(e) => return Err(e).during("open the sandbox's layer"),
    };
    let rules = Rules::of(project, host.as_fd(), layer.as_ref().map(AsFd::as_fd))?;
    let mut walk = Walk {
        rules: &rules,
        record,
        since: project.since,
        place: Place::default(),
        changes: Vec::new(),
        omitted: 0,
        seen: 0,
        sources: 0,
        orphans: Vec::new(),
    };
    if let Some(layer) = &layer {
        walk.directory(layer.as_fd(), Some(host.as_fd()), &[], &Verdict::Ready)?;
    }
    walk.find_deleted();
    let Walk { mut changes, omitted, .. } = walk;
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Comparison { layer, host, changes, omitted, rules })
}

struct Walk<'a> {
    rules: &'a Rules,
    record: &'a Record,
    since: (i64, u64),
    /// The directory that is being looked at.
    place: Place,
    changes: Vec<Change>,
    omitted: u64,
    seen: usize,
    /// Files of the host's that the sandbox may have moved elsewhere.
    sources: usize,
    /// New files that were made of one of the host's, and may have been there when the sandbox began.
    orphans: Vec<usize>,
}

impl Walk<'_> {
    /// `host` is none where the host has no such directory. What stands against the directory stands against all in it.
    fn directory(
        &mut self,
        layer: BorrowedFd<'_>,
        host: Option<BorrowedFd<'_>>,
        path: &[u8],
        above: &Verdict,
    ) -> Outcome<()> {
        let inner = self.rules.place(path, self.place, host, Some(layer));
        let outer = std::mem::replace(&mut self.place, inner);
        let found = self.contents(layer, host, path, above);
        self.place = outer;
        found
    }

    fn contents(
        &mut self,
        layer: BorrowedFd<'_>,
        host: Option<BorrowedFd<'_>>,
        path: &[u8],
        above: &Verdict,
    ) -> Outcome<()> {
        let names = self.names(layer)?;
        if let Some(host) = host.filter(|_| is_opaque(layer)) {
            let kept: HashSet<&CStr> = names.iter().map(CString::as_c_str).collect();
            for name in self.names(host)?.iter().filter(|name| !kept.contains(name.as_c_str())) {
                self.gone(host, name, &join(path, name), above)?;
            }
        }
        names.iter().try_for_each(|name| self.entry(layer, host, name, &join(path, name), above))
    }

    fn entry(
        &mut self,
        layer: BorrowedFd<'_>,
        host: Option<BorrowedFd<'_>>,
        name: &CStr,
        path: &[u8],
        above: &Verdict,
    ) -> Outcome<()> {
        let stat = match statat(layer, name, AtFlags::SYMLINK_NOFOLLOW) {
            // It runs, and has removed it since.
            Err(Errno::NOENT) => return Ok(()),
            Ok(stat) if self.rules.keeps_object(path, &stat, || contents::is_there(host, name)) => return Ok(()),
            stat => stat.during("look at a changed file")?,
        };
        let is_whiteout = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0;
        if is_whiteout {
            return host.map_or(Ok(()), |host| self.gone(host, name, path, above).map(drop));
        }
        let Some(new) = unless_moved(|| Side::of(layer, name, stat), name, &[(layer, &stat)])? else {
            return self.moved(path, stat, above);
        };
        if self.rules.is_hidden(path) {
            // Whether the host has such a file, and what it is, is not disclosed.
            self.push(Kind::Added, path, None, Some(new), Verdict::Refused("hidden".into()));
            return Ok(());
        }
        let deed = Deed::Put(layer, FileType::from_raw_mode(stat.st_mode));
        let refusal = self.rules.refusal(path, new.node);
        let refusal = refusal.or_else(|| self.rules.refusal_in(self.place, (path, name), new.node, &deed));
        let refusal = refusal.or_else(|| self.rules.link_refusal(path, new.target.as_ref()?));
        let above = match (above, refusal) {
            (Verdict::Ready, Some(why)) => &Verdict::Refused(why.into()),
            _ => above,
        };
        let old = match host {
            Some(host) => match contents::stat(host, name)? {
                Some(there) => match unless_moved(|| Side::of(host, name, there), name, &[(host, &there)])? {
                    Some(old) => Some(old),
                    None => return self.moved(path, stat, above),
                },
                None => None,
            },
            None => None,
        };
        if new.node == Node::Directory {
            self.enter((layer, host), name, path, new, old, above)
        } else {
            self.replaced((layer, host), name, path, new, old, above)
        }
    }

    fn enter(
        &mut self,
        (layer, host): (BorrowedFd<'_>, Option<BorrowedFd<'_>>),
        name: &CStr,
        path: &[u8],
        new: Side,
        old: Option<Side>,
        above: &Verdict,
    ) -> Outcome<()> {
        if is_too_deep(path) {
            self.push(Kind::Added, path, None, Some(new), above.clone());
            return Ok(());
        }
        let stat = new.stat;
        let Some(inner) = unless_moved(|| open_folder(layer, name), name, &[(layer, &stat)])? else {
            return self.moved(path, stat, above);
        };
        match (host, old) {
            (Some(host), Some(old)) if old.node == Node::Directory => {
                let Some(beside) = unless_moved(|| open_folder(host, name), name, &[(host, &old.stat)])? else {
                    return self.moved(path, stat, above);
                };
                self.directory(inner.as_fd(), Some(beside.as_fd()), path, above)
            }
            (host, old) => {
                let above = match host.filter(|_| old.is_some()) {
                    Some(host) => stricter(above, self.gone(host, name, path, above)?),
                    None => above.clone(),
                };
                self.push(Kind::Added, path, None, Some(new), above.clone());
                self.directory(inner.as_fd(), None, path, &above)
            }
        }
    }

    fn replaced(
        &mut self,
        (layer, host): (BorrowedFd<'_>, Option<BorrowedFd<'_>>),
        name: &CStr,
        path: &[u8],
        new: Side,
        old: Option<Side>,
        above: &Verdict,
    ) -> Outcome<()> {
        if let (Some(host), Some(Node::Directory)) = (host, old.as_ref().map(|old| old.node)) {
            let start = self.changes.len();
            let verdict = stricter(above, self.gone(host, name, path, above)?);
            // Where something in a directory stays, nothing goes from it for what cannot take its place.
            for gone in &mut self.changes[start..] {
                gone.verdict = stricter(&gone.verdict, verdict.clone());
            }
            self.push(Kind::Added, path, None, Some(new), verdict);
            return Ok(());
        }
        if old.is_some() && !is_made_of_hosts(layer, name) {
            self.sources += 1;
        }
        if let (Some(host), Some(old)) = (host, &old)
            && new.node != Node::Other
        {
            let both = [(layer, &new.stat), (host, &old.stat)];
            match unless_moved(|| is_same(layer, host, name, &new, old), name, &both)? {
                Some(true) => return Ok(()),
                Some(false) => {}
                None => return self.moved(path, new.stat, above),
            }
        }
        if self.is_settled(path, old.as_ref(), &new) {
            return Ok(());
        }
        let verdict = stricter(above, self.against(path, old.as_ref().map(|old| &old.stat)));
        let kind = if old.is_some() { Kind::Modified } else { Kind::Added };
        if old.is_none() && new.stat.st_nlink == 1 && self.may_be_deleted(host, path)? && is_made_of_hosts(layer, name)
        {
            self.orphans.push(self.changes.len());
        }
        self.push(kind, path, old, Some(new), verdict);
        Ok(())
    }

    /// Everything at a path of the host's that the sandbox has removed. Says what stands against that.
    fn gone(&mut self, host: BorrowedFd<'_>, name: &CStr, path: &[u8], above: &Verdict) -> Outcome<Verdict> {
        if self.rules.is_hidden(path) {
            return Ok(Verdict::Conflict("something hidden is there".into()));
        }
        let there = contents::stat(host, name)?.filter(|stat| !self.rules.keeps_object(path, stat, || true));
        let Some(stat) = there else { return Ok(Verdict::Ready) };
        if self.record.get(path).is_some_and(|applied| applied.sandbox.is_none()) {
            // It was removed by an order before; what is there now is the host's own.
            return Ok(Verdict::Conflict(CHANGED.into()));
        }
        let Some(old) = unless_moved(|| Side::of(host, name, stat), name, &[(host, &stat)])? else {
            return Ok(Verdict::Conflict(MOVED.into()));
        };
        self.sources += usize::from(old.node == Node::File);
        let refusal = self.rules.refusal(path, old.node);
        let refusal = refusal.or_else(|| self.rules.refusal_in(self.place, (path, name), old.node, &Deed::Delete));
        let verdict = match (above, refusal) {
            (Verdict::Ready, Some(why)) => Verdict::Refused(why.into()),
            _ => above.clone(),
        };
        let verdict = if old.node == Node::Directory && !is_too_deep(path) {
            let Some(directory) = unless_moved(|| open_folder(host, name), name, &[(host, &stat)])? else {
                return Ok(Verdict::Conflict(MOVED.into()));
            };
            let within = self.rules.place(path, self.place, Some(directory.as_fd()), None);
            let outer = std::mem::replace(&mut self.place, within);
            let mut inner = verdict.clone();
            for name in self.names(directory.as_fd())? {
                inner = stricter(&inner, self.gone(directory.as_fd(), &name, &join(path, &name), &verdict)?);
            }
            self.place = outer;
            // The directory itself goes if nothing is left in it.
            self.push(Kind::Deleted, path, Some(old), None, verdict);
            return Ok(inner);
        } else {
            stricter(&verdict, self.against(path, Some(&old.stat)))
        };
        self.push(Kind::Deleted, path, Some(old), None, verdict.clone());
        Ok(verdict)
    }

    /// Something that is another thing by now. The next look will find it as it is then.
    fn moved(&mut self, path: &[u8], stat: Stat, above: &Verdict) -> Outcome<()> {
        let node = Node::of(&stat);
        let verdict = stricter(above, Verdict::Conflict(MOVED.into()));
        self.push(Kind::Modified, path, None, Some(Side { node, stat, target: None }), verdict);
        Ok(())
    }

    /// Whether the sandbox has done nothing since this path was applied; then what differs is the host's doing.
    fn is_settled(&self, path: &[u8], host: Option<&Side>, new: &Side) -> bool {
        self.record.get(path).is_some_and(|applied| {
            let is_as_applied = applied.host == host.map(|host| Print::of(&host.stat));
            // A mapped file can change without a trace for a while: if both look as they did, the contents decide.
            applied.sandbox == Some(Print::of(&new.stat)) && (!is_as_applied || new.stat.st_size > transfer::COMPARED)
        })
    }

    /// Compares the host's file with its state when the sandbox began, or when the path was last applied.
    fn against(&self, path: &[u8], host: Option<&Stat>) -> Verdict {
        let applied = self.record.get(path).map(|applied| applied.host);
        let is_changed = match (host, applied) {
            (Some(host), Some(applied)) => applied != Some(Print::of(host)),
            (Some(host), None) => (host.st_ctime, host.st_ctime_nsec) >= self.since,
            (None, applied) => applied.flatten().is_some(),
        };
        match (is_changed, host) {
            (false, _) => Verdict::Ready,
            (true, Some(_)) => Verdict::Conflict(CHANGED.into()),
            (true, None) => Verdict::Conflict(DELETED.into()),
        }
    }

    /// Whether the host may have had something at a path when the sandbox began: nothing leaves a directory without a trace.
    fn may_be_deleted(&self, directory: Option<BorrowedFd<'_>>, path: &[u8]) -> Outcome<bool> {
        let Some(directory) = directory else { return Ok(self.record.get(path).is_none()) };
        let stat = fstat(directory).during("look at a directory")?;
        Ok(self.record.get(path).is_none() && (stat.st_ctime, stat.st_ctime_nsec) >= self.since)
    }

    /// Finds files that the sandbox changed and the host has since deleted. A file that the sandbox moved looks the
    /// same, so nothing is reported where the sandbox moved files.
    fn find_deleted(&mut self) {
        for index in self.orphans.drain(..).filter(|_| self.sources == 0) {
            if let Some(change) = self.changes.get_mut(index).filter(|change| change.is_ready()) {
                change.verdict = Verdict::Conflict(DELETED.into());
            }
        }
    }

    fn push(&mut self, kind: Kind, path: &[u8], old: Option<Side>, new: Option<Side>, verdict: Verdict) {
        if self.changes.len() < MAX_CHANGES {
            let is_link = new.as_ref().is_some_and(|side| side.node == Node::Link);
            let awaits_review = self.rules.awaits_review(path, is_link);
            self.changes.push(Change { kind, path: path.to_vec(), from: None, old, new, verdict, awaits_review });
        } else {
            self.omitted += 1;
        }
    }

    fn names(&mut self, directory: BorrowedFd<'_>) -> Outcome<Vec<CString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(directory).during("read a directory")? {
            let entry = entry.during("read a directory")?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            self.seen += 1;
            if names.len() == MAX_NAMES || self.seen > MAX_ENTRIES {
                self.omitted += 1;
                break;
            }
            names.push(entry.file_name().to_owned());
        }
        names.sort();
        Ok(names)
    }
}

fn stricter(above: &Verdict, own: Verdict) -> Verdict {
    match (above, own) {
        (Verdict::Refused(_), _) => above.clone(),
        (_, Verdict::Refused(why)) => Verdict::Refused(why),
        (Verdict::Conflict(_), _) => above.clone(),
        (Verdict::Ready | Verdict::Held, own) => own,
    }
}

fn is_same(layer: BorrowedFd<'_>, host: BorrowedFd<'_>, name: &CStr, new: &Side, old: &Side) -> Outcome<bool> {
    let kind = match (new.node, old.node) {
        (Node::File, Node::File) => FileType::RegularFile,
        (Node::Link, Node::Link) => return Ok(new.target == old.target),
        _ => return Ok(false),
    };
    let alike = new.mode() == old.mode() && new.size() == old.size() && new.stat.st_size <= transfer::COMPARED;
    Ok(alike && transfer::same(layer, host, name, kind)?)
}
