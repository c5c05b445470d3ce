//! Files that control programs which the user runs later are applied, or carried over by a stop, only after a yes.

use std::fs;

use serde_json::json;

use crate::harness::World;

fn world() -> World {
    let world =
        World::new(&[("CLAUDE.md", "old"), ("a", "a"), (".github/workflows/ci.yml", "ci"), ("b/CLAUDE.md", "b")]);
    world.wrote("CLAUDE.md", "evil");
    world.wrote("a", "new");
    world.wrote("same/CLAUDE.md", "new");
    world.wrote(".github/workflows/evil.yml", "evil");
    world.wrote(".github/other", "fine");
    world.wrote(".claude/settings.json", "evil");
    world.removed(".github/workflows/ci.yml");
    world.removed("b");
    world
}

const ALL: [&str; 8] = [
    "A .claude/settings.json refused",
    "A .github/other",
    "A .github/workflows/evil.yml review",
    "D .github/workflows/ci.yml review",
    "D b/CLAUDE.md review",
    "M CLAUDE.md review",
    "M a",
    "A same/CLAUDE.md review",
];

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

fn expected(lines: &[&str]) -> Vec<String> {
    sorted(lines.iter().map(|line| (*line).to_owned()).collect())
}

#[test]
fn apply_leaves_what_waits_for_a_review_until_it_is_named() {
    let world = world();
    assert_eq!(sorted(world.list()), expected(&ALL));
    let told = world.apply(json!({}));
    assert_eq!(sorted(told.letters()), expected(&ALL));
    assert_eq!(
        (&told.end()["applied"], &told.end()["held"], &told.end()["refused"]),
        (&json!(2), &json!(5), &json!(1))
    );
    let read = |path: &str| world.on_host(path);
    assert_eq!((read("CLAUDE.md").as_deref(), read("a").as_deref()), (Some("old"), Some("new")));
    assert_eq!((read(".github/workflows/evil.yml"), read("same/CLAUDE.md")), (None, None));
    assert_eq!((read(".github/workflows/ci.yml").as_deref(), read("b/CLAUDE.md").as_deref()), (Some("ci"), Some("b")));
    assert_eq!(read(".github/other").as_deref(), Some("fine"));
    world.apply(json!({ "yesTo": ["CLAUDE.md", ".github"] }));
    assert_eq!(
        (read("CLAUDE.md").as_deref(), read(".github/workflows/evil.yml").as_deref()),
        (Some("evil"), Some("evil"))
    );
    assert_eq!((read(".github/workflows/ci.yml"), read("same/CLAUDE.md")), (None, None));
    world.apply(json!({ "yesToAll": true }));
    assert_eq!((read("same/CLAUDE.md").as_deref(), read("b/CLAUDE.md")), (Some("new"), None));
    assert!(!world.project().join(".claude").exists(), "what is never applied stays so");
}

#[test]
fn a_force_against_conflicts_is_no_yes() {
    let world = World::new(&[("CLAUDE.md", "old")]);
    world.wrote("CLAUDE.md", "evil");
    fs::write(world.project().join("CLAUDE.md"), "host").expect("write");
    assert_eq!(world.list(), ["M CLAUDE.md conflict"]);
    let forced = json!({ "paths": ["CLAUDE.md"], "overridesHost": true });
    assert_eq!(world.apply(forced).end()["held"], 1);
    assert_eq!(world.on_host("CLAUDE.md").as_deref(), Some("host"));
    world.apply(json!({ "paths": ["CLAUDE.md"], "overridesHost": true, "yesTo": ["CLAUDE.md"] }));
    assert_eq!(world.on_host("CLAUDE.md").as_deref(), Some("evil"));
}

#[test]
fn a_stop_sets_aside_what_waits_for_a_review_and_it_can_be_applied_later() {
    let world = world();
    world.linked(".husky", "elsewhere");
    let told = world.ask("carry", json!({}));
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let end = told.end().clone();
    let held = [".github/workflows/ci.yml", ".github/workflows/evil.yml", "CLAUDE.md", "b/CLAUDE.md", "same/CLAUDE.md"];
    assert_eq!(end["held"], json!(held));
    assert_eq!(end["written"], json!([".github/other", ".husky", "a", "same"]));
    assert_eq!((&end["refused"], &end["deleted"]), (&json!([".claude"]), &json!([])));
    assert_eq!(
        (world.on_host("CLAUDE.md").as_deref(), world.on_host("b/CLAUDE.md").as_deref()),
        (Some("old"), Some("b"))
    );
    let world = world.held(end["heldAs"].as_str().expect("a name"));
    let waiting: Vec<&str> = ALL.into_iter().filter(|line| line.ends_with("review")).collect();
    assert_eq!(sorted(world.list()), expected(&waiting));
    assert_eq!(world.apply(json!({})).end()["applied"], 0);
    world.apply(json!({ "yesToAll": true }));
    assert_eq!(world.on_host("CLAUDE.md").as_deref(), Some("evil"));
    assert_eq!(world.on_host("same/CLAUDE.md").as_deref(), Some("new"));
    assert_eq!((world.on_host("b/CLAUDE.md"), world.on_host(".github/workflows/ci.yml")), (None, None));
    assert_eq!(world.list(), [""; 0]);
}

#[test]
fn where_nothing_waits_nothing_is_made() {
    let world = World::new(&[("CLAUDE.md", "same"), ("a", "a")]);
    world.wrote("CLAUDE.md", "same");
    fs::set_permissions(
        world.layer().join("CLAUDE.md"),
        fs::metadata(world.project().join("CLAUDE.md")).expect("look").permissions(),
    )
    .expect("chmod");
    world.wrote("a", "b");
    let told = world.ask("carry", json!({}));
    assert_eq!((&told.end()["held"], &told.end()["heldAs"]), (&json!([]), &json!(null)));
    assert!(!world.set_aside().exists());
}
