//! Which changes are found, and which are not reported.

use std::{
    fs::{self, File, Permissions},
    os::unix::fs::PermissionsExt,
    process::Command,
};

use crate::harness::World;
use serde_json::json;

#[test]
fn new_changed_deleted_and_renamed_files_are_told() {
    let world = World::new(&[("a", "one\n"), ("b", "two\n"), ("d/c", "three\n"), ("d/e", "four\n"), ("same", "x")]);
    world.wrote("a", "other\n");
    world.wrote("new/file", "new\n");
    world.wrote("empty/", "");
    world.removed("b");
    world.removed("d");
    world.wrote("moved", "three\n");
    world.wrote("same", "x");
    let listed = ["M a", "D b", "D d/e", "A empty", "R d/c -> moved", "A new/file"];
    assert_eq!(world.list(), listed);
    let told = world.ask("list", json!({ "paths": ["d", "new"], "countsLines": true }));
    assert_eq!(told.letters(), ["D d/c", "D d/e", "A new/file"]);
    assert_eq!(told.lines[2]["lines"], json!([1, 0]));
    assert_eq!(world.ask("list", json!({ "paths": ["nowhere"] })).end()["unmatched"], json!(["nowhere"]));
}

#[test]
fn modes_links_and_directories_made_anew_are_told() {
    let world = World::new(&[("run.sh", "x\n"), ("d/old", "x"), ("d/kept", "k"), ("file", "f"), ("directory/in", "i")]);
    world.wrote("run.sh", "x\n");
    fs::set_permissions(world.layer().join("run.sh"), Permissions::from_mode(0o755)).expect("chmod");
    world.made_anew("d");
    world.wrote("d/kept", "k");
    world.linked("link", "run.sh");
    world.wrote("file/in", "i2");
    world.linked("directory", "d");
    let told = world.ask("list", json!({}));
    assert_eq!(
        told.letters(),
        ["D d/old", "A directory", "D directory/in", "D file", "A file/in", "A link", "M run.sh"]
    );
    let run = &told.lines[6];
    assert_eq!((&run["mode"], &run["old"]["mode"]), (&json!(0o755), &json!(0o644)));
    assert_eq!(told.lines[5]["target"], "run.sh");
}

#[test]
fn secrets_are_neither_told_nor_compared() {
    let world = World::new(&[
        (".env", "SECRET=1\n"),
        ("d/.env", "SECRET=2\n"),
        ("d/x", "x"),
        (".npmrc", "_authToken=8f3c0a1277aa"),
    ]);
    fs::hard_link(world.project().join(".env"), world.project().join("innocent")).expect("link");
    world.wrote(".env", "mine\n");
    world.wrote("innocent", "mine\n");
    world.wrote(".npmrc", "mine\n");
    world.removed("d");
    let told = world.ask("list", json!({ "countsLines": true }));
    assert_eq!(told.letters(), ["A .env refused", "A .npmrc refused", "D d/x", "A innocent refused"]);
    let patch = world.ask("patch", json!({}));
    for said in [&told, &patch] {
        let text = String::from_utf8_lossy(&said.stdout).into_owned() + &said.stderr;
        assert!(!text.contains("SECRET") && !text.contains("_authToken") && !text.contains("d/.env"), "{text}");
        assert!(said.lines.iter().all(|line| line.get("old").is_none_or(|old| old["size"] != 9)));
    }
    world.apply(json!({ "overridesHost": true }));
    assert_eq!(world.on_host(".env").as_deref(), Some("SECRET=1\n"));
    assert_eq!(world.on_host("d/.env").as_deref(), Some("SECRET=2\n"));
    assert_eq!(world.on_host("innocent").as_deref(), Some("SECRET=1\n"));
}

#[test]
fn protected_and_special_files_and_links_that_lead_away_are_refused() {
    let world = World::new(&[(".git/hooks/pre-commit", "true\n"), ("src/a", "a")]);
    world.wrote(".git/hooks/pre-commit", "evil\n");
    world.wrote(".git/HEAD", "x\n");
    world.wrote(".claude/settings.json", "{}");
    world.linked("passwd", "/etc/passwd");
    world.linked("up", "../outside");
    world.linked("src/fine", "a");
    world.wrote("bad\u{1b}[2Jname", "x");
    let fifo = Command::new("mkfifo").arg(world.layer().join("pipe")).status().expect("mkfifo");
    assert!(fifo.success());
    world.wrote(&("deep/".repeat(250) + "file"), "x");
    let told = world.ask("list", json!({}));
    let refused = told.letters().into_iter().filter(|line| line.ends_with("refused")).count();
    assert_eq!(refused, told.letters().len() - 2, "{:?}", told.letters());
    assert!(told.letters().contains(&"A src/fine".into()) && told.letters().contains(&"A .git/HEAD".into()));
    let applied = world.apply(json!({ "overridesHost": true }));
    assert_eq!(applied.end()["applied"], 2);
    assert_eq!(world.on_host(".git/hooks/pre-commit").as_deref(), Some("true\n"));
    for path in [".claude", "passwd", "up", "pipe", "bad\u{1b}[2Jname"] {
        assert!(fs::symlink_metadata(world.project().join(path)).is_err(), "{path}");
    }
}

#[test]
fn a_sparse_terabyte_costs_nothing_to_list() {
    let world = World::new(&[]);
    File::create(world.layer().join("huge")).expect("make").set_len(1 << 40).expect("grow");
    let told = world.ask("list", json!({ "countsLines": true }));
    assert_eq!((told.letters(), &told.lines[0]["size"]), (vec!["A huge".into()], &json!(1u64 << 40)));
    let patch = world.ask("patch", json!({}));
    assert!(patch.stderr.contains("larger than") && patch.stdout.len() < 1000);
}

#[test]
fn links_of_the_host_are_not_followed() {
    let world = World::new(&[]);
    let outside = tempfile::tempdir().expect("directory");
    fs::write(outside.path().join("secret"), "outside\n").expect("write");
    std::os::unix::fs::symlink(outside.path(), world.project().join("d")).expect("link");
    world.wrote("d/secret", "mine\n");
    let text = String::from_utf8(world.ask("patch", json!({})).stdout).expect("text");
    assert!(text.contains("+mine") && !text.contains("-outside"), "{text}");
    world.apply(json!({ "overridesHost": true }));
    assert_eq!(fs::read_to_string(outside.path().join("secret")).expect("there"), "outside\n");
}

#[test]
fn a_sandbox_without_a_copy_says_so() {
    let world = World::new(&[]);
    fs::remove_file(world.state().join("project.json")).expect("remove");
    let told = world.ask("list", json!({}));
    assert!(told.code == Some(1) && told.stderr.contains("unsupported"), "{}", told.stderr);
}
