//! Walks a folder of the host once and lists what must be hidden or protected. Runs in the supervisor while the
//! child builds the rest of the sandbox.

use std::{collections::HashSet, os::fd::BorrowedFd};

use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

use super::{
    content::settle,
    hard_links::{ByInode, Linked},
    link_target,
    matcher::Match,
    repository::guards,
    rules::Rules,
    spelling::is_same,
    unnamed::{FOLDER, HEAD, InRepository, is_repository},
    walk::{Listings, Tree, Unread, Visitor, walk, walk_known},
};
use crate::{
    fault::Outcome,
    git::{config::cleaned, linked::LinkedRepository},
};

pub(super) const SOCKET: &str = "a socket";
const UNREADABLE: &str = "it could not be searched";
/// Longer paths cannot be named in one call, so the last folder that can is hidden instead.
const PATH_LIMIT: usize = 4000;
/// A directory that goes away during a search may turn up where that has been already, so all is searched once more.
const MOST_SEARCHES: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Hit {
    /// Relative to the view, as bytes: names need not be UTF-8.
    pub path: Vec<u8>,
    pub folder: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Survey {
    pub hidden: Vec<Hit>,
    pub protected: Vec<Hit>,
    /// Repositories of git's, under whatever name; empty or ending in `/`.
    pub repositories: Vec<Vec<u8>>,
    /// Configurations of git that are shown without passwords.
    #[serde(default)]
    pub cleaned: Vec<Vec<u8>>,
    /// Why hidden paths are hidden; other names of the same files are not in it.
    #[serde(default)]
    pub reasons: Vec<(Vec<u8>, String)>,
    /// Where the view is the repository of a project that lies elsewhere.
    #[serde(default)]
    pub linked: Option<LinkedRepository>,
}

#[derive(Default)]
struct Findings {
    survey: Survey,
    linked: Linked,
    /// Directories that were gone before they could be read.
    missed: HashSet<Vec<u8>>,
    /// Those that an earlier search missed and this one read.
    returned: HashSet<Vec<u8>>,
}

impl Findings {
    fn add(&mut self, other: Self) {
        self.survey.hidden.extend(other.survey.hidden);
        self.survey.protected.extend(other.survey.protected);
        self.survey.repositories.extend(other.survey.repositories);
        self.survey.reasons.extend(other.survey.reasons);
        self.survey.cleaned.extend(other.survey.cleaned);
        self.linked.add(other.linked);
        self.missed.extend(other.missed);
        self.returned.extend(other.returned);
    }

    fn hide_unread(&mut self, folder: &[u8]) {
        self.survey.reasons.push((folder.to_vec(), UNREADABLE.into()));
        self.survey.hidden.push(Hit { path: folder.to_vec(), folder: true });
    }
}

impl Survey {
    /// What the rules say about everything below `root`, which is `host` as the sandbox will see it: without what else
    /// is mounted in there. Links are followed on the host's side, where their paths mean something.
    pub fn of(root: BorrowedFd<'_>, host: BorrowedFd<'_>, rules: &Rules<'_>) -> Outcome<Self> {
        Self::of_known(Tree { root, known: &Listings::new() }, host, rules)
    }

    /// The same, where folders were read before.
    pub fn of_known(tree: Tree<'_>, host: BorrowedFd<'_>, rules: &Rules<'_>) -> Outcome<Self> {
        let root = tree.root;
        if rules.hide.is_empty() && rules.protect.is_empty() {
            return Ok(Self::default());
        }
        let Findings { mut survey, linked, .. } = search(tree, host, rules)?;
        survey.hidden.extend(linked.targets);
        if !linked.inodes.is_empty() {
            let known = survey.hidden.iter().map(|h| h.path.as_slice()).collect();
            let others = walk(root, &ByInode { root, linked: &linked.inodes, known })?;
            survey.hidden.extend(others.into_iter().flatten());
        }
        for repository in survey.repositories.iter().filter(|path| !guards(rules.protect, path)) {
            survey.protected.extend(InRepository { path: repository, protect: rules.protect }.hits(root)?);
        }
        survey.hidden = topmost(survey.hidden);
        survey.reasons.sort();
        survey.protected.retain(|h| h.path.len() <= PATH_LIMIT);
        survey.protected.sort();
        survey.protected.dedup();
        Ok(survey)
    }
}

/// Each path once, none below another, none too long to be named.
fn topmost(hits: Vec<Hit>) -> Vec<Hit> {
    let mut hits: Vec<Hit> = hits.into_iter().map(shortened).collect();
    let folders: HashSet<Vec<u8>> = hits.iter().filter(|h| h.folder).map(|h| h.path.clone()).collect();
    hits.retain(|h| !ancestors(&h.path).any(|folder| folders.contains(folder)));
    hits.sort();
    hits.dedup_by(|a, b| a.path == b.path);
    hits
}

/// The folders that a path lies in, the outermost first.
pub fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(end, _)| &path[..end])
}

fn shortened(hit: Hit) -> Hit {
    match ancestors(&hit.path).take_while(|folder| folder.len() <= PATH_LIMIT).last() {
        Some(folder) if hit.path.len() > PATH_LIMIT => Hit { path: folder.to_vec(), folder: true },
        _ => hit,
    }
}

/// What was missed by one search and not read by the last is hidden: it may come back with anything in it. So may what
/// was found by one and is not there for the next.
fn search(tree: Tree<'_>, host: BorrowedFd<'_>, rules: &Rules<'_>) -> Outcome<Findings> {
    let nothing = Listings::new();
    let (mut all, mut missed) = (Findings::default(), HashSet::new());
    for number in 0..MOST_SEARCHES {
        // What was read ahead is older than the search.
        let known = if number == 0 { tree.known } else { &nothing };
        let mut found = Findings::default();
        walk_known(Tree { root: tree.root, known }, &ByRule { root: tree.root, host, rules, missed: &missed })?
            .into_iter()
            .for_each(|part| found.add(part));
        let is_settled = found.missed.is_empty() && !found.linked.are_incomplete;
        missed.retain(|folder| !found.returned.contains(folder));
        missed.extend(std::mem::take(&mut found.missed));
        all.add(found);
        if is_settled {
            break;
        }
    }
    missed.iter().for_each(|folder| all.hide_unread(folder));
    all.survey.repositories.sort();
    all.survey.repositories.dedup();
    Ok(all)
}

/// First walk: names, and the text of files where a rule asks for it.
struct ByRule<'a> {
    root: BorrowedFd<'a>,
    host: BorrowedFd<'a>,
    rules: &'a Rules<'a>,
    /// By earlier searches.
    missed: &'a HashSet<Vec<u8>>,
}

impl Visitor for ByRule<'_> {
    type Found = Findings;

    fn entry(&self, folder: &[u8], name: &[u8], kind: FileType, found: &mut Findings) -> bool {
        let is_folder = kind == FileType::Directory;
        if (is_folder || kind == FileType::RegularFile) && !self.rules.concern(name) {
            return is_folder;
        }
        let reason = match self.rules.hide.matches(folder, name) {
            // A socket leads to whoever listens on the host.
            Match::No => (kind == FileType::Socket).then_some(SOCKET),
            Match::Yes => Some(self.rules.hide.reason(folder, name).unwrap_or_default()),
            Match::IfHolding(tests) => {
                let path = [folder, name].concat();
                let held = settle(&tests, self.rules.contents, (self.root, self.host), &path, kind);
                let is_clean = held.is_some() && tests.are_about_remotes() && cleaned(self.root, &path).is_some();
                found.survey.cleaned.extend(is_clean.then_some(path));
                held.filter(|_| !is_clean)
            }
        };
        if let Some(reason) = reason {
            let path = [folder, name].concat();
            found.linked.note(self.root, self.host, &path);
            found.survey.reasons.push((path.clone(), reason.into()));
            found.survey.hidden.push(Hit { path, folder: is_folder });
            return false;
        }
        let protect = self.rules.protect;
        if is_folder && is_same(name, FOLDER) {
            found.survey.repositories.push([folder, name, b"/"].concat());
        } else if is_same(name, HEAD) {
            match is_repository(self.root, folder) {
                Ok(true) => found.survey.repositories.push(folder.to_vec()),
                Ok(false) => {}
                Err(_) => drop(found.missed.insert(without_slash(folder).to_vec())),
            }
        }
        if matches!(protect.matches(folder, name), Match::Yes)
            || !is_folder && protect.leads_in(folder, name, kind == FileType::Symlink)
        {
            let path = [folder, name].concat();
            if kind == FileType::Symlink {
                // Protected under its own name too.
                found.survey.protected.extend(link_target::below(self.host, &path));
            }
            found.survey.protected.push(Hit { path, folder: is_folder });
        }
        is_folder
    }

    /// Sandbox root may read what the caller's own mode bits forbid, so what cannot be searched is hidden.
    fn unread(&self, folder: &[u8], why: Unread, found: &mut Findings) {
        match why {
            Unread::Denied => found.hide_unread(folder),
            Unread::Gone => drop(found.missed.insert(folder.to_vec())),
        }
    }

    fn read(&self, folder: &[u8], found: &mut Findings) {
        if !self.missed.is_empty() && self.missed.contains(without_slash(folder)) {
            found.returned.insert(without_slash(folder).to_vec());
        }
    }
}

fn without_slash(folder: &[u8]) -> &[u8] {
    folder.strip_suffix(b"/").unwrap_or(folder)
}

#[cfg(test)]
mod tests;
