//! Changes that a container tells of: every byte of it is the sandbox's choice.

use std::{
    fs,
    io::Write,
    os::unix::fs::FileTypeExt,
    path::Path,
    process::{Command, Output, Stdio},
};

use ak_tree::{Listing, Reader};

use crate::harness::World;

/// More than any of these orders needs.
const ADDRESS_SPACE_KIB: usize = 96 << 10;

fn mark(kind: u8, path: &str) -> Vec<u8> {
    [&[kind][..], &(path.len() as u16).to_le_bytes(), path.as_bytes()].concat()
}

/// A directory as the container sends it.
fn tree(directory: &Path) -> Vec<u8> {
    let mut reader = Reader::open(directory, Box::new(|_| None)).expect("open");
    let mut sent = Vec::new();
    while reader.fill(&mut sent, 1 << 20) {}
    sent
}

/// The project as it was, the directory that is sent, and what follows it.
fn receive(world: &World, sent: &Path, marks: impl IntoIterator<Item = Vec<u8>>) -> Output {
    let listing = Listing::of(&world.project()).expect("list").to_bytes();
    fs::write(world.state().join("listing"), listing).expect("write");
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v {ADDRESS_SPACE_KIB}; exec \"$0\" receive \"$1\" 1000000")])
        .arg(env!("CARGO_BIN_EXE_ak-changes"))
        .arg(world.state())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start");
    let mut input = child.stdin.take().expect("stdin");
    for message in [tree(sent), Vec::new()].into_iter().chain(marks).chain([Vec::new()]) {
        let length = (message.len() as u32).to_le_bytes();
        // The receiver closes its input once it has refused the stream.
        if input.write_all(&length).and_then(|()| input.write_all(&message)).is_err() {
            break;
        }
    }
    drop(input);
    child.wait_with_output().expect("end")
}

fn is_whiteout(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_char_device())
}

#[test]
fn what_is_gone_and_what_is_no_file_are_in_the_layer() {
    let world = World::new(&[("kept/a", "x"), ("kept/b", "x"), ("gone/c", "x"), ("gone/d/e", "x")]);
    let sent = tempfile::tempdir().expect("directory");
    fs::create_dir(sent.path().join("new")).expect("make");
    let told = ["gone/d/e", "gone/c", "gone/d", "gone", "kept/a", "never/was"].map(|path| mark(b'D', path)).concat();
    let others = ["new/pipe", "kept/pipe", "unsent/pipe"].map(|path| mark(b'O', path)).concat();
    // Marks are cut anywhere.
    let all = [told, others].concat();
    let done = receive(&world, sent.path(), all.chunks(7).map(<[u8]>::to_vec));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let layer = world.layer();
    assert!(is_whiteout(&layer.join("gone")) && is_whiteout(&layer.join("kept/a")));
    assert!(!layer.join("kept/b").exists() && !layer.join("never").exists() && !layer.join("unsent").exists());
    for pipe in ["new/pipe", "kept/pipe"] {
        assert!(fs::symlink_metadata(layer.join(pipe)).expect("look").file_type().is_fifo(), "{pipe}");
    }
}

#[test]
fn marks_are_not_held() {
    let world = World::new(&[("a", "x")]);
    let sent = tempfile::tempdir().expect("directory");
    let part = mark(b'D', &["x".repeat(200).as_str(); 5].join("/")).repeat(4000);
    let whole = 2 * (ADDRESS_SPACE_KIB << 10);
    let done = receive(&world, sent.path(), std::iter::repeat_n(part.clone(), whole / part.len()));
    assert!(done.status.success(), "{:?} {}", done.status, String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_mark_in_too_many_directories_is_refused_and_makes_none() {
    let world = World::new(&[("a", "x")]);
    let sent = tempfile::tempdir().expect("directory");
    for path in [format!("{}pipe", "d/".repeat(300)), "x".repeat(5000)] {
        let done = receive(&world, sent.path(), [mark(b'O', &path)]);
        assert_eq!(done.status.code(), Some(1), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(fs::read_dir(world.layer()).expect("read").count(), 0);
    }
}

#[test]
fn more_marks_than_a_container_can_have_files_are_refused() {
    let world = World::new(&[("a", "x")]);
    let sent = tempfile::tempdir().expect("directory");
    let part = mark(b'D', "x").repeat(500_000);
    let done = receive(&world, sent.path(), std::iter::repeat_n(part, 5));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.code() == Some(1) && said.contains("resource_exhausted"), "{said}");
}
