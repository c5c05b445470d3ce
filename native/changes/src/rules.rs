//! Rules about paths that must not be changed, or not even read: hidden and protected paths, names that would mislead a
//! reader, symlinks that lead out of the project.

use std::{collections::HashSet, ffi::CStr, os::fd::BorrowedFd};

use ak_jail::{
    carry::{DEEPEST, has_control_characters, transfer::is_temporary},
    fault::Outcome,
    git::{
        carried::{Carried, Closed, cleared_index, is_index, is_link_of_git, is_unfinished},
        objects,
    },
    keep::project::Project,
    view::{
        matcher::{Match, Matcher},
        repository::{Deed, Place},
        rules::Rules as Surveyed,
        survey::{Hit, Survey},
    },
};

use rustix::fs::{FileType, Stat};

use crate::change::{Node, ancestors};

/// Longer paths cannot be named in one call.
const LONGEST: usize = 4000;
const CLOSED: &str =
    "its repository stays as it was: the sandbox removed what was hidden from it, or left what git would run or follow";

pub struct Rules {
    hide: Matcher,
    protect: Matcher,
    review: Matcher,
    /// The host's files that are hidden today: by name, by content, or as a hard link of a hidden file.
    hidden: HashSet<Vec<u8>>,
    protected: HashSet<Vec<u8>>,
    survey: Survey,
    /// Repositories in which the sandbox has deleted what was hidden from it.
    closed: Closed,
}

impl Rules {
    pub fn of(project: &Project, directory: BorrowedFd<'_>, layer: Option<BorrowedFd<'_>>) -> Outcome<Self> {
        let (hide, protect) = (Matcher::hiding(&project.hide), Matcher::of(&project.protect));
        let survey = Survey::of(directory, directory, &Surveyed::new(&hide, &protect))?;
        let closed =
            layer.map(|layer| Closed::of(layer, directory, &survey, &|_| false)).transpose()?.unwrap_or_default();
        let paths = |hits: &[Hit]| -> HashSet<_> { hits.iter().map(|hit| hit.path.clone()).collect() };
        let (mut hidden, protected) = (paths(&survey.hidden), paths(&survey.protected));
        hidden.extend(survey.cleaned.iter().cloned());
        let review = Matcher::of(&project.review);
        Ok(Self { hide, protect, review, hidden, protected, survey, closed })
    }

    /// Returns the git index to apply in place of the one that the sandbox wrote.
    pub fn cleared_index(
        &self,
        path: &[u8],
        name: &CStr,
        layer: BorrowedFd<'_>,
        host: BorrowedFd<'_>,
    ) -> Outcome<Carried> {
        if is_index(path, &self.survey) { cleared_index(layer, host, name) } else { Ok(Carried::AsItIs) }
    }

    /// Whether the host goes on with what it has there, and nothing is missed.
    pub fn keeps_object(&self, path: &[u8], new: &Stat, is_there: impl FnOnce() -> bool) -> bool {
        if FileType::from_raw_mode(new.st_mode) == FileType::Directory {
            return false;
        }
        match objects::place(path, &self.survey) {
            objects::Place::Elsewhere => false,
            objects::Place::Object => is_there(),
            objects::Place::Beside => true,
        }
    }

    /// Whether the host's file of that name is a secret, so that nothing about it may be disclosed.
    pub fn is_hidden(&self, path: &[u8]) -> bool {
        let (directory, name) = split(path);
        self.hidden.contains(path) || matches!(self.hide.matches(directory, name), Match::Yes) || is_temporary(name)
    }

    /// A directory of the project that both may have, in `outer`.
    pub fn place(
        &self,
        path: &[u8],
        outer: Place,
        host: Option<BorrowedFd<'_>>,
        layer: Option<BorrowedFd<'_>>,
    ) -> Place {
        Place::of(&self.protect, path, outer, host, layer)
    }

    /// Why what the sandbox did to a path is never applied, because of what git would make of the directory it is in.
    pub fn refusal_in(
        &self,
        place: Place,
        (path, name): (&[u8], &CStr),
        node: Node,
        deed: &Deed<'_>,
    ) -> Option<&'static str> {
        if place.refuses(name, deed) {
            return Some(match deed {
                Deed::Delete => "without it git would look for another repository",
                Deed::Put(..) => "git would take its directory for a repository, or no longer for the one it is",
            });
        }
        if matches!(deed, Deed::Delete) && self.closed.surrounds(path) {
            return Some(CLOSED);
        }
        place.as_in_git(path).and_then(|path| self.refusal(&path, node))
    }

    /// Why a path is never applied, whatever is there.
    pub fn refusal(&self, path: &[u8], node: Node) -> Option<&'static str> {
        let (directory, name) = split(path);
        let leads_in = match node {
            Node::File => self.protect.leads_in(directory, name, false),
            Node::Link => self.protect.leads_in(directory, name, true),
            _ => false,
        };
        if leads_in || self.is_protected(path) {
            Some("protected")
        } else if node == Node::Link && is_link_of_git(path, FileType::Symlink, &self.survey) {
            Some("git would write through the link")
        } else if node == Node::File && is_unfinished(path, &self.survey) {
            Some("git has it only while it is at work")
        } else if self.closed.has(path) {
            Some(CLOSED)
        } else if has_control_characters(name) {
            Some("its name has control characters")
        } else if is_too_deep(path) {
            Some("too many directories deep")
        } else if node == Node::Other {
            Some("not a file, directory or link")
        } else {
            None
        }
    }

    /// Whether a path, itself or through a directory above it, is applied only after a yes to it.
    pub fn awaits_review(&self, path: &[u8], is_link: bool) -> bool {
        let matches = |path: &[u8]| {
            let (directory, name) = split(path);
            matches!(self.review.matches(directory, name), Match::Yes)
        };
        let (directory, name) = split(path);
        ancestors(path).chain([path]).any(matches) || is_link && self.review.leads_in(directory, name, true)
    }

    fn is_protected(&self, path: &[u8]) -> bool {
        let (directory, name) = split(path);
        self.protected.contains(path) || matches!(self.protect.matches(directory, name), Match::Yes)
    }

    /// Why a link is not applied. It must lead to something in the project that a sandbox may see and change: up first,
    /// then down by name, since a name followed by `..` could itself be a link to anywhere.
    pub fn link_refusal(&self, path: &[u8], target: &[u8]) -> Option<&'static str> {
        if target.is_empty() || target[0] == b'/' {
            return Some("an absolute link means something else on the host");
        }
        let mut at: Vec<&[u8]> = path.split(|&b| b == b'/').collect();
        at.pop();
        let mut goes_down = false;
        for part in target.split(|&b| b == b'/').filter(|part| !part.is_empty() && *part != b".") {
            match (part, goes_down) {
                (b"..", false) if at.pop().is_some() => {}
                (b"..", _) => return Some("the link leads out of the project"),
                _ => {
                    goes_down = true;
                    at.push(part);
                }
            }
        }
        let leads_to = at.join(&b'/');
        let closed = ancestors(&leads_to)
            .chain([leads_to.as_slice()])
            .any(|path| !path.is_empty() && (self.is_hidden(path) || self.is_protected(path)));
        closed.then_some("the link leads to a hidden or protected file")
    }
}

/// A sandbox can nest without end.
pub fn is_too_deep(path: &[u8]) -> bool {
    path.len() > LONGEST || path.iter().filter(|&&b| b == b'/').count() > DEEPEST
}

/// The directory with its `/`, and the name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    path.split_at(path.iter().rposition(|&b| b == b'/').map_or(0, |at| at + 1))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn rules() -> Rules {
        Rules {
            hide: Matcher::of(&["**/.env*".to_owned()]),
            protect: Matcher::of(&["**/.git/hooks".to_owned()]),
            review: Matcher::of(&["**/CLAUDE.md".to_owned(), "**/.github/workflows".to_owned()]),
            hidden: HashSet::from([b"by-content".to_vec()]),
            protected: HashSet::new(),
            survey: Survey::default(),
            closed: Closed::default(),
        }
    }

    #[test]
    fn links_stay_in_the_project_and_out_of_what_is_closed() {
        let refuses = |path: &str, target: &str| rules().link_refusal(path.as_bytes(), target.as_bytes()).is_some();
        for (path, target) in [("a", "b"), ("a", "./b/c"), ("d/e/a", "../../b"), ("d/a", ".."), ("d/a", "../d/x")] {
            assert!(!refuses(path, target), "{path} -> {target}");
        }
        for (path, target) in [
            ("a", "/etc/passwd"),
            ("a", ".."),
            ("d/a", "../../b"),
            ("d/a", "x/../../.."),
            ("d/a", "x/../y"),
            ("a", ".env"),
            ("d/a", "../.git/hooks/pre-commit"),
            ("a", "by-content"),
            ("a", ""),
        ] {
            assert!(refuses(path, target), "{path} -> {target}");
        }
    }

    #[test]
    fn what_waits_for_a_review_is_known_by_its_name_or_by_a_directory_above() {
        for (path, is_link) in [("CLAUDE.md", false), ("a/CLAUDE.md", false), (".github/workflows/x/ci.yml", false)] {
            assert!(rules().awaits_review(path.as_bytes(), is_link), "{path}");
        }
        assert!(rules().awaits_review(b".github", true), "a link in the place of the directory above");
        for path in [".github", ".github/x", "CLAUDE.md.txt", "a"] {
            assert!(!rules().awaits_review(path.as_bytes(), false), "{path}");
        }
    }

    #[test]
    fn what_is_never_applied_says_why() {
        let refusal = |path: &str, node| rules().refusal(path.as_bytes(), node);
        assert_eq!(refusal("src/a.rs", Node::File), None);
        assert_eq!(refusal(".git", Node::Directory), None);
        for (path, node) in [(".git", Node::File), ("a/.git/hooks", Node::Directory), ("a\u{1b}[2J", Node::File)] {
            assert!(refusal(path, node).is_some(), "{path}");
        }
        assert!(refusal("pipe", Node::Other).is_some());
        assert!(refusal(&"d/".repeat(300), Node::File).is_some());
        assert!(rules().is_hidden(b"x/.env.local") && rules().is_hidden(b"by-content") && !rules().is_hidden(b"x/env"));
    }
}
