//! What of a directory may be sent to a sandbox, by the search and the rules that hold on every backend.

use std::{
    collections::{HashMap, HashSet},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use ak_jail::{
    fault::Outcome,
    git::{
        config::cleaned,
        work_trees::{WorkTree, in_memory},
    },
    spec::HideRule,
    view::{
        matcher::{Match, Matcher},
        rules::Rules,
        survey::{Survey, ancestors},
    },
};
use ak_secrets::Sample;
use rustix::fs::{AtFlags, statat};

/// What one search found, and the rules for what has appeared or moved since.
#[derive(Default)]
pub struct Shown {
    /// None where nothing is to be hidden.
    rules: Option<&'static Rules<'static>>,
    /// The paths to leave out.
    hidden: HashSet<Vec<u8>>,
    /// Device and number of files that are hidden, by whatever name they are found later.
    inodes: HashSet<(u64, u64)>,
    /// Files of git that are sent otherwise: indexes in which that is marked, so that git does not take it for deleted, and
    /// configurations without passwords.
    instead: HashMap<Vec<u8>, OwnedFd>,
}

impl Shown {
    /// Searches `root`. The rules stay for as long as the program, which does this once.
    pub fn of(root: BorrowedFd<'_>, hide: &[HideRule]) -> Outcome<Self> {
        if hide.is_empty() {
            return Ok(Self::default());
        }
        let hide: &'static Matcher = Box::leak(Box::new(Matcher::hiding(hide)));
        let protect: &'static Matcher = Box::leak(Box::new(Matcher::of(&[])));
        let rules: &'static Rules<'static> = Box::leak(Box::new(Rules::new(hide, protect)));
        let survey = Survey::of(root, root, rules)?;
        let mut instead = HashMap::new();
        for tree in WorkTree::of(root, &survey) {
            instead.extend(tree.marked_index(root)?.map(|marked| (tree.index(), marked)));
        }
        let mut hidden: HashSet<Vec<u8>> = survey.hidden.into_iter().map(|hit| hit.path).collect();
        let mut inodes: HashSet<(u64, u64)> = hidden.iter().filter_map(|path| identity(root, path)).collect();
        for path in survey.cleaned {
            inodes.extend(identity(root, &path));
            match cleaned(root, &path).map(|text| in_memory(&text)).transpose()? {
                Some(text) => drop(instead.insert(path, text)),
                None => drop(hidden.insert(path)),
            }
        }
        Ok(Self { rules: Some(rules), hidden, inodes, instead })
    }

    /// What is sent in place of what lies at `path`.
    pub fn instead(&self, path: &[u8]) -> Option<BorrowedFd<'_>> {
        self.instead.get(path).map(AsFd::as_fd)
    }

    /// Whether it is hidden by its own name, wherever it lies.
    pub fn hides(&self, path: &[u8]) -> bool {
        self.hidden.contains(path) || matches!(self.verdict(path), Match::Yes)
    }

    /// The same of a path that somebody has made up: what lies in a hidden directory is hidden with it.
    pub fn hides_below(&self, path: &[u8]) -> bool {
        self.hides(path) || ancestors(path).any(|directory| self.hides(directory))
    }

    /// Whether a file is hidden, or was, under another name.
    pub fn hides_inode(&self, device: u64, inode: u64) -> bool {
        self.inodes.contains(&(device, inode))
    }

    /// Whether what is in the file hides it.
    pub fn holds_secret(&self, path: &[u8], file: BorrowedFd<'_>) -> bool {
        match self.verdict(path) {
            Match::IfHolding(_) if self.instead.contains_key(path) => false,
            Match::IfHolding(tests) => tests.settle(Sample::of(file)).is_some(),
            Match::Yes | Match::No => false,
        }
    }

    /// Whether only its content can tell.
    pub fn asks_content(&self, path: &[u8]) -> bool {
        matches!(self.verdict(path), Match::IfHolding(_)) && !self.instead.contains_key(path)
    }

    fn verdict(&self, path: &[u8]) -> Match<'static> {
        let Some(rules) = self.rules.filter(|_| !path.is_empty()) else { return Match::No };
        let (directory, name) = path.split_at(path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1));
        if rules.concern(name) { rules.hide.matches(directory, name) } else { Match::No }
    }
}

/// Nothing of a directory, which has no other name.
fn identity(root: BorrowedFd<'_>, path: &[u8]) -> Option<(u64, u64)> {
    let stat = statat(root, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let is_directory = rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory;
    (!is_directory).then_some((stat.st_dev, stat.st_ino))
}
