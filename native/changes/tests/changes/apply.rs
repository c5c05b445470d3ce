//! Which changes are applied, and which files of the host stay.

use std::{
    fs::{self, File, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt},
};

use crate::harness::World;
use serde_json::json;

#[test]
fn everything_is_taken_over_once() {
    let world =
        World::new(&[("a", "one\n"), ("b", "two\n"), ("d/c", "three\n"), ("d/e", "4"), ("f", "f"), ("g/h", "h")]);
    world.wrote("a", "other\n");
    fs::set_permissions(world.layer().join("a"), Permissions::from_mode(0o4755)).expect("chmod");
    world.wrote("new/deep/file", "new\n");
    world.removed("b");
    world.removed("d");
    world.wrote("moved", "three\n");
    world.linked("new/link", "deep/file");
    world.wrote("f/now-a-directory", "x");
    world.linked("g", "new");
    let rehearsed = world.apply(json!({ "isRehearsal": true }));
    assert_eq!(world.on_host("a").as_deref(), Some("one\n"));
    let told = world.apply(json!({}));
    let sorted = |told: &crate::harness::Told| {
        let mut letters = told.letters();
        letters.sort();
        letters
    };
    assert_eq!(sorted(&told), sorted(&rehearsed));
    assert_eq!((&told.end()["conflicts"], &told.end()["refused"]), (&json!(0), &json!(0)));
    let read = |path: &str| world.on_host(path);
    assert_eq!(read("a").as_deref(), Some("other\n"));
    assert_eq!(fs::metadata(world.project().join("a")).expect("there").mode() & 0o7777, 0o755);
    assert_eq!((read("new/link").as_deref(), read("moved").as_deref()), (Some("new\n"), Some("three\n")));
    assert_eq!((read("f/now-a-directory").as_deref(), read("g/deep/file").as_deref()), (Some("x"), Some("new\n")));
    assert!(!world.project().join("b").exists() && !world.project().join("d").exists());
    assert_eq!(world.list(), [""; 0]);
    assert_eq!(world.apply(json!({})).end()["applied"], 0);
    let left =
        fs::read_dir(world.project()).expect("read").filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    assert_eq!(left.filter(|name| name.starts_with(".agentkernel")).count(), 0);
}

#[test]
fn what_the_host_changed_since_stays_until_the_user_decides() {
    let world = World::new(&[("a", "1"), ("b", "1"), ("c", "1"), ("d/e", "1"), ("d/f", "1")]);
    for path in ["a", "b", "new", "d/f"] {
        fs::write(world.project().join(path), "host").expect("write");
    }
    world.wrote("a", "sandbox");
    world.wrote("b", "host");
    world.wrote("c", "sandbox");
    world.wrote("new", "sandbox");
    world.removed("d");
    let expected = ["M a conflict", "M c", "D d/e", "D d/f conflict", "A new conflict"];
    let expected: Vec<String> = expected.map(|line| line.replace("A new", "M new")).into();
    assert_eq!(world.list(), expected);
    let told = world.apply(json!({}));
    assert_eq!((&told.end()["applied"], &told.end()["conflicts"]), (&json!(2), &json!(3)));
    let read = |path: &str| world.on_host(path);
    assert_eq!(
        (read("a").as_deref(), read("new").as_deref(), read("c").as_deref()),
        (Some("host"), Some("host"), Some("sandbox"))
    );
    assert_eq!((read("d/e"), read("d/f").as_deref()), (None, Some("host")));
    assert_eq!(world.list(), ["M a conflict", "D d/f conflict", "M new conflict"]);
    world.apply(json!({ "paths": ["a", "d"], "overridesHost": true }));
    assert_eq!((read("a").as_deref(), read("new").as_deref(), read("d/f")), (Some("sandbox"), Some("host"), None));
    assert_eq!(world.list(), ["M new conflict"]);
}

#[test]
fn what_was_applied_is_the_new_beginning() {
    let world = World::new(&[("a", "1"), ("b", "1")]);
    world.wrote("a", "2");
    world.removed("b");
    world.apply(json!({}));
    // The sandbox goes on with its file, and the host has not touched it.
    world.wrote("a", "three");
    assert_eq!(world.list(), ["M a"]);
    world.apply(json!({}));
    assert_eq!(world.on_host("a").as_deref(), Some("three"));
    // The host's change of a file that the sandbox no longer touches is no change of the sandbox's.
    fs::write(world.project().join("a"), "host").expect("write");
    fs::write(world.project().join("b"), "again").expect("write");
    assert_eq!(world.list(), [""; 0]);
    // And if both go on, it is a conflict.
    world.wrote("a", "four");
    assert_eq!(world.list(), ["M a conflict"]);
    fs::remove_file(world.project().join("a")).expect("remove");
    assert_eq!(world.list(), ["A a conflict"]);
}

#[test]
fn a_sparse_terabyte_stays_sparse() {
    let world = World::new(&[]);
    File::create(world.layer().join("huge")).expect("make").set_len(1 << 40).expect("grow");
    world.apply(json!({}));
    let there = fs::metadata(world.project().join("huge")).expect("there");
    assert_eq!((there.len(), there.blocks()), (1 << 40, 0));
    assert_eq!(world.list(), [""; 0]);
}

#[test]
fn a_synced_project_is_left_to_the_stop() {
    let world = World::new(&[("a", "1")]);
    world.wrote("a", "2");
    let path = world.state().join("project.json");
    let text = fs::read_to_string(&path).expect("read").replace("\"is_synced\":false", "\"is_synced\":true");
    fs::write(&path, text).expect("write");
    assert_eq!(world.list(), ["M a"]);
    let told = world.ask("apply", json!({}));
    assert!(told.code == Some(1) && told.stderr.contains("conflict"), "{}", told.stderr);
    assert_eq!(world.on_host("a").as_deref(), Some("1"));
}

#[test]
fn names_of_one_file_are_not_taken_for_changes_of_the_host() {
    let mut world = World::new(&[("directory/a", "old"), ("x", "old")]);
    for (name, link) in [("directory/a", "directory/b"), ("x", "y")] {
        fs::hard_link(world.project().join(name), world.project().join(link)).expect("link");
    }
    world.begin();
    world.removed("directory");
    world.wrote("x", "sandbox x");
    world.wrote("y", "sandbox y");
    assert_eq!(world.apply(json!({})).end()["conflicts"], 0);
    assert!(!world.project().join("directory").exists());
    assert_eq!((world.on_host("x").as_deref(), world.on_host("y").as_deref()), (Some("sandbox x"), Some("sandbox y")));
}
