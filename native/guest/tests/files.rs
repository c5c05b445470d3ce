//! The file kinds.

mod harness;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use ak_wire::FrameType;
use harness::{Guest, Outcome};
use serde_json::{Value, json};

struct Fixture {
    guest: Guest,
    directory: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { guest: Guest::start(), directory: tempfile::tempdir().expect("a directory") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn request(&mut self, request: Value) -> Outcome {
        let id = self.guest.open(&request);
        self.guest.finish(id)
    }

    fn op(&mut self, op: &str, path: &Path, more: Value) -> Outcome {
        let mut request = json!({"kind": "file-op", "op": op, "path": path});
        if let (Some(into), Value::Object(more)) = (request.as_object_mut(), more) {
            into.extend(more);
        }
        self.request(request)
    }

    fn write(&mut self, path: &Path, more: Value, content: &[u8]) -> Outcome {
        let mut request = json!({"kind": "file-write", "path": path});
        if let (Some(into), Value::Object(more)) = (request.as_object_mut(), more) {
            into.extend(more);
        }
        let id = self.guest.open(&request);
        self.guest.finish_with_input(id, content)
    }

    fn fifo(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, 0o644.into(), 0).expect("mkfifo");
        path
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).expect("read");
        let name = |e: std::io::Result<fs::DirEntry>| e.expect("entry").file_name();
        let mut names: Vec<String> = entries.map(|e| name(e).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

#[test]
fn a_large_file_goes_in_and_comes_out_unchanged() {
    let mut f = Fixture::new();
    let content: Vec<u8> = (0..3_000_001u32).map(|n| (n * 7 + n / 251) as u8).collect();
    let path = f.path("deep/er/file");
    let more = json!({"mode": 0o640, "parents": true});
    let done = f.write(&path, more, &content);
    assert_eq!(done.close, Some(json!({"size": content.len()})));
    assert!(fs::read(&path).expect("read") == content);
    let mode = fs::metadata(&path).expect("stat").permissions().mode();
    assert_eq!(mode & 0o7777, 0o640);
    let done = f.request(json!({"kind": "file-read", "path": path}));
    assert!(done.stdout == content);
    assert_eq!(done.close, Some(json!({})));
    let opened = done.opened.expect("OPENED");
    assert_eq!(opened["size"], content.len());
    assert_eq!(opened["mode"], 0o640);
    let part = json!({"kind": "file-read", "path": path, "offset": 1_000_000, "limit": 70_000});
    assert!(f.request(part).stdout == content[1_000_000..1_070_000]);
    let beyond = json!({"kind": "file-read", "path": path, "offset": 9_000_000});
    assert_eq!(f.request(beyond).stdout, b"");
}

#[test]
fn only_regular_files_are_read_or_written_and_nothing_blocks() {
    let mut f = Fixture::new();
    let fifo = f.fifo("fifo");
    let directory = f.directory.path().to_owned();
    for path in [fifo.clone(), directory.clone(), PathBuf::from("/dev/null")] {
        let read = f.request(json!({"kind": "file-read", "path": path}));
        assert_eq!(read.failure(), "not_regular", "{path:?}");
        let id = f.guest.open(&json!({"kind": "file-write", "path": path}));
        assert_eq!(f.guest.finish(id).failure(), "not_regular", "{path:?}");
    }
    symlink(&fifo, f.path("link")).expect("link");
    let link = f.path("link");
    let read = f.request(json!({"kind": "file-read", "path": link}));
    assert_eq!(read.failure(), "not_regular");
    let missing = f.path("missing");
    let read = f.request(json!({"kind": "file-read", "path": missing}));
    assert_eq!(read.failure(), "not_found");
    let read = f.request(json!({"kind": "file-read", "path": "relative"}));
    assert_eq!(read.failure(), "invalid");
}

#[test]
fn the_old_content_stands_until_the_write_is_complete() {
    let mut f = Fixture::new();
    let path = f.path("file");
    fs::write(&path, "old").expect("write");
    let id = f.guest.open(&json!({"kind": "file-write", "path": path}));
    f.guest.wait_for(id, FrameType::Opened);
    f.guest.send(FrameType::Data, id, 0, b"half");
    f.guest.close(id);
    let closed = f.guest.finish(id).close.expect("CLOSE");
    assert!(closed.get("code").is_some());
    assert_eq!(fs::read(&path).expect("read"), b"old");
    assert_eq!(f.names(), ["file"]);
    f.write(&path, json!({}), b"new");
    assert_eq!(fs::read(&path).expect("read"), b"new");
    assert_eq!(f.names(), ["file"]);
}

#[test]
fn an_unfinished_write_leaves_nothing_when_the_host_goes_away() {
    let mut f = Fixture::new();
    let path = f.path("file");
    let id = f.guest.open(&json!({"kind": "file-write", "path": path}));
    f.guest.wait_for(id, FrameType::Opened);
    assert_eq!(f.names().len(), 1);
    let Fixture { guest, directory } = f;
    guest.hang_up();
    assert_eq!(fs::read_dir(directory.path()).expect("read").count(), 0);
}

#[test]
fn a_link_is_replaced_and_not_written_through() {
    let mut f = Fixture::new();
    let (target, link) = (f.path("target"), f.path("link"));
    fs::write(&target, "kept").expect("write");
    symlink(&target, &link).expect("link");
    f.write(&link, json!({}), b"new");
    assert_eq!(fs::read(&target).expect("read"), b"kept");
    assert!(fs::symlink_metadata(&link).expect("stat").is_file());
}

#[test]
fn stat_tells_what_a_path_is_without_following_it() {
    let mut f = Fixture::new();
    let (file, link) = (f.path("file"), f.path("link"));
    fs::write(&file, "12345").expect("write");
    symlink("file", &link).expect("link");
    let fifo = f.fifo("fifo");
    let directory = f.directory.path().to_owned();
    let mut stat = |path: &Path| f.op("stat", path, json!({})).opened.expect("OPENED");
    assert_eq!(stat(&file)["size"], 5);
    assert_eq!(stat(&file)["type"], "file");
    assert_eq!(stat(&link)["type"], "symlink");
    assert_eq!(stat(&link)["target"], "file");
    assert_eq!(stat(&fifo)["type"], "other");
    assert_eq!(stat(&directory)["type"], "dir");
    let missing = f.path("missing");
    assert_eq!(f.op("stat", &missing, json!({})).failure(), "not_found");
}

#[test]
fn a_listing_names_every_entry_once() {
    let mut f = Fixture::new();
    for n in 0..3000 {
        fs::write(f.path(&format!("entry \"{n}\"")), "x").expect("write");
    }
    fs::create_dir(f.path("sub")).expect("mkdir");
    let directory = f.directory.path().to_owned();
    let done = f.op("list", &directory, json!({}));
    assert_eq!(done.close, Some(json!({})));
    let text = done.text();
    let entries = text.lines().map(|l| serde_json::from_str::<Value>(l).expect("JSON"));
    let mut names: Vec<String> = entries.map(|e| e["name"].as_str().unwrap_or("").to_owned()).collect();
    names.sort();
    assert_eq!(names, f.names());
    let file = f.path("entry \"1\"");
    assert_eq!(f.op("list", &file, json!({})).failure(), "not_dir");
}

#[test]
fn directories_are_made_and_things_renamed() {
    let mut f = Fixture::new();
    let deep = f.path("a/b/c");
    assert_eq!(f.op("mkdir", &deep, json!({})).failure(), "not_found");
    let more = json!({"parents": true, "mode": 0o700});
    assert_eq!(f.op("mkdir", &deep, more.clone()).close, Some(json!({})));
    assert_eq!(f.op("mkdir", &deep, more).close, Some(json!({})));
    let mode = fs::metadata(&deep).expect("stat").permissions().mode();
    assert_eq!(mode & 0o7777, 0o700);
    assert_eq!(f.op("mkdir", &deep, json!({})).failure(), "exists");
    let to = f.path("moved");
    let done = f.op("rename", &deep, json!({"to": to}));
    assert_eq!(done.close, Some(json!({})));
    assert!(to.is_dir() && !deep.exists());
    assert_eq!(f.op("rename", &to, json!({})).failure(), "invalid");
    assert_eq!(f.op("explode", &to, json!({})).failure(), "invalid");
}

#[test]
fn remove_takes_a_whole_deep_tree_but_nothing_behind_its_links() {
    let mut f = Fixture::new();
    let kept = f.path("kept");
    fs::create_dir(&kept).expect("mkdir");
    fs::write(kept.join("file"), "x").expect("write");
    let tree = f.path("tree");
    fs::create_dir(&tree).expect("mkdir");
    for n in 0..300 {
        let sub = tree.join(format!("sub{n}"));
        fs::create_dir(&sub).expect("mkdir");
        fs::write(sub.join("file"), "x").expect("write");
        symlink(&kept, sub.join("link")).expect("link");
    }
    // Deeper than descriptors or a path could go.
    let python = "import os,sys\nos.chdir(sys.argv[1])\nfor i in range(3000): os.mkdir('d'); os.chdir('d')";
    let id = f.guest.open_exec(&["python3", "-c", python, &tree.to_string_lossy()], json!({}));
    assert_eq!(f.guest.finish(id).code(), Some(0));
    assert_eq!(f.op("remove", &tree, json!({})).failure(), "is_dir");
    let done = f.op("remove", &tree, json!({"recursive": true}));
    assert_eq!(done.close, Some(json!({})), "{done:?}");
    assert_eq!(f.names(), ["kept"]);
    assert!(kept.join("file").exists());
    let root = Path::new("/");
    assert_eq!(f.op("remove", root, json!({"recursive": true})).failure(), "invalid");
    assert_eq!(f.op("remove", &tree, json!({})).failure(), "not_found");
    let link = f.path("link");
    symlink(&kept, &link).expect("link");
    f.op("remove", &link, json!({"recursive": true}));
    assert_eq!(f.names(), ["kept"]);
}

#[test]
fn a_directory_goes_out_and_in_as_one_stream() {
    let mut f = Fixture::new();
    fs::create_dir_all(f.path("s/deep")).expect("make");
    let large: Vec<u8> = (0..2_000_000u32).map(|n| (n % 241) as u8).collect();
    fs::write(f.path("s/deep/large"), &large).expect("write");
    symlink("/anywhere", f.path("s/link")).expect("link");
    let pipe = f.fifo("s/pipe");
    let source = f.path("s");
    let out = f.request(json!({"kind": "tree-read", "path": source}));
    assert_eq!((&out.opened, &out.close), (&Some(json!({})), &Some(json!({}))));
    let (whole, half) = (f.path("t"), f.path("half"));
    let id = f.guest.open(&json!({"kind": "tree-write", "path": whole, "name": "s"}));
    let done = f.guest.finish_with_input(id, &out.stdout).close.expect("CLOSE");
    assert_eq!((&done["files"], &done["folders"], &done["links"]), (&json!(1), &json!(2), &json!(1)));
    assert_eq!(done["notes"][0]["path"], "pipe");
    assert!(fs::read(f.path("t/deep/large")).expect("read") == large);
    assert_eq!(fs::read_link(f.path("t/link")).expect("link"), Path::new("/anywhere"));
    let refused = f.request(json!({"kind": "tree-read", "path": pipe}));
    assert_eq!(refused.failed.expect("FAILED").code, "not_regular");
    let id = f.guest.open(&json!({"kind": "tree-write", "path": half, "name": "s"}));
    let broken = f.guest.finish_with_input(id, &out.stdout[..1_000_000]).close.expect("CLOSE");
    assert_eq!(broken["code"], "io");
    assert_eq!(fs::read_dir(f.path("half/deep")).map(|entries| entries.count()).unwrap_or(0), 0);
}

#[test]
fn what_the_kernel_shows_of_processes_is_not_given_out() {
    let mut f = Fixture::new();
    for name in ["environ", "maps", "mem", "exe", "fd/0", "root/etc/passwd", "task"] {
        for process in ["self", "thread-self", "1"] {
            let path = format!("/proc/{process}/{name}");
            let read = f.request(json!({"kind": "file-read", "path": path, "offset": 4096}));
            assert!(read.stdout.is_empty() && read.opened.is_none(), "{path}: {read:?}");
            let tree = f.request(json!({"kind": "tree-read", "path": path}));
            assert!(tree.stdout.is_empty() && tree.opened.is_none(), "{path}: {tree:?}");
        }
    }
    let link = f.path("link");
    symlink("/proc/self/environ", &link).expect("link");
    let read = f.request(json!({"kind": "file-read", "path": link}));
    assert_eq!(read.failed.expect("FAILED").code, "denied");
    for (op, path) in [("stat", "/proc/self/exe"), ("stat", "/proc/1"), ("list", "/proc/self/fd/")] {
        let done = f.op(op, Path::new(path), json!({}));
        assert!(done.opened.is_none(), "{op} {path}: {done:?}");
    }
    let whole = f.request(json!({"kind": "file-read", "path": "/proc/meminfo"}));
    assert!(String::from_utf8_lossy(&whole.stdout).starts_with("MemTotal:"));
    assert!(f.op("list", Path::new("/proc"), json!({})).opened.is_some());
}
