//! A patch, applied by git itself, makes of the host's project what the sandbox has.

use std::{
    fs::{self, Permissions},
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use crate::harness::World;
use serde_json::json;

fn git_apply(directory: &Path, patch: &[u8]) {
    let mut git = Command::new("git")
        .args(["apply", "--unidiff-zero", "--verbose", "-"])
        .current_dir(directory)
        .env("GIT_CEILING_DIRECTORIES", directory.parent().expect("parent"))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("git");
    git.stdin.take().expect("stdin").write_all(patch).expect("write");
    let output = git.wait_with_output().expect("end");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(patch));
}

#[test]
fn git_applies_it() {
    let text: String = (0..200).map(|line| format!("line {line}\n")).collect();
    let world = World::new(&[
        ("src/long.txt", &text),
        ("no-newline", "end"),
        ("gone", "g\n"),
        ("name", "the same\n"),
        ("with blank", "x\n"),
        ("script", "s\n"),
        ("to-link", "l\n"),
        ("old.bin", "\0old\n"),
    ]);
    world.wrote("src/long.txt", &text.replace("line 5\n", "").replace("line 100\n", "changed\nand more\n"));
    world.wrote("no-newline", "end\nmore");
    world.removed("gone");
    world.removed("name");
    world.wrote("new/ä \"name\"", "the same\n");
    world.wrote("with blank", "y\n");
    world.wrote("script", "s\n");
    fs::set_permissions(world.layer().join("script"), Permissions::from_mode(0o755)).expect("chmod");
    world.linked("to-link", "script");
    world.linked("new/link", "../script");
    let image: Vec<u8> = (0..100_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
    fs::write(world.layer().join("new/image.bin"), &image).expect("write");
    world.wrote("old.bin", "\0new\n");
    world.wrote("empty", "");
    let told = world.ask("patch", json!({}));
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    git_apply(&world.project(), &told.stdout);
    let text = |path: &str| world.on_host(path).expect(path);
    assert_eq!(text("src/long.txt"), fs::read_to_string(world.layer().join("src/long.txt")).expect("read"));
    assert_eq!(
        (text("no-newline"), text("with blank"), text("new/ä \"name\"")),
        ("end\nmore".into(), "y\n".into(), "the same\n".into())
    );
    assert_eq!((text("old.bin"), text("empty"), text("to-link")), ("\0new\n".into(), String::new(), "s\n".into()));
    assert_eq!(fs::read(world.project().join("new/image.bin")).expect("read"), image);
    assert!(!world.project().join("gone").exists() && !world.project().join("name").exists());
    assert_eq!(fs::read_link(world.project().join("new/link")).expect("link"), Path::new("../script"));
    let mode = fs::metadata(world.project().join("script")).expect("there").permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
}

#[test]
fn what_git_would_not_take_is_named_and_left_out() {
    let world = World::new(&[(".git/HEAD", "ref\n"), ("a", "1\n")]);
    world.wrote(".git/HEAD", "other\n");
    world.linked("away", "/etc");
    world.wrote("a", "2\n");
    let told = world.ask("patch", json!({}));
    assert!(told.stderr.contains("not in the patch: .git/HEAD") && told.stderr.contains("away"), "{}", told.stderr);
    git_apply(&world.project(), &told.stdout);
    assert_eq!((world.on_host("a").as_deref(), world.on_host(".git/HEAD").as_deref()), (Some("2\n"), Some("ref\n")));
}
