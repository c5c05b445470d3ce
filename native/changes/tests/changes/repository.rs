//! Directories that git takes for a repository.

use crate::harness::World;
use serde_json::json;

const HEAD: &str = "ref: refs/heads/main\n";

#[test]
fn no_directory_becomes_a_repository_and_none_is_taken_apart() {
    let world = World::new(&[
        (".git/HEAD", HEAD),
        (".git/config", "x"),
        (".git/objects/a", "x"),
        (".git/refs/b", "x"),
        ("parts/objects/", ""),
        ("parts/refs/", ""),
        ("bare/HEAD", HEAD),
        ("bare/config", "x"),
        ("bare/objects/a", "x"),
        ("bare/refs/b", "x"),
    ]);
    world.removed(".git/HEAD");
    world.removed(".git/refs");
    world.wrote("sub/HEAD", HEAD);
    world.wrote("sub/objects/a", "x");
    world.wrote("sub/refs/a", "x");
    world.wrote("sub/other", "x");
    world.wrote("parts/HEAD", HEAD);
    world.wrote("bare/config", "evil");
    world.wrote("bare/HEAD", "spoiled");
    world.wrote("bare/refs/b", "y");
    let told = world.apply(json!({ "overridesHost": true }));
    let mut applied: Vec<String> = told.letters().into_iter().filter(|line| !line.ends_with("refused")).collect();
    applied.sort();
    assert_eq!(applied, ["A sub/other", "M bare/refs/b"]);
    let read = |path: &str| world.on_host(path);
    assert_eq!((read(".git/HEAD").as_deref(), read(".git/refs/b").as_deref()), (Some(HEAD), Some("x")));
    assert_eq!((read("bare/HEAD").as_deref(), read("bare/config").as_deref()), (Some(HEAD), Some("x")));
    assert!(read("sub/HEAD").is_none() && read("parts/HEAD").is_none() && !world.project().join("sub/refs").exists());
}

#[test]
fn what_git_has_only_while_it_is_at_work_is_neither_brought_nor_taken_away() {
    let world = World::new(&[
        (".git/HEAD", HEAD),
        (".git/objects/a", "x"),
        (".git/refs/b", "x"),
        (".git/host.lock", "the host's git is at work"),
        ("Cargo.lock", "old"),
    ]);
    let unfinished = [".git/index.lock", ".git/gc.pid", ".git/objects/pack/tmp_pack_x", ".git/objects/ab/tmp_obj_x"];
    unfinished.iter().for_each(|path| world.wrote(path, "x"));
    world.removed(".git/host.lock");
    world.wrote("Cargo.lock", "new");
    world.wrote(".git/refs/c", "x");
    let mut changes = world.list();
    changes.sort();
    assert_eq!(changes.iter().filter(|line| !line.ends_with("refused")).count(), 2, "{changes:?}");
    let end = world.ask("carry", json!({})).end().clone();
    assert_eq!(end["refused"], json!([".git/host.lock"]));
    assert!(unfinished.iter().all(|path| world.on_host(path).is_none()));
    assert!(world.on_host(".git/host.lock").is_some() && world.on_host(".git/refs/c").is_some());
    assert_eq!(world.on_host("Cargo.lock").as_deref(), Some("new"));
}
