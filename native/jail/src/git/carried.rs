//! What a sandbox made of the user's repositories, looked at before it is carried over.

use std::{
    collections::BTreeMap,
    ffi::CStr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use ak_git::{GitDirectory, Index, losses, removed_branch};
use rustix::fs::{AtFlags, FileType, OFlags, Stat, fstat, statat};

use super::work_trees::{INDEX, LARGEST_CONFIG, LARGEST_INDEX, WorkTree, file, in_memory, open};
use crate::{
    fault::{During, Outcome},
    view::survey::Survey,
};

/// The sandbox's commits lie among them, unreachable, until the user asks for one by its id.
const OBJECTS: &[u8] = b"objects";
const REBASE_STEPS: &[u8] = b"rebase-merge/git-rebase-todo";

/// Repositories that keep what they had, and why: by their directory, with its `/`. Also what else is to be told.
#[derive(Debug, Default)]
pub struct Closed(BTreeMap<Vec<u8>, String>, Option<String>);

impl Closed {
    /// Looks at what the sandbox made of the index of each repository, and at all that it changed in those with hidden
    /// files.
    pub fn of(
        layer: BorrowedFd<'_>,
        host: BorrowedFd<'_>,
        survey: &Survey,
        is_changed: &dyn Fn(&Stat) -> bool,
    ) -> Outcome<Self> {
        let mut closed = Self::default();
        for git in &survey.repositories {
            if let Some(why) = unreadable_index(layer, git)? {
                closed.0.insert(git.clone(), unchecked(git, why));
            } else if runs_commands(layer, git)? {
                let name = shown_as(git);
                let why = "a rebase is not finished, and its list has commands that git would run on the host";
                closed.0.insert(git.clone(), format!("{name}: {why}; {KEPT}"));
            }
        }
        for git in &survey.repositories {
            if let Some(branch) = removed_branch_of(layer, host, git)? {
                let name = shown_as(git);
                let why = format!("the sandbox removed {branch}, which is checked out");
                closed.0.entry(git.clone()).or_insert(format!("{name}: {why}; {KEPT}"));
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
                    closed.0.insert(tree.git, why);
                }
            }
        }
        if let Some(linked) = &survey.linked {
            if closed.0.is_empty()
                && let Some(why) = linked.refusal(layer, host, is_changed)?
            {
                closed.0.insert(Vec::new(), format!("{}: {why}; {KEPT}", shown_as(b"")));
            }
            // Its parts are of no use without each other.
            if !closed.0.is_empty() && !closed.0.contains_key(&b""[..]) {
                let why = closed.0.values().cloned().collect::<Vec<_>>().join("; ");
                closed.0 = BTreeMap::from([(Vec::new(), why)]);
            }
            closed.1 = linked.submodule_left_out(layer)?;
        }
        Ok(closed)
    }

    /// Whether a path is in a repository that stays as it is. What is deleted of its objects may be all that it has of a
    /// commit.
    pub fn surrounds(&self, path: &[u8]) -> bool {
        self.0.keys().any(|git| path.starts_with(git))
    }

    /// Whether a path belongs to a repository that stays as it is. New objects are no change to it.
    pub fn has(&self, path: &[u8]) -> bool {
        self.0.keys().any(|git| {
            let inside = path.strip_prefix(&git[..]);
            inside.is_some_and(|inside| inside != OBJECTS && !inside.starts_with(b"objects/"))
        })
    }

    pub fn reasons(&self) -> impl Iterator<Item = &str> {
        self.0.values().chain(&self.1).map(String::as_str)
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
        Ok(_) => None,
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

/// Whether an unfinished rebase would have the user's git run what the sandbox wrote.
fn runs_commands(layer: BorrowedFd<'_>, git: &[u8]) -> Outcome<bool> {
    let path = [git, REBASE_STEPS].concat();
    let flags = OFlags::PATH | OFlags::NOFOLLOW;
    let Some(list) = open(layer, &path, flags).during("look at a list of a rebase")? else { return Ok(false) };
    if FileType::from_raw_mode(fstat(&list).during("look at a list of a rebase")?.st_mode) != FileType::RegularFile {
        return Ok(false);
    }
    let Some(list) = file(layer, &path, LARGEST_CONFIG).during("read a list of a rebase")? else { return Ok(true) };
    let first = |line: &[u8]| line.trim_ascii().split(u8::is_ascii_whitespace).next().unwrap_or_default().to_vec();
    Ok(list.split(|byte| *byte == b'\n').any(|line| matches!(&first(line)[..], b"exec" | b"x")))
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

/// The index that takes the place of one of the host's, as a file in memory, where it must not be the sandbox's as it is:
/// without the marks of hidden files, and without all others that hide what is in the working tree and that the host's
/// index does not have.
pub fn cleared_index(layer: BorrowedFd<'_>, host: BorrowedFd<'_>, name: &CStr) -> Outcome<Option<OwnedFd>> {
    let read = |root| file(root, name.to_bytes(), LARGEST_INDEX).during("read a git index");
    let Some(new) = read(layer)? else { return Ok(None) };
    let old = read(host)?;
    let old = old.as_deref().and_then(|bytes| Index::parse(bytes).ok());
    // A repository with one that cannot be read is closed.
    let Ok(mut index) = Index::parse(&new) else { return Ok(None) };
    let changed =
        if is_sparse(host)? { index.take_marks_of_sparse(old.as_ref()) } else { index.take_marks_of(old.as_ref()) };
    if changed == 0 {
        return Ok(None);
    }
    in_memory(&index.to_bytes()).map(Some)
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
    let is_within = |git: &Vec<u8>| !git.is_empty() && path.starts_with(git);
    kind == FileType::Symlink && (survey.linked.is_some() || survey.repositories.iter().any(is_within))
}

/// Whether a path is the index of a repository, under whatever name that has.
pub fn is_index(path: &[u8], survey: &Survey) -> bool {
    path.strip_suffix(INDEX).is_some_and(|git| survey.repositories.iter().any(|repository| repository == git))
}
