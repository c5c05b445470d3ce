use std::{
    fs,
    os::{
        fd::{AsFd, AsRawFd},
        unix::fs::{MetadataExt, PermissionsExt, chown},
    },
};

use ak_secrets::{Content, HideRule, Judgement, judge};

use super::*;

const SECRET: &str = "password=hunter22xyz\n";
const HARMLESS: &str = "password=\n# no more\n";

/// A state directory, and beside it a file.
struct Scene(PathBuf);

impl Scene {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("ak-contents-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("state")).expect("make a folder");
        fs::set_permissions(folder.join("state"), fs::Permissions::from_mode(0o700)).expect("close it");
        Self(folder)
    }

    fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    fn memory(&self) -> Contents {
        // Files of the future are old.
        Contents::within(&self.state(), -3600, |_| true)
    }

    fn write(&self, text: &str) {
        fs::write(self.0.join("config.json"), text).expect("write");
    }

    /// Whether it is hidden, as this memory has it.
    fn hides(&self, memory: &Contents) -> bool {
        let rules = [HideRule {
            holds: Some(Content::Credential),
            reason: Some("password".into()),
            ..HideRule::named("**/config.json")
        }];
        let Judgement::IfHolding(tests) = judge(rules.iter(), b"config.json", || false) else { panic!("by content") };
        let file = fs::File::open(self.0.join("config.json")).expect("open");
        memory.settle(file.as_fd(), &tests).is_some()
    }

    fn place(&self) -> Place {
        let found = fs::metadata(self.0.join("config.json")).expect("look");
        Place { device: found.dev(), inode: found.ino() }
    }

    fn remembered(&self) -> Option<Seen> {
        let file = open_own(&self.state(), OFlags::RDONLY)?;
        bucket(&file, &self.place()).into_iter().flatten().find(|(of, _)| *of == self.place()).map(|(_, seen)| seen)
    }

    /// The memory says of the file as it is now what is not so.
    fn lie(&self, holds: bool) {
        let seen = self.remembered().expect("a record");
        let tested = seen.known.bits() & 0xffff;
        let known = Known::of_bits(if holds { tested | tested << 16 } else { tested });
        note(&open_own(&self.state(), OFlags::RDWR).expect("a memory"), &self.place(), &Seen { known, ..seen });
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("remove");
    }
}

#[test]
fn a_file_that_has_not_changed_is_not_read_again() {
    let scene = Scene::new("same");
    scene.write(HARMLESS);
    let memory = scene.memory();
    assert!(!scene.hides(&memory));
    memory.keep();
    scene.lie(true);
    assert!(scene.hides(&scene.memory()), "what is remembered is believed");
}

#[test]
fn a_file_that_has_changed_or_was_replaced_is_read_again() {
    let scene = Scene::new("changed");
    scene.write(HARMLESS);
    let memory = scene.memory();
    assert!(!scene.hides(&memory));
    memory.keep();
    // Of the same size, with the same time of its last modification.
    let path = scene.0.join("config.json");
    let modified = fs::metadata(&path).expect("look").modified().expect("a time");
    let changed = fs::metadata(&path).expect("look").ctime_nsec();
    while fs::metadata(&path).expect("look").ctime_nsec() == changed {
        fs::write(&path, &SECRET[..HARMLESS.len()]).expect("write");
        fs::File::options().write(true).open(&path).expect("open").set_modified(modified).expect("set the time");
    }
    assert!(scene.hides(&scene.memory()));
    scene.write(HARMLESS);
    assert!(!scene.hides(&scene.memory()));
    fs::write(scene.0.join("other"), SECRET).expect("write");
    fs::rename(scene.0.join("other"), &path).expect("replace");
    assert!(scene.hides(&scene.memory()));
}

/// A page that is dirty takes writes through a mapping without a fault, and so without another ctime.
#[test]
fn a_write_through_a_mapping_is_seen() {
    let scene = Scene::new("mapped");
    scene.write(HARMLESS);
    let path = scene.0.join("config.json");
    let file = fs::File::options().read(true).write(true).open(&path).expect("open");
    let kind = fstatfs(&file).expect("look").f_type as u64;
    if !KEEPING_TIMES.contains(&kind) {
        eprintln!("not tested: {kind:x} keeps no times");
        return;
    }
    let length = HARMLESS.len();
    let (both, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: a new mapping, at a place that the kernel chooses, of a file that stays as long.
    let mapped = unsafe { libc::mmap(std::ptr::null_mut(), length, both, shared, file.as_raw_fd(), 0) };
    assert_ne!(mapped, libc::MAP_FAILED);
    // SAFETY: the mapping is as long as both texts here, and nothing refers to it.
    let write = |text: &str| unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), mapped.cast(), length) };
    write(HARMLESS);
    let memory = scene.memory();
    assert!(!scene.hides(&memory));
    memory.keep();
    assert!(scene.remembered().is_some());
    let changed = fs::metadata(&path).expect("look");
    let now = || clock_gettime(ClockId::RealtimeCoarse);
    while (now().tv_sec, now().tv_nsec) <= (changed.ctime(), changed.ctime_nsec()) {}
    write(&SECRET[..length]);
    assert!(scene.hides(&scene.memory()));
    // SAFETY: what was mapped above.
    assert_eq!(unsafe { libc::munmap(mapped, length) }, 0);
}

#[test]
fn a_time_of_whole_seconds_is_not_believed() {
    let scene = Scene::new("whole");
    scene.write(HARMLESS);
    let file = fs::File::open(scene.0.join("config.json")).expect("open");
    let mut stat = fstat(&file).expect("look");
    stat.st_ctime_nsec = 1;
    assert!(scene.memory().settled(file.as_fd(), &stat).is_some());
    stat.st_ctime_nsec = 0;
    assert!(scene.memory().settled(file.as_fd(), &stat).is_none());
}

#[test]
fn what_changed_a_moment_ago_is_not_remembered() {
    let scene = Scene::new("recent");
    scene.write(HARMLESS);
    let memory = Contents::within(&scene.state(), SETTLED_S, |_| true);
    assert!(!scene.hides(&memory));
    memory.keep();
    assert_eq!(scene.remembered(), None);
    let memory = Contents::within(&scene.state(), -3600, |_| false);
    assert!(!scene.hides(&memory));
    memory.keep();
    assert_eq!(scene.remembered(), None, "on a file system that keeps no times");
}

#[test]
fn what_others_could_have_written_is_not_believed() {
    let scene = Scene::new("others");
    scene.write(SECRET);
    let memory = scene.memory();
    assert!(scene.hides(&memory));
    memory.keep();
    scene.lie(false);
    assert!(!scene.hides(&scene.memory()), "the lie works");
    let file = scene.state().join(FILE);
    for (path, open, closed) in
        [(file.clone(), 0o620, 0o600), (file.clone(), 0o602, 0o600), (scene.state(), 0o770, 0o700)]
    {
        fs::set_permissions(&path, fs::Permissions::from_mode(open)).expect("open it");
        assert!(scene.hides(&scene.memory()), "{} {open:o}", path.display());
        fs::set_permissions(&path, fs::Permissions::from_mode(closed)).expect("close it");
    }
    if geteuid().is_root() {
        for path in [&file, &scene.state()] {
            chown(path, Some(65534), None).expect("give it away");
            assert!(scene.hides(&scene.memory()), "{} of another user", path.display());
            chown(path, Some(0), None).expect("take it back");
        }
    }
    let alias = scene.0.join("alias");
    fs::hard_link(&file, &alias).expect("link");
    assert!(scene.hides(&scene.memory()), "under two names");
    fs::remove_file(alias).expect("remove");
    assert!(!scene.hides(&scene.memory()), "the lie works again");
    fs::rename(&file, scene.state().join("real")).expect("rename");
    std::os::unix::fs::symlink("real", &file).expect("link");
    assert!(scene.hides(&scene.memory()), "through a symlink");
}

#[test]
fn what_is_damaged_or_of_other_tests_is_not_believed() {
    let scene = Scene::new("damaged");
    scene.write(SECRET);
    let memory = scene.memory();
    assert!(scene.hides(&memory));
    memory.keep();
    scene.lie(false);
    let file = scene.state().join(FILE);
    let bytes = fs::read(&file).expect("read");
    let at = offset(&scene.place()) as usize;
    // The header ends with the boot.
    for damaged in (0..16 + 36).chain(at..at + SUM_AT + 8) {
        let mut other = bytes.clone();
        other[damaged] ^= 1;
        fs::write(&file, other).expect("write");
        assert!(scene.hides(&scene.memory()), "{damaged}");
    }
    fs::write(&file, &bytes[..at + 10]).expect("write");
    assert!(scene.hides(&scene.memory()), "cut off");
    fs::write(&file, &bytes).expect("write");
    assert!(!scene.hides(&scene.memory()), "the lie works");
    fs::write(&file, "").expect("write");
    let memory = scene.memory();
    assert!(scene.hides(&memory));
    memory.keep();
    assert!(scene.remembered().is_some(), "it is made anew");
    let names: Vec<_> =
        fs::read_dir(scene.state()).expect("list").map(|one| one.expect("an entry").file_name()).collect();
    assert_eq!(names, [FILE]);
}

#[test]
fn it_has_a_bound_and_what_was_noted_first_makes_room() {
    let scene = Scene::new("bound");
    make(&scene.state()).expect("a memory");
    let file = open_own(&scene.state(), OFlags::RDWR).expect("a memory");
    let first = Place { device: 1, inode: 0 };
    let same: Vec<Place> =
        (0..).map(|inode| Place { device: 1, inode }).filter(|place| offset(place) == offset(&first)).take(6).collect();
    for (noted_s, place) in (0..).zip(&same) {
        note(&file, place, &Seen { size: 1, changed: (2, 3), known: Known::of_bits(1), noted_s });
    }
    let kept: Vec<Place> = bucket(&file, &first).into_iter().flatten().map(|(place, _)| place).collect();
    assert_eq!(kept.len(), 4);
    assert!(same[2..].iter().all(|place| kept.contains(place)));
    assert_eq!(fs::metadata(scene.state().join(FILE)).expect("look").len(), ALL_BYTES);
}
