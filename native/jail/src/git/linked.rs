//! A repository that lies outside of the project: that of a worktree, of a submodule, or around the project. It is shown
//! at its own path, and what a sandbox committed is carried into it. Nothing of it is changed but objects, references and
//! what this working tree has of its own there: no configuration, no hook, nothing of another working tree.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ak_git::{GitDirectory, HiddenPaths, Index, branch_of, moved_branch, removed_branch};
use rustix::fs::{AtFlags, Dir, FileType, OFlags, Stat, fstat, statat};
use serde::{Deserialize, Serialize};

use super::work_trees::{INDEX, LARGEST_CONFIG, LARGEST_INDEX, file, open};
use crate::{
    carry::DEEPEST,
    fault::{During, Fault, Outcome},
    spec::{RepositoryView, View},
    view::survey::Survey,
};

/// What all working trees share, and a sandbox may add to.
const SHARED: [&[u8]; 3] = [b"objects", b"refs", b"logs"];
const PACKED: &[u8] = b"packed-refs";
const OWN_DIRECTORIES: [&[u8]; 5] = [b"logs", b"refs", b"sequencer", b"rebase-merge", b"rebase-apply"];
const OWN_FILES: [&[u8]; 16] = [
    b"AUTO_MERGE",
    b"BISECT_LOG",
    b"BISECT_START",
    b"CHERRY_PICK_HEAD",
    b"COMMIT_EDITMSG",
    b"FETCH_HEAD",
    b"HEAD",
    b"MERGE_AUTOSTASH",
    b"MERGE_HEAD",
    b"MERGE_MODE",
    b"MERGE_MSG",
    b"ORIG_HEAD",
    b"REBASE_HEAD",
    b"REVERT_HEAD",
    b"SQUASH_MSG",
    INDEX,
];
const MODULES: &[u8] = b"modules";
const OBJECTS: &[u8] = b"objects";
const WORKTREES: &[u8] = b"worktrees";
const LOOK: &str = "look at a repository";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedRepository {
    /// What the working tree has of its own in the repository: empty, or ending in `/`.
    pub own: Vec<u8>,
    /// The directory of the working tree that is the project; empty where it is all of it.
    part: Vec<u8>,
    /// What of the working tree is hidden.
    hidden: Vec<Vec<u8>>,
}

/// Tells each repository that is shown beside the project what of the project is hidden.
pub fn tell(views: &[View], surveys: &mut [Survey]) {
    let Some(project) = views.iter().position(|view| view.at_source) else { return };
    let linked =
        |(at, view): (usize, &View)| Some((at, LinkedRepository::of(view.repository.as_ref()?, &surveys[project])));
    let found: Vec<(usize, LinkedRepository)> = views.iter().enumerate().filter_map(linked).collect();
    for (at, linked) in found {
        let repositories = &mut surveys[at].repositories;
        repositories.extend([Vec::new(), linked.own.clone()]);
        repositories.sort();
        repositories.dedup();
        surveys[at].linked = Some(linked);
    }
}

impl LinkedRepository {
    fn of(view: &RepositoryView, project: &Survey) -> Self {
        let as_directory = |path: &str| if path.is_empty() { Vec::new() } else { format!("{path}/").into_bytes() };
        let below = as_directory(&view.part);
        let hidden = project.hidden.iter().map(|hit| [&below[..], &hit.path].concat()).collect();
        Self { own: as_directory(&view.own), part: view.part.clone().into_bytes(), hidden }
    }

    pub fn hidden(&self) -> HiddenPaths {
        self.hidden.iter().cloned().collect()
    }

    /// Also all of the working tree that is outside of the project.
    pub fn not_shown(&self) -> HiddenPaths {
        if self.part.is_empty() { self.hidden() } else { self.hidden().outside_of(&self.part) }
    }

    /// Whether a sandbox may change a path of the repository, or something below it.
    pub fn may_change(&self, path: &[u8]) -> bool {
        let is_in = |path: &[u8], directories: &[&[u8]]| {
            let first = path.split(|byte| *byte == b'/').next().unwrap_or_default();
            directories.contains(&first)
        };
        // The log of another working tree's HEAD.
        let is_shared = (is_in(path, &SHARED) || path == PACKED) && (self.own.is_empty() || path != b"logs/HEAD");
        let is_own = path
            .strip_prefix(&self.own[..])
            .is_some_and(|inside| is_in(inside, &OWN_DIRECTORIES) || OWN_FILES.contains(&inside));
        is_shared || is_own || [path, b"/"].concat() == self.own || self.own.starts_with(&[path, b"/"].concat())
    }

    /// Why the repository cannot take over what a sandbox made of it, beside what it lost.
    pub fn refusal(
        &self,
        layer: BorrowedFd<'_>,
        host: BorrowedFd<'_>,
        is_changed: &dyn Fn(&Stat) -> bool,
    ) -> Outcome<Option<String>> {
        let name = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        if let Some(path) = self.conflict(layer, host, &[], is_changed)? {
            return Ok(Some(format!("{} changed on the host meanwhile", name(&path))));
        }
        if let Some(path) = self.changed_outside(layer, host)? {
            let path = name(&path);
            return Ok(Some(format!("{path} is outside of the project, and the sandbox has another version staged")));
        }
        let (own, sandboxs) = (self.open_own(host)?, self.open_own(layer)?);
        let before = GitDirectory { common: host, own: own.as_ref().map(AsFd::as_fd) };
        let after = GitDirectory { common: layer, own: sandboxs.as_ref().map(AsFd::as_fd) };
        if let Ok(Some(branch)) = removed_branch(before, after) {
            return Ok(Some(format!("the sandbox removed {branch}, which is checked out")));
        }
        let elsewhere = self.branches_elsewhere(host, before.own)?;
        Ok(match moved_branch(before, after, &elsewhere) {
            Ok(None) => None,
            Ok(Some(branch)) => Some(format!("the sandbox moved {branch}, which another working tree has checked out")),
            Err(malformed) => Some(malformed.to_string()),
        })
    }

    fn open_own(&self, root: BorrowedFd<'_>) -> Outcome<Option<OwnedFd>> {
        open(root, &self.own, OFlags::RDONLY | OFlags::DIRECTORY).during("open a repository")
    }

    /// A file that both sides changed. Objects are only added to, by both.
    fn conflict(
        &self,
        layer: BorrowedFd<'_>,
        host: BorrowedFd<'_>,
        path: &[u8],
        is_changed: &dyn Fn(&Stat) -> bool,
    ) -> Outcome<Option<Vec<u8>>> {
        let Some(directory) = open(layer, path, OFlags::RDONLY | OFlags::DIRECTORY).during(LOOK)? else {
            return Ok(None);
        };
        if path.iter().filter(|byte| **byte == b'/').count() > DEEPEST {
            return Ok(Some(path.to_vec()));
        }
        for entry in Dir::read_from(&directory).during(LOOK)? {
            let entry = entry.during(LOOK)?;
            let name = entry.file_name();
            let path = if path.is_empty() { name.to_bytes().to_vec() } else { [path, b"/", name.to_bytes()].concat() };
            if matches!(name.to_bytes(), b"." | b"..") || path == OBJECTS || !self.may_change(&path) {
                continue;
            }
            let stat = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).during(LOOK)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                if let Some(found) = self.conflict(layer, host, &path, is_changed)? {
                    return Ok(Some(found));
                }
            } else if let Some(there) = open(host, &path, OFlags::PATH | OFlags::NOFOLLOW).during(LOOK)?
                && is_changed(&fstat(&there).during(LOOK)?)
                && file(layer, &path, LARGEST_INDEX).during(LOOK)? != file(host, &path, LARGEST_INDEX).during(LOOK)?
            {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// A file that the sandbox staged anew, removed or merged outside of what it sees: the working tree there would look
    /// as if the user had undone it.
    fn changed_outside(&self, layer: BorrowedFd<'_>, host: BorrowedFd<'_>) -> Outcome<Option<Vec<u8>>> {
        let path = [&self.own, INDEX].concat();
        if self.part.is_empty() {
            return Ok(None);
        }
        let read = |root| file(root, &path, LARGEST_INDEX).during("read a git index");
        let Some(new) = read(layer)? else { return Ok(None) };
        let old = read(host)?.unwrap_or_default();
        // One that cannot be read has closed the repository already.
        let Ok(new) = Index::parse(&new) else { return Ok(None) };
        match Index::parse(&old) {
            Ok(old) => Ok(new.differs_outside(&old, &self.not_shown())),
            Err(_) => {
                Ok(new.entries().iter().find(|entry| self.not_shown().is_outside(&entry.path)).map(|e| e.path.to_vec()))
            }
        }
    }

    /// What other working trees have checked out: moved below them, their files would look like changes of the user's.
    fn branches_elsewhere(&self, host: BorrowedFd<'_>, own: Option<BorrowedFd<'_>>) -> Outcome<Vec<String>> {
        let branch = |git: BorrowedFd<'_>| branch_of(git).map_err(|e| Fault::new("internal", e.to_string()));
        let mut found = Vec::new();
        if !self.own.is_empty() && !is_bare(host)? {
            found.extend(branch(host)?);
        }
        if let Some(trees) = open(host, WORKTREES, OFlags::RDONLY | OFlags::DIRECTORY).during(LOOK)? {
            for entry in Dir::read_from(&trees).during(LOOK)? {
                let entry = entry.during(LOOK)?;
                let directory = [WORKTREES, b"/", entry.file_name().to_bytes(), b"/"].concat();
                if entry.file_name().to_bytes().starts_with(b".") || directory == self.own {
                    continue;
                }
                if let Some(tree) = open(host, &directory, OFlags::RDONLY | OFlags::DIRECTORY).during(LOOK)? {
                    found.extend(branch(tree.as_fd())?);
                }
            }
        }
        let current = own.map(branch).transpose()?.flatten();
        found.retain(|name| Some(name) != current.as_ref());
        Ok(found)
    }

    /// Commits in submodules are not carried over, and whoever made one has to know.
    pub fn submodule_left_out(&self, layer: BorrowedFd<'_>) -> Outcome<Option<String>> {
        for at in [MODULES.to_vec(), [&self.own, MODULES].concat()] {
            if let Some(path) = with_objects(layer, &at, 0)? {
                let path = String::from_utf8_lossy(&path).into_owned();
                return Ok(Some(format!(
                    "{path}: what the sandbox committed in this submodule stays in the sandbox; its files are in the \
                     working tree. Commit them on the host, or name the submodule with --dir"
                )));
            }
        }
        Ok(None)
    }
}

/// A directory with objects of its own, below another.
fn with_objects(layer: BorrowedFd<'_>, path: &[u8], depth: usize) -> Outcome<Option<Vec<u8>>> {
    let Some(directory) = open(layer, path, OFlags::RDONLY | OFlags::DIRECTORY).during(LOOK)? else { return Ok(None) };
    for entry in Dir::read_from(&directory).during(LOOK)? {
        let entry = entry.during(LOOK)?;
        let name = entry.file_name().to_bytes();
        if name == OBJECTS {
            return Ok(Some(path.to_vec()));
        }
        if entry.file_type() == FileType::Directory && depth < DEEPEST && !matches!(name, b"." | b"..") {
            let found = with_objects(layer, &[path, b"/", name].concat(), depth + 1)?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    Ok(None)
}

fn is_bare(git: BorrowedFd<'_>) -> Outcome<bool> {
    let text = file(git, b"config", LARGEST_CONFIG).during("read a git configuration")?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
    Ok(text.lines().any(|line| line.split_whitespace().collect::<String>() == "bare=true"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked(own: &str) -> LinkedRepository {
        LinkedRepository { own: own.into(), part: Vec::new(), hidden: Vec::new() }
    }

    #[test]
    fn of_a_repository_only_what_commits_need_can_change() {
        let tree = linked("worktrees/tree/");
        for path in [
            "objects",
            "objects/ab/cdef",
            "refs/heads/side",
            "packed-refs",
            "logs/refs/heads/side",
            "worktrees",
            "worktrees/tree",
            "worktrees/tree/HEAD",
            "worktrees/tree/index",
            "worktrees/tree/logs/HEAD",
            "worktrees/tree/rebase-merge/done",
        ] {
            assert!(tree.may_change(path.as_bytes()), "{path}");
        }
        for path in [
            "HEAD",
            "index",
            "config",
            "config.worktree",
            "hooks",
            "hooks/post-commit",
            "info/attributes",
            "logs/HEAD",
            "modules/lib/refs/heads/main",
            "worktrees/tree/gitdir",
            "worktrees/tree/commondir",
            "worktrees/tree/config.worktree",
            "worktrees/tree/hooks",
            "worktrees/tre",
            "worktrees/other/HEAD",
            "description",
        ] {
            assert!(!tree.may_change(path.as_bytes()), "{path}");
        }
        let whole = linked("");
        for (path, may) in
            [("HEAD", true), ("index", true), ("logs/HEAD", true), ("config", false), ("worktrees", false)]
        {
            assert_eq!(whole.may_change(path.as_bytes()), may, "{path}");
        }
    }
}
