//! Whether a sandbox made commits, or an index, that delete or empty files which were hidden from it. It saw these as
//! missing, so that an ordinary `git add -A` would have recorded that.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    os::fd::BorrowedFd,
};

use crate::{
    commit::Commit,
    genuine::look_at,
    hidden::HiddenPaths,
    history::new_commits,
    id::Id,
    index::Index,
    loose::{Kind, Object},
    malformed::{Malformed, Result},
    read,
    references::{GitDirectory, Overlaid, References, branch_of},
    store::Store,
    tree::{Fate, lost},
};

const LARGEST_INDEX: u64 = 1 << 30;
const LONGEST_LOG: u64 = 16 << 20;
/// The most losses that are listed for a repository; the rest is alike.
const MOST_TOLD: usize = 20;
/// References of the host whose objects are looked at where the sandbox has packed some.
const MOST_LOOKED_AT: usize = 1000;
const STASH_LOG: &str = "logs/refs/stash";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// None: it is only staged.
    pub commit: Option<Id>,
    pub path: Vec<u8>,
    pub fate: Fate,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fate = match self.fate {
            Fate::Deleted => "deletes",
            Fate::Emptied => "empties",
        };
        let path = String::from_utf8_lossy(&self.path);
        match &self.commit {
            Some(id) => write!(f, "commit {} {fate} {path}", &id.to_string()[..12]),
            None => write!(f, "the index {fate} {path}"),
        }
    }
}

/// The sandbox's directory has only what is new or changed.
pub fn losses(host: GitDirectory<'_>, sandbox: GitDirectory<'_>, hidden: &HiddenPaths) -> Result<Vec<Loss>> {
    if hidden.is_empty() {
        return Ok(Vec::new());
    }
    if !read::names(sandbox.common, "reftable", usize::MAX)?.is_empty() {
        return Err(Malformed::new("its references are in a format that cannot be looked into (reftable)"));
    }
    let (on_host, in_sandbox) = (References::read(host)?, References::read(sandbox)?);
    let references = Overlaid { host: &on_host, sandbox: &in_sandbox };
    let before = Overlaid { host: &References::default(), sandbox: &on_host };
    let mut search = Search {
        store: Store::open(host.common, sandbox.common)?,
        hidden,
        shallow: shallow(host.common)?.union(&shallow(sandbox.common)?).copied().collect(),
        found: Vec::new(),
    };
    let mut moved: Vec<(Id, Option<Id>)> = Vec::new();
    for name in in_sandbox.names() {
        moved.extend(references.get(name).map(|tip| (tip, before.get(name))));
    }
    if references.is_detached() {
        moved.extend(references.head_commit().map(|tip| (tip, before.head_commit())));
    }
    moved.extend(stashes(sandbox.common)?.into_iter().map(|tip| (tip, None)));
    moved.retain(|(tip, before)| Some(*tip) != *before);
    // Mostly the checked out branch has all that the new commits build on; where it has not, all that the host has is
    // looked at.
    let near: Vec<Id> =
        before.head_commit().into_iter().chain(moved.iter().filter_map(|(_, before)| *before)).collect();
    if !search.all(&moved, &near)? {
        search.found.clear();
        let far: Vec<Id> = on_host
            .names()
            .into_iter()
            .filter_map(|name| before.get(name))
            .chain(stashes(host.common)?)
            .chain(near)
            .collect();
        search.all(&moved, &far)?;
    }
    if let (Some(head), Some(host), Some(sandbox)) = (references.head_commit(), host.own, sandbox.own) {
        search.index(host, sandbox, head)?;
    }
    if search.store.has_new_packs()? {
        let tips = on_host.names().into_iter().filter_map(|name| before.get(name)).take(MOST_LOOKED_AT);
        for tip in before.head_commit().into_iter().chain(tips).chain(moved.iter().map(|(tip, _)| *tip)) {
            if let Some(commit) = search.peel(tip)? {
                look_at(&search.store, commit, hidden)?;
            }
        }
    }
    search.found.truncate(MOST_TOLD);
    Ok(search.found)
}

/// The branch that the host has checked out, if a sandbox has removed it and its commits are not those of another one that
/// is checked out now.
pub fn removed_branch(host: GitDirectory<'_>, sandbox: GitDirectory<'_>) -> Result<Option<String>> {
    let Some(branch) = host.own.map(branch_of).transpose()?.flatten() else { return Ok(None) };
    let (on_host, in_sandbox) = (References::read(host)?, References::read(sandbox)?);
    let before = Overlaid { host: &References::default(), sandbox: &on_host };
    let after = Overlaid { host: &on_host, sandbox: &in_sandbox };
    let Some(tip) = before.get(&branch).filter(|_| after.get(&branch).is_none()) else { return Ok(None) };
    let Some(head) = after.head_commit() else { return Ok(Some(branch)) };
    let store = Store::open(host.common, sandbox.common)?;
    let left = new_commits(&store, &[tip], &[head], &shallow(host.common)?)?;
    Ok((!left.is_empty()).then_some(branch))
}

/// A branch of these that a sandbox has moved or removed.
pub fn moved_branch(host: GitDirectory<'_>, sandbox: GitDirectory<'_>, branches: &[String]) -> Result<Option<String>> {
    let (on_host, in_sandbox) = (References::read(host)?, References::read(sandbox)?);
    let references = Overlaid { host: &on_host, sandbox: &in_sandbox };
    let before = Overlaid { host: &References::default(), sandbox: &on_host };
    Ok(branches.iter().find(|name| references.get(name) != before.get(name)).cloned())
}

struct Search<'a> {
    store: Store,
    hidden: &'a HiddenPaths,
    /// Commits whose parents were not fetched.
    shallow: HashSet<Id>,
    found: Vec<Loss>,
}

/// New commits with no commit of the host's among those that they go back to.
fn rootless(new: &HashMap<Id, Commit>) -> HashSet<Id> {
    let mut rooted: HashSet<Id> = HashSet::new();
    let mut children: HashMap<Id, Vec<Id>> = HashMap::new();
    let mut queue: Vec<Id> = Vec::new();
    for (id, commit) in new {
        for parent in &commit.parents {
            if new.contains_key(parent) {
                children.entry(*parent).or_default().push(*id);
            } else {
                queue.push(*id);
            }
        }
    }
    while let Some(id) = queue.pop() {
        if rooted.insert(id) {
            queue.extend(children.get(&id).into_iter().flatten());
        }
    }
    new.keys().filter(|id| !rooted.contains(id)).copied().collect()
}

impl Search<'_> {
    /// Looks at each commit that leads to what was moved, and is no part of the history of `known`. True if nothing is
    /// lost in them.
    fn all(&mut self, moved: &[(Id, Option<Id>)], known: &[Id]) -> Result<bool> {
        let peel =
            |ids: Vec<Id>| ids.into_iter().filter_map(|id| self.peel(id).transpose()).collect::<Result<Vec<_>>>();
        let tips = peel(moved.iter().map(|(tip, _)| *tip).collect())?;
        let known = peel(known.to_vec())?;
        let new = new_commits(&self.store, &tips, &known, &self.shallow)?;
        let rootless = rootless(&new);
        for (id, commit) in &new {
            // History of the sandbox's own, compared with nothing, excuses no deletion.
            let has_known = commit.parents.iter().any(|parent| !rootless.contains(parent));
            let parents = commit.parents.iter().filter(|parent| !has_known || !rootless.contains(parent));
            self.commit(*id, commit.tree, &parents.copied().collect::<Vec<_>>())?;
        }
        for (tip, before) in moved {
            let (Some(tip), Some(before)) = (self.peel(*tip)?, before.map(|id| self.peel(id)).transpose()?.flatten())
            else {
                continue;
            };
            // History that was written anew has no parent to be compared with.
            if new.contains_key(&tip)
                && !new.values().any(|commit| commit.parents.contains(&before))
                && let (Some(old), Some(now)) = (self.store.commit(before)?, self.store.commit(tip)?)
            {
                let lost = lost(&self.store, old.tree, Some(now.tree), self.hidden)?;
                self.note(Some(tip), lost);
            }
        }
        Ok(self.found.is_empty())
    }

    /// A merge may take over what one of its parents has deleted.
    fn commit(&mut self, id: Id, tree: Id, parents: &[Id]) -> Result<()> {
        let mut in_all: Option<HashMap<Vec<u8>, Fate>> = None;
        for parent in parents {
            let Some(parent) = self.store.commit(*parent)? else {
                return Err(Malformed::new(format!("the commit {parent} is missing")));
            };
            let mut lost: HashMap<_, _> =
                lost(&self.store, parent.tree, Some(tree), self.hidden)?.into_iter().collect();
            if let Some(others) = &in_all {
                lost.retain(|path, _| others.contains_key(path));
            }
            in_all = Some(lost);
        }
        self.note(Some(id), in_all.unwrap_or_default());
        Ok(())
    }

    /// Finds staged hidden files that the sandbox dropped, by comparing its index with the commit that is checked out.
    fn index(&mut self, host: BorrowedFd<'_>, sandbox: BorrowedFd<'_>, head: Id) -> Result<()> {
        let is_deleted = || {
            rustix::fs::statat(sandbox, "index", rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok()
                && read::open(host, "index", rustix::fs::OFlags::PATH).is_ok_and(|index| index.is_some())
        };
        let bytes = match read::file(sandbox, "index", LARGEST_INDEX)? {
            Some(bytes) => Some(bytes),
            None if is_deleted() => None,
            None => return Ok(()),
        };
        let index = bytes.as_deref().map(Index::parse).transpose()?;
        if index.as_ref().is_some_and(Index::is_split) {
            return Err(Malformed::new("its index is split, and cannot be looked into (core.splitIndex)"));
        }
        let Some(commit) = self.store.commit(head)? else { return Ok(()) };
        let entries = index
            .iter()
            .flat_map(|index| index.entries())
            .filter(|entry| !entry.is_gitlink() && self.hidden.contains(&entry.path));
        let staged: HashMap<&[u8], bool> =
            entries.map(|entry| (&*entry.path, entry.id().is_some_and(|id| id.is_empty_blob()))).collect();
        let mut lost_now = Vec::new();
        for (path, _) in lost(&self.store, commit.tree, None, self.hidden)? {
            match staged.get(path.as_slice()) {
                None => lost_now.push((path, Fate::Deleted)),
                Some(true) if !self.is_empty_in(commit.tree, &path)? => lost_now.push((path, Fate::Emptied)),
                Some(_) => {}
            }
        }
        self.note(None, lost_now);
        Ok(())
    }

    fn is_empty_in(&self, tree: Id, path: &[u8]) -> Result<bool> {
        let mut items = self.store.tree(tree)?;
        let mut names = path.split(|byte| *byte == b'/').peekable();
        while let Some(name) = names.next() {
            match items.get(name) {
                Some(item) if names.peek().is_none() => return Ok(item.id.is_empty_blob()),
                Some(item) if item.is_tree => items = self.store.tree(item.id)?,
                _ => return Ok(false),
            }
        }
        Ok(false)
    }

    fn note(&mut self, commit: Option<Id>, lost: impl IntoIterator<Item = (Vec<u8>, Fate)>) {
        let mut lost: Vec<_> = lost.into_iter().map(|(path, fate)| Loss { commit, path, fate }).collect();
        lost.retain(|loss| !self.found.contains(loss));
        lost.sort_by(|a, b| a.path.cmp(&b.path));
        self.found.extend(lost);
    }

    /// The commit that a tag is about; none where it is about something else.
    fn peel(&self, id: Id) -> Result<Option<Id>> {
        let mut id = id;
        for _ in 0..10 {
            match self.store.object(id)? {
                Some(Object { kind: Kind::Commit, .. }) => return Ok(Some(id)),
                Some(Object { kind: Kind::Tag, data }) => {
                    let first = data.split(|byte| *byte == b'\n').next().unwrap_or_default();
                    id = first
                        .strip_prefix(b"object ")
                        .and_then(Id::parse)
                        .ok_or_else(|| Malformed::new("a tag is malformed"))?;
                }
                Some(_) => return Ok(None),
                None => return Err(Malformed::new(format!("the object {id} is missing"))),
            }
        }
        Err(Malformed::new("a tag is of too many other tags"))
    }
}

fn shallow(git: BorrowedFd<'_>) -> Result<HashSet<Id>> {
    let list = read::file(git, "shallow", LONGEST_LOG)?.unwrap_or_default();
    Ok(list.split(|byte| *byte == b'\n').filter_map(Id::parse).collect())
}

/// Those that only a log names: all but the last.
fn stashes(git: BorrowedFd<'_>) -> Result<Vec<Id>> {
    let log = read::file(git, STASH_LOG, LONGEST_LOG)?.unwrap_or_default();
    let ids = log.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(1));
    Ok(ids.filter_map(Id::parse).filter(|id| !id.is_null()).collect())
}
