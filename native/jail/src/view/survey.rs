//! Walks a folder of the host once and lists what must be hidden or protected. Runs in the supervisor while the
//! child builds the rest of the sandbox.

use std::{
    collections::HashSet,
    ffi::{CStr, CString},
    os::fd::BorrowedFd,
};

use rustix::fs::{AtFlags, FileType, Stat, statat};
use serde::{Deserialize, Serialize};

use super::{
    content::settle,
    link_target,
    matcher::Match,
    repository::guards,
    rules::Rules,
    spelling::is_same,
    unnamed::{FOLDER, HEAD, InRepository, is_repository},
    walk::{Listings, Tree, Visitor, list, walk, walk_known},
};
use crate::fault::Outcome;

const SOCKET: &str = "a socket";
const UNREADABLE: &str = "it could not be searched";
/// Longer paths cannot be named in one call, so the last folder that can is hidden instead.
const PATH_LIMIT: usize = 4000;

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
    /// Why hidden paths are hidden; other names of the same files are not in it.
    #[serde(default)]
    pub reasons: Vec<(Vec<u8>, String)>,
}

/// An inode: device and number.
type Inode = (u64, u64);

#[derive(Default)]
struct Findings {
    survey: Survey,
    /// Hidden files that have other names too.
    linked: HashSet<Inode>,
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
        let mut survey = Self::default();
        let mut linked = HashSet::new();
        for part in walk_known(tree, &ByRule { root, host, rules })? {
            survey.hidden.extend(part.survey.hidden);
            survey.protected.extend(part.survey.protected);
            survey.repositories.extend(part.survey.repositories);
            survey.reasons.extend(part.survey.reasons);
            linked.extend(part.linked);
        }
        if !linked.is_empty() {
            let known = survey.hidden.iter().map(|h| h.path.as_slice()).collect();
            let others = walk(root, &ByInode { root, linked: &linked, known })?;
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

impl Survey {
    /// Hidden paths and why.
    pub fn with_reasons(&self) -> impl Iterator<Item = (&[u8], &str)> {
        const OTHER_NAME: &str = "another name of a hidden file";
        self.hidden.iter().map(|hit| {
            let found = self.reasons.binary_search_by(|(path, _)| path.cmp(&hit.path));
            let reason = found.map_or(OTHER_NAME, |at| self.reasons[at].1.as_str());
            (hit.path.as_slice(), reason)
        })
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

/// First walk: names, and the text of files where a rule asks for it.
struct ByRule<'a> {
    root: BorrowedFd<'a>,
    host: BorrowedFd<'a>,
    rules: &'a Rules<'a>,
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
            Match::IfHolding(tests) => settle(&tests, (self.root, self.host), &[folder, name].concat(), kind),
        };
        if let Some(reason) = reason {
            let path = [folder, name].concat();
            note_links(self.root, self.host, &path, found);
            found.survey.reasons.push((path.clone(), reason.into()));
            found.survey.hidden.push(Hit { path, folder: is_folder });
            return false;
        }
        let protect = self.rules.protect;
        if is_folder && is_same(name, FOLDER) {
            found.survey.repositories.push([folder, name, b"/"].concat());
        } else if is_same(name, HEAD) && is_repository(self.root, folder) {
            found.survey.repositories.push(folder.to_vec());
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
    fn unreadable(&self, folder: &[u8], found: &mut Findings) {
        found.survey.reasons.push((folder.to_vec(), UNREADABLE.into()));
        found.survey.hidden.push(Hit { path: folder.to_vec(), folder: true });
    }
}

/// Second walk, only where a hidden file has several names: the other names.
struct ByInode<'a> {
    root: BorrowedFd<'a>,
    linked: &'a HashSet<Inode>,
    /// Hidden already, with all below.
    known: HashSet<&'a [u8]>,
}

impl Visitor for ByInode<'_> {
    type Found = Vec<Hit>;

    fn entry(&self, folder: &[u8], name: &[u8], kind: FileType, found: &mut Vec<Hit>) -> bool {
        let path = [folder, name].concat();
        if self.known.contains(path.as_slice()) {
            return false;
        }
        let is_linked = |stat: Stat| self.linked.contains(&inode(&stat));
        if kind == FileType::RegularFile && stat_below(self.root, folder, name).is_some_and(is_linked) {
            found.push(Hit { path, folder: false });
        }
        kind == FileType::Directory
    }

    fn unreadable(&self, _folder: &[u8], _found: &mut Vec<Hit>) {}
}

/// Remembers files with several names at or below a hidden path.
fn note_links(root: BorrowedFd<'_>, host: BorrowedFd<'_>, path: &[u8], found: &mut Findings) {
    let Some(stat) = stat_below(root, b"", path) else {
        return;
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if stat.st_nlink > 1 => {
            found.linked.insert(inode(&stat));
        }
        FileType::Symlink => {
            if let Some(target) = link_target::below(host, path) {
                // What it leads to is no link, so this goes one step further and no more.
                note_links(root, host, &target.path, found);
                found.survey.hidden.push(target);
            }
        }
        FileType::Directory => {
            let prefix = [path, b"/"].concat();
            let mut queue = vec![prefix];
            while let Some(folder) = queue.pop() {
                let Ok(Some(entries)) = list(root, &folder) else {
                    continue;
                };
                for (name, _) in entries.iter() {
                    let Some(stat) = stat_below(root, &folder, name) else {
                        continue;
                    };
                    match FileType::from_raw_mode(stat.st_mode) {
                        FileType::Directory => queue.push([&folder[..], name, b"/"].concat()),
                        FileType::RegularFile if stat.st_nlink > 1 => {
                            found.linked.insert(inode(&stat));
                        }
                        _ => {}
                    }
                }
            }
        }
        _ => {}
    }
}

fn stat_below(root: BorrowedFd<'_>, folder: &[u8], name: &[u8]) -> Option<Stat> {
    let path = CString::new([folder, name].concat()).ok()?;
    statat(root, AsRef::<CStr>::as_ref(&path), AtFlags::SYMLINK_NOFOLLOW).ok()
}

fn inode(stat: &Stat) -> Inode {
    (stat.st_dev, stat.st_ino)
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::{fd::AsFd, unix::fs::symlink},
        path::PathBuf,
    };

    use ak_secrets::Content;

    use super::*;
    use crate::{spec::HideRule, view::matcher::Matcher};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ak-survey-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).expect("make a folder");
            Self(path)
        }

        fn file(&self, name: &str, text: &str) {
            let path = self.0.join(name);
            fs::create_dir_all(path.parent().expect("parent")).expect("make a folder");
            fs::write(path, text).expect("write");
        }

        fn survey(&self, hide: &[(&str, Option<Content>)], protect: &[&str]) -> Survey {
            let reason = || Some("secret".to_owned());
            let rule =
                |(glob, holds): &(&str, _)| HideRule { holds: *holds, reason: reason(), ..HideRule::named(glob) };
            let hide: Vec<HideRule> = hide.iter().map(rule).collect();
            let protect: Vec<String> = protect.iter().map(|p| (*p).into()).collect();
            let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY;
            let root = rustix::fs::open(&self.0, flags, rustix::fs::Mode::empty()).expect("open");
            let (hide, protect) = (Matcher::hiding(&hide), Matcher::of(&protect));
            let rules = Rules::new(&hide, &protect);
            Survey::of(root.as_fd(), root.as_fd(), &rules).expect("survey")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("remove");
        }
    }

    fn names(hits: &[Hit]) -> Vec<String> {
        hits.iter().map(|h| String::from_utf8_lossy(&h.path).into_owned()).collect()
    }

    #[test]
    fn hidden_files_are_found_nested_linked_and_by_content() {
        let f = Folder::new("found");
        f.file(".env", "x");
        f.file("a/b/.env.local", "x");
        f.file("a/.ssh/config", "x");
        f.file("a/.npmrc", "//r/:_authToken=8f3c0a1277aa");
        f.file("b/.npmrc", "fund=false");
        f.file("plain", "x");
        fs::hard_link(f.0.join(".env"), f.0.join("a/innocent")).expect("link");
        fs::hard_link(f.0.join("a/.ssh/config"), f.0.join("b/also-innocent")).expect("link");
        symlink(".env", f.0.join("link")).expect("symlink");
        f.file("c/settings", "x");
        symlink("../c/settings", f.0.join("a/.envrc")).expect("symlink");
        symlink("..", f.0.join("a/.env.up")).expect("symlink");
        symlink("/", f.0.join("a/.env.out")).expect("symlink");
        let found = f.survey(
            &[("**/.env*", None), ("**/.ssh", None), ("**/.npmrc", Some(Content::Credential))],
            &[".git/hooks"],
        );
        assert_eq!(
            names(&found.hidden),
            [
                ".env",
                "a/.env.out",
                "a/.env.up",
                "a/.envrc",
                "a/.npmrc",
                "a/.ssh",
                "a/b/.env.local",
                "a/innocent",
                "b/also-innocent",
                "c/settings"
            ]
        );
        assert!(found.protected.is_empty());
    }

    #[test]
    fn hits_are_topmost_and_can_be_named() {
        let hit = |path: &str, folder| Hit { path: path.into(), folder };
        let deep = format!("a-b/{}.env", "d/".repeat(3000));
        let hits = topmost(vec![hit("a/.env", false), hit("a", true), hit("a-b/c", false), hit(&deep, false)]);
        assert_eq!(names(&hits[..2]), ["a", "a-b/c"]);
        assert!(hits[2].folder && hits[2].path.len() <= PATH_LIMIT && deep.as_bytes().starts_with(&hits[2].path));
        assert_eq!(hits.len(), 3);
    }

    #[test]
    fn a_file_where_a_protected_folder_would_be_is_protected() {
        let f = Folder::new("gitfile");
        f.file("a/.git", "gitdir: elsewhere");
        let found = f.survey(&[], &["**/.git/hooks"]);
        assert_eq!(found.protected, [Hit { path: b"a/.git".to_vec(), folder: false }]);
    }

    #[test]
    fn a_repository_of_another_name_is_protected_like_a_git_folder() {
        let f = Folder::new("bare");
        for name in ["HEAD", "config", "objects/aa", "refs/heads/main", "hooks/update", "modules/x/config"] {
            f.file(&format!("bare/{name}"), "x");
        }
        for name in ["HEAD", "config", "hooks/update"] {
            f.file(&format!("other/{name}"), "x");
            f.file(&format!("a/.git/{name}"), "x");
        }
        let found = f.survey(&[], &["**/.git/hooks", "**/.git/config", "**/.git/modules/**/config"]);
        let expected = ["a/.git/config", "a/.git/hooks", "bare/config", "bare/hooks", "bare/modules/x/config"];
        assert_eq!(names(&found.protected), expected);
        let mut repositories = found.repositories;
        repositories.sort();
        assert_eq!(repositories, [b"a/.git/".to_vec(), b"bare/".to_vec()]);
    }

    #[test]
    fn many_folders_are_walked_completely_and_links_are_not_followed() {
        let f = Folder::new("many");
        for i in 0..300 {
            f.file(&format!("d{i}/e/id_{i}"), "x");
            f.file(&format!("d{i}/e/plain"), "x");
        }
        symlink("/", f.0.join("d0/root")).expect("symlink");
        f.file(".git/hooks/pre-commit", "x");
        let found = f.survey(&[("**/id_*", None)], &["**/.git/hooks"]);
        assert_eq!(found.hidden.len(), 300);
        assert_eq!(found.protected, [Hit { path: b".git/hooks".to_vec(), folder: true }]);
    }
}
