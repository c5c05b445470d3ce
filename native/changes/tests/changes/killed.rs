//! A process that applies may be killed at any moment.

use std::fs;

use serde_json::json;

use crate::harness::World;

const FILES: usize = 120;

#[test]
fn every_file_is_the_old_or_the_new_one_and_the_next_order_does_the_rest() {
    let name = |n: usize| format!("d{}/f{n:03}", n % 7);
    let (old, new) = ("old ".repeat(5000), "new ".repeat(50_000));
    let files: Vec<(String, &str)> = (0..FILES).map(|n| (name(n), old.as_str())).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    for stop_at in [0, 1, 40, 80, 119] {
        let world = World::new(&files);
        for n in 0..FILES {
            world.wrote(&name(n), &new);
        }
        world.wrote("gone-then-here", "x");
        let mut applying = world.start("apply", json!({}));
        let is_new = |n: usize| fs::metadata(world.project().join(name(n))).expect("there").len() == new.len() as u64;
        // Files are put in their places by name.
        let mut in_order: Vec<usize> = (0..FILES).collect();
        in_order.sort_by_key(|n| name(*n));
        while applying.try_wait().expect("look").is_none() && !is_new(in_order[stop_at]) {
            std::hint::spin_loop();
        }
        applying.kill().expect("kill");
        applying.wait().expect("end");
        for n in 0..FILES {
            let text = world.on_host(&name(n)).expect("there");
            assert!(text == old || text == new, "{} is neither", name(n));
        }
        let told = world.apply(json!({}));
        assert_eq!(told.end()["conflicts"], 0);
        assert!((0..FILES).all(|n| world.on_host(&name(n)).is_some_and(|text| text == new)));
        assert_eq!(world.list(), [""; 0]);
        let left = walk(&world.project()).into_iter().filter(|name| name.starts_with(".agentkernel")).count();
        assert_eq!(left, 0, "stopped at {stop_at}");
    }
}

fn walk(directory: &std::path::Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).expect("read").map(|entry| entry.expect("entry")) {
        names.push(entry.file_name().to_string_lossy().into_owned());
        if entry.path().is_dir() {
            names.extend(walk(&entry.path()));
        }
    }
    names
}

#[test]
fn a_carry_that_is_killed_has_moved_files_in_both_places_rather_than_in_none() {
    let names = |directory: &str| (0..FILES).map(|n| format!("{directory}/f{n:03}")).collect::<Vec<_>>();
    let (old, new) = (names("a"), names("z"));
    let files: Vec<(&str, &str)> = old.iter().map(|path| (path.as_str(), "work")).collect();
    let world = World::new(&files);
    for (old, new) in old.iter().zip(&new) {
        world.removed(old);
        world.wrote(new, &"work".repeat(50_000));
    }
    let mut carrying = world.start("carry", json!({}));
    while carrying.try_wait().expect("look").is_none() && world.project().join(&old[0]).exists() {
        std::hint::spin_loop();
    }
    carrying.kill().expect("kill");
    carrying.wait().expect("end");
    assert!(new.iter().all(|path| world.project().join(path).exists()));
}
