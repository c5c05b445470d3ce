use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::PathBuf,
};

use rustix::fs::{FileType, fsetxattr, getxattr, mkdirat as mkdir_at, mknodat};

use super::*;

struct Folders {
    from: PathBuf,
    into: PathBuf,
}

impl Drop for Folders {
    fn drop(&mut self) {
        super::super::removal::remove_all(&[self.from.clone(), self.into.clone()]).expect("clear up");
    }
}

fn folders(test: &str) -> Folders {
    let base = std::env::temp_dir().join(format!("ak-copy-{test}-{}", std::process::id()));
    let (from, into) = (base.with_extension("from"), base.with_extension("into"));
    for path in [&from, &into] {
        fs::create_dir(path).expect("make");
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).expect("mode");
    }
    fs::create_dir_all(from.join("disk/iu")).expect("make");
    Folders { from, into }
}

fn open(path: &Path) -> rustix::fd::OwnedFd {
    openat(CWD, path, FOLDER, Mode::empty()).expect("open")
}

#[test]
fn layers_are_copied_with_links_holes_whiteouts_attributes_modes_and_times() {
    let folders = folders("kinds");
    let (from, into) = (&folders.from, &folders.into);
    let layer = from.join("disk/iu");
    fs::create_dir(from.join("disk/iw")).expect("make");
    fs::write(from.join("disk/iw/kernel"), "x").expect("write");
    fs::write(from.join("project.json"), "{}").expect("write");
    fs::write(from.join("end.json"), "{}").expect("write");
    fs::write(layer.join("a"), "one").expect("write");
    fs::create_dir(layer.join("d")).expect("make");
    fs::hard_link(layer.join("a"), layer.join("d/b")).expect("link");
    symlink("/etc/shadow", layer.join("d/out")).expect("link");
    fs::set_permissions(layer.join("a"), fs::Permissions::from_mode(0o4751)).expect("mode");
    let sparse = fs::File::create(layer.join("sparse")).expect("open");
    sparse.set_len(1 << 40).expect("length");
    rustix::io::pwrite(&sparse, b"end", (1 << 40) - 3).expect("write");
    let file = fs::File::open(layer.join("a")).expect("open");
    let is_attributed = fsetxattr(&file, "user.overlay.origin", b"o", rustix::fs::XattrFlags::empty()).is_ok();
    mknodat(open(&layer), "gone", FileType::CharacterDevice, Mode::from_raw_mode(0), 0).expect("a whiteout");
    mknodat(open(&layer), "pipe", FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_nanos(1_000_000_007);
    fs::File::open(layer.join("d")).expect("open").set_modified(old).expect("times");

    let copied = copy(from, into).expect("copied");

    let copy = into.join("disk/iu");
    assert_eq!(copied.entries, 8);
    assert!(copied.bytes < 1 << 20, "{copied:?}");
    assert_eq!(fs::read_to_string(copy.join("d/b")).expect("read"), "one");
    let (a, b) = (fs::metadata(copy.join("a")).expect("look"), fs::metadata(copy.join("d/b")).expect("look"));
    assert_eq!((a.ino(), a.mode() & 0o7777), (b.ino(), 0o4751));
    assert_ne!(a.ino(), fs::metadata(layer.join("a")).expect("look").ino());
    assert_eq!(fs::read_link(copy.join("d/out")).expect("link"), Path::new("/etc/shadow"));
    let sparse = fs::metadata(copy.join("sparse")).expect("look");
    assert_eq!(sparse.len(), 1 << 40);
    assert!(sparse.blocks() < 2048);
    let gone = fs::symlink_metadata(copy.join("gone")).expect("look");
    assert_eq!((gone.mode() & libc::S_IFMT, gone.rdev()), (libc::S_IFCHR, 0));
    assert_eq!(fs::metadata(copy.join("d")).expect("look").modified().expect("a time"), old);
    assert!(!is_attributed || getxattr(copy.join("a"), "user.overlay.origin", &mut [0; 8]) == Ok(1));
    assert!(into.join("project.json").exists());
    for left_out in ["end.json", "disk/iw", "disk/links"] {
        assert!(!into.join(left_out).exists(), "{left_out}");
    }
}

#[test]
fn a_tree_that_is_deeper_than_any_path_is_copied() {
    const DEPTH: usize = 1200;
    let folders = folders("deep");
    let (from, into) = (&folders.from, &folders.into);
    let mut at = open(&from.join("disk/iu"));
    for _ in 0..DEPTH {
        mkdir_at(&at, "deep", Mode::from_raw_mode(0o755)).expect("make");
        at = openat(&at, "deep", FOLDER, Mode::empty()).expect("open");
    }
    assert_eq!(copy(from, into).expect("copied").entries, DEPTH as u64 + 1);
    let mut at = open(&into.join("disk/iu"));
    for _ in 0..DEPTH {
        at = openat(&at, "deep", FOLDER, Mode::empty()).expect("as deep");
    }
}

#[test]
fn what_has_a_disk_already_is_not_written_to() {
    let folders = folders("full");
    let (from, into) = (&folders.from, &folders.into);
    fs::create_dir(into.join("disk")).expect("make");
    assert_eq!(copy(from, into).expect_err("refused").code, "internal");
}
