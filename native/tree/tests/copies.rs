//! Directories through the stream and back, and malformed streams.

use std::{
    fs::{self, File, Permissions},
    os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink},
    path::Path,
    process::Command,
};

use ak_tree::{Destination, Failure, Limits, Links, Reader, Report, Writer};

const ROOMY: Limits = Limits { bytes: 1 << 30, entries: 100_000 };

fn stream_of(path: &Path) -> Vec<u8> {
    let mut reader = Reader::open(path, Box::new(|_| None)).expect("open");
    let mut stream = Vec::new();
    while reader.fill(&mut stream, usize::MAX) {}
    stream
}

fn to(path: &Path, name: &str) -> Destination {
    Destination { path: path.to_owned(), name: name.into(), contents: false }
}

/// In pieces of an odd length, as a stream may come.
fn write(stream: &[u8], destination: Destination, links: Links, limits: Limits) -> Result<Report, Failure> {
    let mut writer = Writer::new(destination, links, limits);
    stream.chunks(777).try_for_each(|piece| writer.push(piece))?;
    writer.finish()
}

fn notes(report: &Report) -> Vec<&str> {
    let mut paths: Vec<&str> = report.notes.iter().map(|note| note.path.as_str()).collect();
    paths.sort_unstable();
    paths
}

/// Builds any record, also malformed ones.
fn record(kind: u8, path: &str, rest: &[u8]) -> Vec<u8> {
    [&[kind][..], &(path.len() as u16).to_le_bytes(), path.as_bytes(), rest].concat()
}

fn directory(path: &str) -> Vec<u8> {
    record(b'D', path, &[&0o755u32.to_le_bytes()[..], &0i64.to_le_bytes()].concat())
}

fn file(path: &str, text: &str) -> Vec<u8> {
    let size = text.len() as u64;
    let head = [&0o4755u32.to_le_bytes()[..], &0i64.to_le_bytes(), &size.to_le_bytes()].concat();
    let chunk =
        if text.is_empty() { Vec::new() } else { [&b"C"[..], &(size as u32).to_le_bytes(), text.as_bytes()].concat() };
    [record(b'F', path, &head), chunk, b"E".to_vec()].concat()
}

fn link(path: &str, target: &str) -> Vec<u8> {
    record(b'L', path, &[&(target.len() as u16).to_le_bytes()[..], target.as_bytes()].concat())
}

#[test]
fn a_directory_arrives_as_it_was() {
    let base = tempfile::tempdir().expect("directory");
    let source = base.path().join("source");
    fs::create_dir_all(source.join("deep/er")).expect("make");
    fs::create_dir(source.join("empty")).expect("make");
    let large: Vec<u8> = (0..1_000_000u32).map(|n| (n % 251) as u8).collect();
    fs::write(source.join("deep/er/large"), &large).expect("write");
    fs::write(source.join("run"), "x").expect("write");
    fs::set_permissions(source.join("run"), Permissions::from_mode(0o4755)).expect("chmod");
    fs::set_permissions(source.join("empty"), Permissions::from_mode(0o500)).expect("chmod");
    symlink("deep/er/large", source.join("link")).expect("link");
    symlink("/etc/passwd", source.join("away")).expect("link");
    assert!(Command::new("mkfifo").arg(source.join("pipe")).status().expect("mkfifo").success());
    let stream = stream_of(&source);
    let report = write(&stream, to(&base.path().join("copy"), "source"), Links::Inside, ROOMY).expect("copied");
    assert_eq!((report.files, report.directories, report.links, report.bytes), (2, 4, 1, 1_000_001));
    assert_eq!(notes(&report), ["away", "pipe"]);
    let copy = base.path().join("copy");
    assert_eq!(fs::read(copy.join("link")).expect("read"), large);
    let mode = |name: &str| fs::metadata(copy.join(name)).expect("there").mode() & 0o7777;
    assert_eq!((mode("run"), mode("empty")), (0o755, 0o500));
    let times = |base: &Path| fs::metadata(base.join("run")).expect("there").mtime();
    assert_eq!(times(&copy), times(&source));
    // Once more into a directory that is there: under its own name, and over what is there.
    let again = write(&stream, to(&copy, "source"), Links::Any, ROOMY).expect("copied");
    assert_eq!(notes(&again), ["pipe"]);
    assert_eq!(fs::read_link(copy.join("source/away")).expect("link"), Path::new("/etc/passwd"));
    let merged = Destination { contents: true, ..to(&copy, "source") };
    fs::write(source.join("run"), "y").expect("write");
    write(&stream_of(&source), merged, Links::Inside, ROOMY).expect("copied");
    assert_eq!(fs::read_to_string(copy.join("run")).expect("read"), "y");
}

#[test]
fn a_file_arrives_where_it_is_meant_to() {
    let base = tempfile::tempdir().expect("directory");
    fs::write(base.path().join("a"), "text").expect("write");
    fs::create_dir(base.path().join("into")).expect("make");
    let stream = stream_of(&base.path().join("a"));
    let send = |path: &str| write(&stream, to(&base.path().join(path), "a"), Links::Inside, ROOMY);
    send("b").expect("a new name");
    send("into").expect("a directory");
    send("into/c").expect("a new name in a directory");
    for name in ["b", "into/a", "into/c"] {
        assert_eq!(fs::read_to_string(base.path().join(name)).expect(name), "text");
    }
    assert_eq!(send("no/such").expect_err("no directory").code, "not_found");
    assert_eq!(send("new/").expect_err("no directory").code, "not_found");
    let tree = stream_of(&base.path().join("into"));
    let onto_file = write(&tree, to(&base.path().join("a"), "into"), Links::Inside, ROOMY);
    assert_eq!(onto_file.expect_err("a file is there").code, "not_dir");
    assert_eq!(Reader::open(Path::new("/dev/null"), Box::new(|_| None)).err().expect("a device").code, "not_regular");
}

#[test]
fn nothing_is_written_outside_whatever_is_sent() {
    let base = tempfile::tempdir().expect("directory");
    let outside = base.path().join("outside");
    fs::create_dir(&outside).expect("make");
    let out = outside.to_str().expect("path");
    let streams: [Vec<Vec<u8>>; 9] = [
        vec![directory(""), file("../escaped", "x")],
        vec![directory(""), file("a/../../escaped", "x")],
        vec![directory(""), file(&format!("{out}/escaped"), "x")],
        vec![directory(""), link("l", out), file("l/escaped", "x")],
        vec![directory(""), link("l", out), directory("l"), file("l/escaped", "x")],
        vec![directory(""), link("l", "../outside"), file("l", "x")],
        vec![directory(""), file("..", "x")],
        vec![directory(""), directory(".."), file("../escaped", "x")],
        vec![link("", out), directory(""), file("escaped", "x")],
    ];
    for (index, stream) in streams.iter().enumerate() {
        for links in [Links::Inside, Links::Any] {
            let target = base.path().join(format!("t{index}{links:?}"));
            let bytes = [stream.concat(), b"Z".to_vec()].concat();
            // Whether it fails or leaves things out is its own business.
            let _ = write(&bytes, to(&target, "x"), links, ROOMY);
            assert_eq!(fs::read_dir(&outside).expect("read").count(), 0, "stream {index}");
            assert!(!base.path().join("escaped").exists(), "stream {index}");
        }
    }
}

#[test]
fn a_link_in_the_place_of_a_directory_is_not_followed_and_one_of_a_file_is_replaced() {
    let base = tempfile::tempdir().expect("directory");
    let (outside, target) = (base.path().join("outside"), base.path().join("target"));
    fs::create_dir_all(&target).expect("make");
    fs::create_dir(&outside).expect("make");
    fs::write(outside.join("file"), "of the host").expect("write");
    symlink(&outside, target.join("d")).expect("link");
    symlink(outside.join("file"), target.join("f")).expect("link");
    let stream = [directory(""), directory("d"), file("d/file", "x"), file("f", "new"), b"Z".to_vec()].concat();
    let destination = Destination { contents: true, ..to(&target, "x") };
    let report = write(&stream, destination, Links::Any, ROOMY).expect("copied");
    assert_eq!(notes(&report), ["d"]);
    assert_eq!(fs::read_to_string(outside.join("file")).expect("read"), "of the host");
    assert_eq!(fs::read_to_string(target.join("f")).expect("read"), "new");
    assert!(!fs::symlink_metadata(target.join("f")).expect("there").is_symlink());
}

#[test]
fn limits_hold_and_names_that_mislead_are_left_out() {
    let base = tempfile::tempdir().expect("directory");
    let target = base.path().join("t");
    File::create(base.path().join("huge")).expect("make").set_len(1 << 40).expect("grow");
    let mut reader = Reader::open(&base.path().join("huge"), Box::new(|_| None)).expect("open");
    let mut start = Vec::new();
    reader.fill(&mut start, 1);
    assert_eq!(write(&start, to(&target, "huge"), Links::Inside, ROOMY).expect_err("too large").code, "too_large");
    // One that says it is small.
    let endless =
        [record(b'F', "", &[0; 20]), [&b"C"[..], &1000u32.to_le_bytes(), &[7; 1000]].concat().repeat(10)].concat();
    let small = Limits { bytes: 5000, entries: 10 };
    assert_eq!(write(&endless, to(&target, "f"), Links::Inside, small).expect_err("too large").code, "too_large");
    assert!(!target.exists());
    let many = [directory(""), (0..20).flat_map(|n| file(&n.to_string(), "")).collect()].concat();
    assert_eq!(write(&many, to(&target, "f"), Links::Inside, small).expect_err("too many").code, "too_large");
    let odd = [
        directory(""),
        file("a\u{1b}[2J", "x"),
        directory("b\n"),
        file("b\n/c", "x"),
        file("fine", "x"),
        b"Z".to_vec(),
    ];
    let report = write(&odd.concat(), to(&base.path().join("odd"), "f"), Links::Inside, ROOMY).expect("copied");
    assert_eq!((report.files, notes(&report)), (1, vec!["a\u{1b}[2J", "b\n"]));
}

#[test]
fn holes_stay_holes_where_both_ends_know_of_them() {
    let base = tempfile::tempdir().expect("directory");
    let source = base.path().join("s");
    fs::create_dir(&source).expect("make");
    let sparse = File::create(source.join("sparse")).expect("make");
    sparse.set_len(1 << 40).expect("grow");
    sparse.write_all_at(b"first", 1 << 20).expect("write");
    sparse.write_all_at(b"last", (1 << 40) - 4).expect("write");
    File::create(source.join("empty")).expect("make").set_len(1 << 40).expect("grow");
    let mut reader = Reader::open(&source, Box::new(|_| None)).expect("open").telling_holes();
    let mut stream = Vec::new();
    while reader.fill(&mut stream, usize::MAX) {}
    assert!(stream.len() < 1 << 20);
    let refused = write(&stream, to(&base.path().join("t"), "s"), Links::Any, ROOMY).expect_err("of a terabyte");
    assert_eq!(refused.code, "too_large");
    let target = base.path().join("u");
    let small = Limits { bytes: 1 << 20, entries: 10 };
    let mut writer = Writer::new(to(&target, "s"), Links::Any, small).taking_holes();
    stream.chunks(7).for_each(|part| writer.push(part).expect("write"));
    assert_eq!(writer.finish().expect("copied").files, 2);
    for name in ["sparse", "empty"] {
        let seen = fs::metadata(target.join(name)).expect("look");
        assert_eq!((seen.len(), seen.blocks() < 1024), (1 << 40, true), "{name}");
    }
    let copied = File::open(target.join("sparse")).expect("open");
    let mut bytes = [0; 6];
    copied.read_exact_at(&mut bytes, (1 << 20) - 1).expect("read");
    assert_eq!(&bytes, b"\0first");
    copied.read_exact_at(&mut bytes[..5], (1 << 40) - 5).expect("read");
    assert_eq!(&bytes[..5], b"\0last");
}

#[test]
fn a_stream_that_breaks_off_or_is_none_fails_and_leaves_no_half_file() {
    let base = tempfile::tempdir().expect("directory");
    let whole = [directory(""), directory("d"), file("d/f", "text"), b"Z".to_vec()].concat();
    for cut in 0..whole.len() {
        let target = base.path().join(format!("t{cut}"));
        assert!(write(&whole[..cut], to(&target, "x"), Links::Inside, ROOMY).is_err(), "cut at {cut}");
        let left = fs::read_dir(target.join("d")).map(|entries| entries.count()).unwrap_or(0);
        let is_whole = fs::read_to_string(target.join("d/f")).is_ok_and(|text| text == "text");
        assert!(left == 0 || is_whole, "cut at {cut}");
    }
    for bad in [&b"Z"[..], b"?", &[whole.clone(), b"Z".to_vec()].concat(), &[directory(""), directory("")].concat()] {
        assert!(write(bad, to(&base.path().join("bad"), "x"), Links::Inside, ROOMY).is_err());
    }
}

#[test]
fn what_is_skipped_is_said_and_what_cannot_be_read_does_not_stop_the_rest() {
    let base = tempfile::tempdir().expect("directory");
    let source = base.path().join("s");
    fs::create_dir_all(source.join("d")).expect("make");
    fs::write(source.join("d/.env"), "secret").expect("write");
    fs::write(source.join("a"), "x").expect("write");
    let skip = |path: &[u8]| path.ends_with(b".env").then_some("hidden");
    let mut reader = Reader::open(&source, Box::new(skip)).expect("open");
    let mut stream = Vec::new();
    while reader.fill(&mut stream, usize::MAX) {}
    let report = write(&stream, to(&base.path().join("t"), "s"), Links::Inside, ROOMY).expect("copied");
    assert_eq!((report.files, notes(&report)), (1, vec!["d/.env"]));
    assert!(!stream.windows(6).any(|part| part == b"secret"));
}
