//! An image's layers as one disk, read back by the filesystem's own tools.

mod harness;

use std::{fs, path::Path, process::Command};

use harness::{Actor, Item, Store, actors};

const MIB: u64 = 1 << 20;

/// Output of a tool about a path on the disk.
fn told_of(disk: &Path, path: &str) -> String {
    let output = Command::new("dump.erofs").arg(format!("--path={path}")).arg(disk).output().expect("dump.erofs");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn extracted(disk: &Path) -> std::path::PathBuf {
    let directory = disk.with_extension("tree");
    let output = Command::new("fsck.erofs")
        .arg(format!("--extract={}", directory.display()))
        .arg(disk)
        .output()
        .expect("fsck.erofs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    directory
}

#[test]
fn layers_become_one_disk_with_what_is_hidden_left_out() {
    for actor in actors() {
        let mut store = Store::new(actor);
        store.layer([
            Item::directory("a"),
            Item::file("a/gone", "1"),
            Item::file("a/kept", "below"),
            Item::file("su", "x").mode(0o751).owner(7, 8).time(1_000_000_000),
        ]);
        store.layer([Item::file("a/.wh.gone", ""), Item::file("a/new", "above"), Item::symlink("to", "a/new")]);
        let (answer, disk) = store.disk(64 * MIB);
        assert_eq!(answer["event"], "done", "{answer}");
        assert_eq!(answer["bytes"].as_u64(), Some(fs::metadata(&disk).expect("the disk").len()));
        let tree = extracted(&disk);
        assert_eq!(fs::read_to_string(tree.join("a/kept")).expect("a file"), "below");
        assert_eq!(fs::read_to_string(tree.join("a/new")).expect("a file"), "above");
        assert_eq!(fs::read_link(tree.join("to")).expect("a link"), Path::new("a/new"));
        assert!(!tree.join("a/gone").exists(), "{actor:?}");
        let told = told_of(&disk, "/su");
        let owners = if actor == Actor::Root { ("7", "8") } else { ("0", "0") };
        assert!(told.contains("0751") && told.contains("2001-09-09"), "{told}");
        let line =
            told.lines().find(|line| line.contains("Uid:")).expect("owners").split_whitespace().collect::<Vec<_>>();
        assert_eq!((line[1], line[3]), owners, "{actor:?} {told}");
    }
}

#[test]
fn the_same_layers_are_the_same_bytes() {
    let mut store = Store::new(actors()[0]);
    store.layer([Item::directory("d"), Item::file("d/f", vec![b'x'; 100_000]).time(5), Item::symlink("l", "d")]);
    let disks: Vec<Vec<u8>> = (0..2).map(|_| fs::read(store.disk(64 * MIB).1).expect("a disk")).collect();
    assert!(disks[0] == disks[1], "two disks of one image differ");
}

#[test]
fn a_disk_that_would_be_too_large_is_refused() {
    for actor in actors() {
        let mut store = Store::new(actor);
        store.layer([Item::file("f", (0..2 * MIB).map(|n| (n * n % 251) as u8).collect::<Vec<_>>())]);
        let (answer, _) = store.disk(MIB);
        assert_eq!((answer["event"].as_str(), answer["code"].as_str()), (Some("failed"), Some("resource_exhausted")));
    }
}
