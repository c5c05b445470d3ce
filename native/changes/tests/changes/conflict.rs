//! A stop never loses the sandbox's version of a file that the host changed too: it is set aside.

use std::fs;

use serde_json::json;

use crate::harness::World;

#[test]
fn a_stop_keeps_the_sandboxs_version_of_what_the_host_changed() {
    let world = World::new(&[
        ("both", "old"),
        ("alike", "old"),
        ("gone", "old"),
        ("directory/a", "old"),
        ("directory/b", "old"),
        ("file", "old"),
        ("fine", "old"),
    ]);
    world.wrote("both", "sandbox");
    world.wrote("new/both", "sandbox");
    world.wrote("alike", "same");
    world.removed("gone");
    // A file in the place of a directory, and a directory in the place of a file.
    world.wrote("directory", "sandbox");
    world.wrote("file/x/y", "sandbox");
    world.linked("file/link", "x/y");
    world.wrote("fine", "sandbox");
    for (path, text) in [
        ("both", "host"),
        ("alike", "same"),
        ("gone", "host"),
        ("directory/a", "host"),
        ("file", "host"),
        ("new/both", "host"),
    ] {
        fs::create_dir_all(world.project().join("new")).expect("make");
        fs::write(world.project().join(path), text).expect("write");
    }
    let told = world.ask("carry", json!({}));
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let end = told.end().clone();
    let conflicts = ["both", "directory", "file", "file/link", "file/x", "file/x/y", "gone", "new/both"];
    assert_eq!((&end["conflicts"], &end["held"]), (&json!(conflicts), &json!([])));
    assert_eq!((&end["written"], &end["refused"]), (&json!(["fine"]), &json!([])));
    let read = |world: &World, path: &str| world.on_host(path);
    for path in ["both", "gone", "directory/a", "file", "new/both"] {
        assert_eq!(read(&world, path).as_deref(), Some("host"), "{path}");
    }
    let world = world.held(end["heldAs"].as_str().expect("a name"));
    let mut waiting = world.list();
    waiting.sort();
    let conflict = |line: &&String| line.ends_with(" conflict");
    assert!(waiting.iter().all(|line| conflict(&line)), "{waiting:?}");
    assert_eq!(world.apply(json!({})).end()["applied"], 0);
    let paths = ["both", "file", "directory", "gone", "new"];
    world.apply(json!({ "paths": paths, "overridesHost": true }));
    for path in ["both", "file/x/y", "file/link", "directory", "new/both"] {
        assert_eq!(read(&world, path).as_deref(), Some("sandbox"), "{path}");
    }
    assert_eq!(read(&world, "gone"), None);
    assert_eq!(world.list(), [""; 0]);
}

#[test]
fn what_waits_for_a_review_says_so_also_where_the_host_has_something_else() {
    let world = World::new(&[("docs", "old")]);
    world.wrote("docs/CLAUDE.md", "evil");
    world.wrote("docs/a", "fine");
    fs::write(world.project().join("docs"), "host").expect("write");
    let end = world.ask("carry", json!({})).end().clone();
    assert_eq!((&end["conflicts"], &end["held"]), (&json!(["docs", "docs/a"]), &json!(["docs/CLAUDE.md"])));
    assert_eq!(world.on_host("docs").as_deref(), Some("host"));
}

#[test]
fn a_directory_in_which_something_stays_is_not_emptied_for_a_file() {
    let world =
        World::new(&[("directory/a", "old"), ("directory/b", "old"), ("other/.env", "old"), ("other/b", "old")]);
    world.wrote("directory", "sandbox");
    world.wrote("other", "sandbox");
    fs::write(world.project().join("directory/b"), "host").expect("write");
    let end = world.ask("carry", json!({})).end().clone();
    assert_eq!(end["conflicts"], json!(["directory", "other"]));
    for (path, text) in [("directory/a", "old"), ("directory/b", "host"), ("other/.env", "old"), ("other/b", "old")] {
        assert_eq!(world.on_host(path).as_deref(), Some(text), "{path}");
    }
}

#[test]
fn what_goes_from_a_directory_that_stays_is_told() {
    let world = World::new(&[
        ("directory/.env", "old"),
        ("directory/b", "old"),
        ("directory/c/d", "old"),
        ("whole/a/b", "old"),
    ]);
    world.removed("directory");
    world.removed("whole");
    let end = world.ask("carry", json!({})).end().clone();
    assert_eq!(
        (&end["deleted"], &end["refused"]),
        (&json!(["directory/b", "directory/c", "whole"]), &json!(["directory/.env"]))
    );
}

#[test]
fn references_stay_where_the_host_has_another_list_of_them() {
    let world = World::new(&[
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/objects/", ""),
        (".git/refs/heads/main", "1"),
        (".git/refs/tags/gone", "1"),
        (".git/packed-refs", "old"),
        ("fine", "old"),
    ]);
    world.wrote(".git/packed-refs", "sandbox");
    world.removed(".git/refs/heads/main");
    world.removed("fine");
    fs::write(world.project().join(".git/packed-refs"), "host").expect("write");
    let end = world.ask("carry", json!({})).end().clone();
    assert_eq!(end["conflicts"], json!([".git/packed-refs", ".git/refs/heads/main"]));
    assert_eq!(end["deleted"], json!(["fine"]));
    assert_eq!(world.on_host(".git/refs/heads/main").as_deref(), Some("1"));
}

#[test]
fn names_of_one_file_are_not_taken_for_changes_of_the_host() {
    let mut world = World::new(&[("directory/a", "old"), ("x", "old"), ("other", "old")]);
    for (name, link) in [("directory/a", "directory/b"), ("x", "y"), ("other", "both")] {
        fs::hard_link(world.project().join(name), world.project().join(link)).expect("link");
    }
    world.begin();
    world.removed("directory");
    world.wrote("x", "sandbox x");
    world.wrote("y", "sandbox y");
    world.removed("other");
    world.wrote("both", "sandbox");
    let end = world.ask("carry", json!({})).end().clone();
    assert_eq!((&end["conflicts"], &end["deleted"]), (&json!([]), &json!(["directory", "other"])));
    for (path, text) in [("x", Some("sandbox x")), ("y", Some("sandbox y")), ("both", Some("sandbox")), ("other", None)]
    {
        assert_eq!(world.on_host(path).as_deref(), text, "{path}");
    }
}
