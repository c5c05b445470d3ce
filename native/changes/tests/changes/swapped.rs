//! A sandbox that replaces files by others all the time, while they are looked at.

use std::{
    fs,
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use crate::harness::World;

#[test]
fn what_is_swapped_meanwhile_concerns_its_own_path_alone() {
    let names: Vec<String> = (0..200).map(|i| format!("d/{i:03}")).collect();
    let world = World::new(&names.iter().map(|name| (name.as_str(), "same")).collect::<Vec<_>>());
    for name in &names {
        world.wrote(name, "same");
    }
    world.wrote("d/new", "x");
    let aside = world.state().join("disk/aside");
    fs::create_dir(&aside).expect("make");
    fs::create_dir(aside.join("directory")).expect("make");
    symlink("../d/new", aside.join("link")).expect("link");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for (index, name) in names.iter().enumerate() {
                    let other = aside.join(if index % 2 == 0 { "directory" } else { "link" });
                    for _ in 0..2 {
                        renameat_with(CWD, world.layer().join(name), CWD, &other, RenameFlags::EXCHANGE).expect("swap");
                    }
                }
            }
        });
        let told: Vec<_> = (0..20).map(|_| world.ask("list", json!({}))).collect();
        let applied = world.ask("apply", json!({ "overridesHost": true }));
        is_over.store(true, Ordering::Relaxed);
        for told in told.iter().chain([&applied]) {
            assert_eq!(told.code, Some(0), "{}", told.stderr);
            assert!(told.letters().contains(&"A d/new".to_owned()));
        }
    });
}
