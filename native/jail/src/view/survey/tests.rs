use std::{
    fs,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::symlink,
    },
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

    fn open(&self) -> OwnedFd {
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY;
        rustix::fs::open(&self.0, flags, rustix::fs::Mode::empty()).expect("open")
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("parent")).expect("make a folder");
        fs::write(path, text).expect("write");
    }

    fn survey(&self, hide: &[(&str, Option<Content>)], protect: &[&str]) -> Survey {
        self.survey_of(&Listings::new(), hide, protect)
    }

    fn survey_of(&self, known: &Listings, hide: &[(&str, Option<Content>)], protect: &[&str]) -> Survey {
        let reason = || Some("secret".to_owned());
        let rule = |(glob, holds): &(&str, _)| HideRule { holds: *holds, reason: reason(), ..HideRule::named(glob) };
        let hide: Vec<HideRule> = hide.iter().map(rule).collect();
        let protect: Vec<String> = protect.iter().map(|p| (*p).into()).collect();
        let root = self.open();
        let (hide, protect) = (Matcher::hiding(&hide), Matcher::of(&protect));
        let rules = Rules::new(&hide, &protect);
        Survey::of_known(Tree { root: root.as_fd(), known }, root.as_fd(), &rules).expect("survey")
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
    let found =
        f.survey(&[("**/.env*", None), ("**/.ssh", None), ("**/.npmrc", Some(Content::Credential))], &[".git/hooks"]);
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

/// A search to which `folders` were there a moment before.
fn survey_known(f: &Folder, folders: &[&str], hide: &[(&str, Option<Content>)]) -> Survey {
    let names = folders.iter().map(|name| (name.as_bytes(), FileType::Directory));
    let known = Listings::from([(Vec::new(), Some(names.collect()))]);
    f.survey_of(&known, hide, &[])
}

#[test]
fn a_directory_that_became_a_link_is_hidden_and_not_followed() {
    let f = Folder::new("became-a-link");
    f.file("elsewhere/id_other", "x");
    symlink("elsewhere", f.0.join("d")).expect("symlink");
    symlink("/", f.0.join("e")).expect("symlink");
    let found = survey_known(&f, &["d", "e", "elsewhere"], &[("**/id_*", None)]);
    assert_eq!(names(&found.hidden), ["d", "e", "elsewhere/id_other"]);
    assert!(found.hidden[0].folder && found.with_reasons().any(|(path, why)| path == b"d" && why == UNREADABLE));
}

#[test]
fn a_directory_that_is_gone_is_hidden_and_all_is_searched_once_more() {
    let f = Folder::new("gone");
    f.file("moved/id_1", "x");
    let found = survey_known(&f, &["before"], &[("**/id_*", None)]);
    assert_eq!(names(&found.hidden), ["before", "moved/id_1"]);
    let listed = |name: &'static str, kind| Some([(name.as_bytes(), kind)].into_iter().collect());
    let known = Listings::from([
        (
            Vec::new(),
            Some([(&b"read"[..], FileType::Directory), (b"before", FileType::Directory)].into_iter().collect()),
        ),
        (b"read/".to_vec(), listed("id_2", FileType::RegularFile)),
    ]);
    let found = f.survey_of(&known, &[("**/id_*", None)], &[]);
    assert_eq!(names(&found.hidden), ["before", "moved/id_1", "read/id_2"], "what only the first search saw");
}

#[test]
fn a_directory_that_is_back_in_the_next_search_is_not_hidden() {
    let f = Folder::new("back");
    f.file("d/sub/id_1", "x");
    let known = Listings::from([
        (Vec::new(), Some([(&b"d"[..], FileType::Directory)].into_iter().collect())),
        (b"d/".to_vec(), Some([(&b"old"[..], FileType::Directory)].into_iter().collect())),
    ]);
    let found = f.survey_of(&known, &[("**/id_*", None)], &[]);
    assert_eq!(names(&found.hidden), ["d/old", "d/sub/id_1"]);
    let known = Listings::from([(Vec::new(), None)]);
    assert_eq!(names(&f.survey_of(&known, &[("**/id_*", None)], &[]).hidden), ["d/sub/id_1"]);
    let missed = HashSet::from([b"d".to_vec(), b"e".to_vec()]);
    let (hide, protect) = (Matcher::hiding(&[HideRule::named("x")]), Matcher::of(&[]));
    let root = f.open();
    let (root, rules) = (root.as_fd(), &Rules::new(&hide, &protect));
    let parts = walk(root, &ByRule { root, host: root, rules, missed: &missed }).expect("a search");
    let returned: Vec<Vec<u8>> = parts.into_iter().flat_map(|part| part.returned).collect();
    assert_eq!(returned, [b"d"]);
}

#[test]
fn a_search_during_a_thousand_swaps_never_looks_through_a_link() {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
    const SWAPS: usize = 1000;
    let f = Folder::new("swapped");
    let away = Folder::new("swapped-away");
    f.file("d/id_secret", "x");
    for i in 0..40 {
        f.file(&format!("other{i}/plain"), "x");
    }
    away.file("target/id_elsewhere", "x");
    let (d, kept) = (f.0.join("d"), away.0.join("d"));
    let (is_over, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut hidden: HashSet<String> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                fs::rename(&d, &kept).expect("take away");
                symlink(away.0.join("target"), &d).expect("symlink");
                fs::remove_file(&d).expect("remove");
                fs::rename(&kept, &d).expect("bring back");
                swaps.fetch_add(1, Relaxed);
            }
        });
        let mut all = HashSet::new();
        while swaps.load(Relaxed) < SWAPS {
            all.extend(names(&f.survey(&[("**/id_*", None)], &[]).hidden));
        }
        is_over.store(true, Relaxed);
        all
    });
    // On a busy machine each of them may have come when the directory was away.
    hidden.extend(names(&f.survey(&[("**/id_*", None)], &[]).hidden));
    assert!(hidden.contains("d/id_secret"), "{hidden:?}");
    assert!(hidden.iter().all(|path| path == "d" || path == "d/id_secret"), "{hidden:?}");
}
