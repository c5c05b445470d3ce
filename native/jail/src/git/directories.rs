//! Where in a repository a path lies. Not only in those that the host has: git also works in a `.git` that a sandbox made.

use super::{unfinished, work_trees::INDEX};
use crate::view::{spelling::is_same, survey::Survey};

const FOLDER: &[u8] = b".git";
const WORKTREES: &[u8] = b"worktrees";
/// Names below are the sandbox's to choose.
const NAMED: [&[u8]; 3] = [b"refs", b"logs", b"objects"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Not in a repository, or in a part of it that says nothing about the working tree.
    Other,
    Index,
    /// Of a working tree that the host does not have, or of an unfinished operation of a repository that it does not have.
    Unknown,
}

/// The innermost repository that a path lies in, by its directory (empty or with its `/`), and where in it.
pub fn inside<'a>(path: &'a [u8], known: &[Vec<u8>]) -> Option<(&'a [u8], &'a [u8])> {
    let is_around = |git: &&Vec<u8>| path.starts_with(git);
    let of_host = known.iter().filter(is_around).map(Vec::len).max();
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let is_git =
        |end: &usize| path[..*end].rsplit(|byte| *byte == b'/').next().is_some_and(|name| is_same(name, FOLDER));
    let by_name = ends.filter(is_git).map(|end| end + 1).max();
    of_host.max(by_name).map(|at| path.split_at(at))
}

/// `known` are the repositories of the host's, with what each working tree has of its own.
pub fn part(path: &[u8], known: &[Vec<u8>]) -> Part {
    let Some((git, inside)) = inside(path, known) else { return Part::Other };
    let names: Vec<&[u8]> = inside.split(|byte| *byte == b'/').collect();
    let is_known = known.iter().any(|known| known == git);
    if known.iter().any(|known| known.strip_suffix(b"/") == Some(path)) {
        return Part::Other;
    }
    // The first directory below one of a name that the sandbox chose may have any name as well.
    let is_free = |at: usize| names[..at].iter().any(|name| NAMED.contains(name));
    let of_operation = |(at, name): (usize, &&[u8])| {
        unfinished::DIRECTORIES.iter().any(|directory| is_same(name, directory))
            && !is_free(at)
            && !(is_known && at == 0)
    };
    if is_same(names[0], WORKTREES) && names.len() > 1 || names.iter().enumerate().any(of_operation) {
        Part::Unknown
    } else if names.last().is_some_and(|name| is_same(name, INDEX)) && !is_free(names.len() - 1) {
        Part::Index
    } else {
        Part::Other
    }
}

/// The repository that a directory with what a working tree has of its own belongs to; else the directory itself.
pub fn repository_of<'a>(own: &'a [u8], survey: &Survey) -> &'a [u8] {
    let without = own.strip_suffix(b"/").unwrap_or(own);
    let Some(at) = without.iter().rposition(|byte| *byte == b'/') else { return own };
    let Some(around) = without[..at].strip_suffix(WORKTREES) else { return own };
    if survey.repositories.iter().any(|git| git == around) { around } else { own }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_known_by_its_path() {
        let known: Vec<Vec<u8>> = [".git/", ".git/modules/lib/", ".git/worktrees/tree/", "a.bare/"]
            .iter()
            .map(|git| git.as_bytes().to_vec())
            .collect();
        for (path, expected) in [
            ("index", Part::Other),
            ("src/index", Part::Other),
            ("sequencer/todo", Part::Other),
            (".git/index", Part::Index),
            (".git/INDEX", Part::Index),
            (".git/modules/lib/index", Part::Index),
            (".git/modules/other/index", Part::Index),
            (".git/worktrees/tree/index", Part::Index),
            ("a.bare/index", Part::Index),
            ("new/.git/index", Part::Index),
            (".git/refs/heads/index", Part::Other),
            (".git/logs/refs/heads/sequencer/x", Part::Other),
            (".git/rebase-merge/git-rebase-todo", Part::Other),
            (".git/worktrees", Part::Other),
            (".git/worktrees/tree", Part::Other),
            (".git/worktrees/tree/rebase-merge", Part::Other),
            (".git/modules/lib/rebase-apply/0001", Part::Other),
            (".git/modules/other/rebase-apply/0001", Part::Unknown),
            (".git/worktrees/other", Part::Unknown),
            (".git/worktrees/other/HEAD", Part::Unknown),
            ("new/.git/rebase-merge", Part::Unknown),
            ("new/.GIT/Sequencer/todo", Part::Unknown),
            ("new/.git/worktrees/x/HEAD", Part::Unknown),
            ("new/.git/HEAD", Part::Other),
        ] {
            assert_eq!(part(path.as_bytes(), &known), expected, "{path}");
        }
    }

    #[test]
    fn a_working_tree_belongs_to_the_repository_around_it() {
        let survey = Survey { repositories: vec![b".git/".to_vec(), b"a/".to_vec()], ..Survey::default() };
        for (own, expected) in [
            (".git/", ".git/"),
            (".git/worktrees/tree/", ".git/"),
            (".git/modules/lib/", ".git/modules/lib/"),
            ("a/worktrees/x/", "a/"),
            ("b/worktrees/x/", "b/worktrees/x/"),
            ("", ""),
        ] {
            assert_eq!(repository_of(own.as_bytes(), &survey), expected.as_bytes(), "{own}");
        }
    }
}
