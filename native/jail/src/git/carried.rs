//! What a sandbox made of the user's repositories, looked at before it is carried over.

use std::{
    collections::BTreeMap,
    ffi::CStr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use ak_git::{GitDirectory, Index, losses, removed_branch};
use rustix::fs::{AtFlags, FileType, OFlags, Stat, fstat, statat};

use super::{
    directories::{self, Part},
    unfinished,
    work_trees::{INDEX, LARGEST_CONFIG, LARGEST_INDEX, WorkTree, file, in_memory, open},
};
use crate::{
    fault::{During, Outcome},
    view::{spelling::is_same, survey::Survey},
};

/// The sandbox's commits lie among them, unreachable, until the user asks for one by its id.
const OBJECTS: &[u8] = b"objects";
const PACKED: &[u8] = b"packed-refs";
const LARGEST_LIST: u64 = 256 << 20;

/// What of the user's repositories keeps what it had.
#[derive(Debug, Default)]
pub struct Closed {
    /// Whole repositories by their directory, with its `/`, and why.
    why: BTreeMap<Vec<u8>, String>,
    /// A submodule whose commits stay in the sandbox.
    left_out: Option<String>,
    /// What working trees that are not in the view have of their own.
    elsewhere: Vec<Vec<u8>>,
    /// All directories of the host's that were looked at.
    known: Vec<Vec<u8>>,
}

impl Closed {
    /// Looks at what the sandbox made of the index of each repository, and at all that it changed in those with hidden
    /// files.
    pub fn of(
        layer: BorrowedFd<'_>,
        host: BorrowedFd<'_>,
        survey: &Survey,
        is_changed: &dyn Fn(&Stat) -> bool,
    ) -> Outcome<Self> {
        let mut closed = Self { known: survey.repositories.clone(), ..Self::default() };
        for git in &survey.repositories {
            // A working tree and the repository that it belongs to are of no use without each other.
            let repository = directories::repository_of(git, survey);
            if let Some(why) = unreadable_index(layer, git)? {
                closed.why.insert(repository.to_vec(), unchecked(git, why));
            } else if let Some(why) = unfinished::refusal(layer, host, git)?.or(replacement(layer, host, git)?) {
                closed.why.insert(repository.to_vec(), format!("{}: {why}; {KEPT}", shown_as(git)));
            }
            if repository != &git[..] && survey.linked.is_none() && WorkTree::of_worktree(host, git).is_none() {
                closed.elsewhere.push(git.clone());
            }
        }
        for git in &survey.repositories {
            if let Some(branch) = removed_branch_of(layer, host, git)? {
                let name = shown_as(git);
                let why = format!("the sandbox removed {branch}, which is checked out");
                closed.why.entry(git.clone()).or_insert(format!("{name}: {why}; {KEPT}"));
            }
        }
        for tree in WorkTree::of(host, survey) {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            let open = |root, path: &[u8]| open(root, path, flags).during("open a repository");
            if let (Some(ours), Some(theirs)) = (open(host, &tree.git)?, open(layer, &tree.git)?) {
                let (own, owns) = (open(host, &tree.own)?, open(layer, &tree.own)?);
                let ours = GitDirectory { common: ours.as_fd(), own: own.as_ref().map(AsFd::as_fd) };
                let theirs = GitDirectory { common: theirs.as_fd(), own: owns.as_ref().map(AsFd::as_fd) };
                if let Some(why) = refusal(ours, theirs, &tree) {
                    closed.why.insert(tree.git, why);
                }
            }
        }
        if let Some(linked) = &survey.linked {
            if closed.why.is_empty()
                && let Some(why) = linked.refusal(layer, host, is_changed)?
            {
                closed.why.insert(Vec::new(), format!("{}: {why}; {KEPT}", shown_as(b"")));
            }
            // Its parts are of no use without each other.
            if !closed.why.is_empty() && !closed.why.contains_key(&b""[..]) {
                let why = closed.why.values().cloned().collect::<Vec<_>>().join("; ");
                closed.why = BTreeMap::from([(Vec::new(), why)]);
            }
            closed.left_out = linked.submodule_left_out(layer)?;
        }
        Ok(closed)
    }

    /// Whether a path is in a repository that stays as it is. What is deleted of its objects may be all that it has of a
    /// commit.
    pub fn surrounds(&self, path: &[u8]) -> bool {
        self.why.keys().chain(&self.elsewhere).any(|git| path.starts_with(git))
    }

    /// Whether a path belongs to a repository that stays as it is, or to a part of one that no sandbox may make. New
    /// objects are no change to it.
    pub fn has(&self, path: &[u8]) -> bool {
        let is_closed = self.why.keys().any(|git| {
            let inside = path.strip_prefix(&git[..]);
            inside.is_some_and(|inside| inside != OBJECTS && !inside.starts_with(b"objects/"))
        });
        is_closed
            || self.elsewhere.iter().any(|git| path.starts_with(git))
            || directories::part(path, &self.known) == Part::Unknown
    }

    pub fn reasons(&self) -> impl Iterator<Item = &str> {
        self.why.values().chain(&self.left_out).map(String::as_str)
    }
}

/// Why it cannot be told what an index of the sandbox hides from whoever asks git what has changed.
fn unreadable_index(layer: BorrowedFd<'_>, git: &[u8]) -> Outcome<Option<String>> {
    let path = [git, INDEX].concat();
    let flags = OFlags::PATH | OFlags::NOFOLLOW;
    let Some(index) = open(layer, &path, flags).during("look at a git index")? else { return Ok(None) };
    let stat = fstat(&index).during("look at a git index")?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let Some(bytes) = file(layer, &path, LARGEST_INDEX).during("read a git index")? else {
        return Ok(Some("its index is too large".to_owned()));
    };
    Ok(match Index::parse(&bytes) {
        Ok(index) if index.is_split() => Some("its index is split (core.splitIndex)".to_owned()),
        Ok(index) => {
            misplaced(&index).map(|path| format!("its index has the path {path}, which git writes where it must not"))
        }
        Err(malformed) => Some(malformed.to_string()),
    })
}

const KEPT: &str = "the repository stays as it was, and changed files are in the working tree";

/// Where the sandbox changed any references at all.
fn removed_branch_of(layer: BorrowedFd<'_>, host: BorrowedFd<'_>, git: &[u8]) -> Outcome<Option<String>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let open = |root| open(root, git, flags).during("open a repository");
    let Some(theirs) = open(layer)? else { return Ok(None) };
    let has = |name: &str| statat(&theirs, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
    let Some(ours) = open(host)?.filter(|_| has("refs") || has("packed-refs")) else { return Ok(None) };
    let (ours, theirs) = (GitDirectory::whole(ours.as_fd()), GitDirectory::whole(theirs.as_fd()));
    // What cannot be read is told of where it is looked into.
    Ok(removed_branch(ours, theirs).unwrap_or_default())
}

/// A repository that is not in the project has no name in it.
fn shown_as(git: &[u8]) -> String {
    if git.is_empty() { "the repository".to_owned() } else { String::from_utf8_lossy(git).into_owned() }
}

/// An entry of an index that git would check out into a repository, or out of the working tree. It checks names when it
/// adds them and not when it reads an index.
fn misplaced(index: &Index<'_>) -> Option<String> {
    let is_odd = |name: &[u8]| {
        matches!(name, b"" | b"." | b"..") || [&b".git"[..], b"git~1"].iter().any(|git| is_same(name, git))
    };
    let found = index.entries().iter().find(|entry| entry.path.split(|byte| *byte == b'/').any(is_odd));
    found.map(|entry| String::from_utf8_lossy(&entry.path).into_owned())
}

/// A reference by which git would show one commit in the place of another.
fn replacement(layer: BorrowedFd<'_>, host: BorrowedFd<'_>, git: &[u8]) -> Outcome<Option<String>> {
    let path = [git, PACKED].concat();
    let read = |root| file(root, &path, LARGEST_LIST).during("read the references of a repository");
    let Some(list) = read(layer)? else { return Ok(None) };
    let replaces = |list: &[u8]| -> Vec<Vec<u8>> {
        let lines = list.split(|byte| *byte == b'\n').filter(|line| contains(line, b" refs/replace/"));
        lines.map(<[u8]>::to_vec).collect()
    };
    let (new, old) = (replaces(&list), read(host)?.map(|list| replaces(&list)).unwrap_or_default());
    Ok(new
        .iter()
        .any(|line| !old.contains(line))
        .then(|| "the sandbox made a reference that replaces a commit (refs/replace), which hides changes".to_owned()))
}

fn contains(line: &[u8], part: &[u8]) -> bool {
    line.windows(part.len()).any(|at| at == part)
}

fn unchecked(git: &[u8], why: String) -> String {
    let git = shown_as(git);
    format!("{git}: what the sandbox committed could not be checked: {why}; {KEPT}")
}

fn refusal(host: GitDirectory<'_>, sandbox: GitDirectory<'_>, tree: &WorkTree) -> Option<String> {
    let git = shown_as(&tree.git);
    match losses(host, sandbox, &tree.hidden) {
        Ok(found) if found.is_empty() => None,
        Ok(found) => {
            let told: Vec<String> = found.iter().take(3).map(ToString::to_string).collect();
            let more = if found.len() > told.len() { " and more" } else { "" };
            Some(format!(
                "{git}: {}{more}, which was hidden from the sandbox; {KEPT}. Commit them on the host, or let the sandbox \
                 see the file and run it again",
                told.join(", ")
            ))
        }
        Err(malformed) => Some(unchecked(&tree.git, malformed.to_string())),
    }
}

/// What is carried over of an index.
#[derive(Debug)]
pub enum Carried {
    AsItIs,
    /// This file in memory.
    Instead(OwnedFd),
    Nothing,
}

/// The index that takes the place of one of the host's, where it must not be the sandbox's as it is: without the marks of
/// hidden files, and without all else that hides what is in the working tree and that the host's index does not have.
pub fn cleared_index(layer: BorrowedFd<'_>, host: BorrowedFd<'_>, name: &CStr) -> Outcome<Carried> {
    let read = |root| file(root, name.to_bytes(), LARGEST_INDEX).during("read a git index");
    let Some(new) = read(layer)? else { return Ok(Carried::Nothing) };
    let old = read(host)?;
    let old = old.as_deref().and_then(|bytes| Index::parse(bytes).ok());
    let Ok(mut index) = Index::parse(&new) else { return Ok(Carried::Nothing) };
    if index.is_split() || misplaced(&index).is_some() {
        return Ok(Carried::Nothing);
    }
    let marks =
        if is_sparse(host)? { index.take_marks_of_sparse(old.as_ref()) } else { index.take_marks_of(old.as_ref()) };
    if marks + index.forget_states(old.as_ref()) == 0 && !index.has_caches() {
        return Ok(Carried::AsItIs);
    }
    in_memory(&index.to_bytes()).map(Carried::Instead)
}

/// By the host's own settings of a repository, which no sandbox can change.
fn is_sparse(git: BorrowedFd<'_>) -> Outcome<bool> {
    for name in [&b"config"[..], b"config.worktree"] {
        let text = file(git, name, LARGEST_CONFIG).during("read a git configuration")?.unwrap_or_default();
        let text: Vec<u8> = text.to_ascii_lowercase().into_iter().filter(|byte| !b" \t".contains(byte)).collect();
        if text.split(|&byte| byte == b'\n').any(|line| line == b"sparsecheckout=true") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a file is one that git has while it is at work, and takes away or renames in the end. A git that was killed with
/// its sandbox leaves it, and one on the host would wait for it for ever.
pub fn is_unfinished(path: &[u8], survey: &Survey) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    let is_temporary = |inside: &[u8]| {
        inside.starts_with(b"objects/") && (name.starts_with(b"tmp_") || name.starts_with(b".tmp-"))
            || name.ends_with(b".lock")
            || name == b"gc.pid"
    };
    survey
        .repositories
        .iter()
        .filter(|git| !git.is_empty() || survey.linked.is_some())
        .filter_map(|git| path.strip_prefix(&git[..]))
        .any(is_temporary)
}

/// Whether a symlink would lie in a repository, where git would write through it: a log, say, to any file of the user's.
pub fn is_link_of_git(path: &[u8], kind: FileType, survey: &Survey) -> bool {
    let is_within = || directories::inside(path, &survey.repositories).is_some_and(|(git, _)| !git.is_empty());
    kind == FileType::Symlink && (survey.linked.is_some() || is_within())
}

/// Whether a path is the index of a repository, under whatever name that has.
pub fn is_index(path: &[u8], survey: &Survey) -> bool {
    directories::part(path, &survey.repositories) == Part::Index
}
