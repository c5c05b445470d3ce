//! Damaged and hostile archives by the thousand, straight into the extractor, without the jail that is around it
//! otherwise. Whatever they hold, it ends, does not panic, and changes nothing outside of its directory.

#[path = "../tests/harness/tar_maker.rs"]
mod tar_maker;

use std::{
    fs,
    io::Read,
    os::fd::AsFd,
    path::Path,
    time::{Duration, Instant},
};

use rustix::fs::{Mode, OFlags, open};
use tar_maker::{Item, archive, number, seal};

use crate::{
    blob::{Compression, Tar},
    extract::{Extractor, Limits},
};

const CASES: u64 = 4000;
/// Far above what a case takes; a hang is never shorter.
const DEADLINE: Duration = Duration::from_secs(20);

/// The same cases at every run (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.roll(list.len())]
    }
}

const NAMES: [&str; 22] = [
    "a",
    "b",
    "a/b",
    "a/b/c",
    "./a",
    "/a",
    "..",
    "../canary",
    "a/../../canary",
    "a/..",
    "",
    "/",
    ".",
    "a/.wh.b",
    ".wh.a",
    ".wh..",
    ".wh...",
    "a/.wh..wh..opq",
    ".wh..wh..opq",
    "out/canary",
    "up/canary",
    "loop/x",
];
const TARGETS: [&str; 8] = ["a", "b", "a/b", "..", "../canary", "/", "loop", "up/canary"];

fn item(dice: &mut Dice, outside: &str) -> Item {
    let name = *dice.pick(&NAMES);
    let item = match dice.roll(12) {
        0..4 => Item::file(name, vec![b'x'; dice.roll(1500)]),
        4..6 => Item::directory(name),
        6 => Item::symlink(name, *dice.pick(&TARGETS)),
        7 => Item::symlink(*dice.pick(&["out", "a", "a/b"]), outside),
        8 => Item::symlink(*dice.pick(&["up", "loop"]), *dice.pick(&["..", "../..", "loop"])),
        9 => Item::hardlink(name, *dice.pick(&TARGETS)),
        10 => Item::hardlink(name, format!("out/{}", dice.pick(&["canary", "x"]))),
        _ => Item::new(*dice.pick(b"3467SLKxgVZ\0"), name).data(vec![b'1'; dice.roll(600)]),
    };
    match dice.roll(8) {
        0 => item.pax("path", *dice.pick(&NAMES)),
        1 => item.pax("SCHILY.xattr.user.x", "1\n2").pax("mtime", "1.5"),
        2 => item.pax("GNU.sparse.map", format!("0,{},9000,1", dice.roll(9))).pax("GNU.sparse.size", "10000"),
        3 => item.over(386, number(dice.roll(9000) as u64, 12)).over(482, [dice.roll(2) as u8]),
        4 => item.mode(dice.roll(0o10000) as u32).owner(dice.roll(70_000) as u64, 3),
        5 => item.size(1 << dice.roll(63)),
        _ => item,
    }
}

fn mutate(dice: &mut Dice, tar: &mut Vec<u8>) {
    for _ in 0..dice.roll(4) {
        let blocks = tar.len() / 512;
        if blocks == 0 {
            return;
        }
        let block = dice.roll(blocks) * 512;
        match dice.roll(5) {
            0 => tar.truncate(dice.roll(tar.len()) + 1),
            1 => {
                let copied = tar[block..block + 512].to_vec();
                let at = dice.roll(blocks) * 512;
                tar.splice(at..at, copied);
            }
            2 => drop(tar.drain(block..block + 512)),
            _ => {
                tar[block + dice.roll(512)] = dice.roll(256) as u8;
                // With a right checksum it comes further.
                if dice.roll(3) > 0 {
                    seal(&mut tar[block..block + 512]);
                }
            }
        }
    }
}

fn unpack(mut source: impl Read, directory: &Path) -> Result<u64, String> {
    let root =
        open(directory, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).expect("open the directory");
    let limits = Limits { bytes: 1 << 20, entries: 2000 };
    Extractor::new(root.as_fd(), limits)
        .apply(&mut source)
        .map(|done| done.entries)
        .map_err(|refused| refused.to_string())
}

struct Place {
    base: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let base = tempfile::tempdir().expect("a directory");
        fs::create_dir(base.path().join("outside")).expect("a directory outside");
        for path in ["canary", "outside/canary"] {
            fs::write(base.path().join(path), "untouched").expect("a canary");
        }
        Self { base }
    }

    fn fresh(&self) -> std::path::PathBuf {
        let root = self.base.path().join("root");
        let parent = open(self.base.path(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).expect("open");
        crate::remove::remove(parent.as_fd(), b"root").expect("remove what was unpacked");
        fs::create_dir(&root).expect("the directory");
        root
    }

    fn check(&self, case: u64) {
        let mut seen: Vec<String> = Vec::new();
        for directory in ["", "outside"] {
            for entry in fs::read_dir(self.base.path().join(directory)).expect("list") {
                seen.push(format!("{directory}/{}", entry.expect("an entry").file_name().to_string_lossy()));
            }
        }
        seen.sort();
        assert_eq!(seen, ["/canary", "/outside", "/root", "outside/canary"], "case {case}");
        for path in ["canary", "outside/canary"] {
            let path = self.base.path().join(path);
            assert_eq!(fs::read_to_string(&path).expect("read"), "untouched", "case {case}");
            let links = std::os::unix::fs::MetadataExt::nlink(&fs::metadata(&path).expect("look"));
            assert_eq!(links, 1, "case {case}");
        }
    }
}

/// One test for all: the extractor changes the process's current directory.
#[test]
fn no_archive_leaves_its_directory_or_hangs() {
    let place = Place::new();
    let outside = place.base.path().join("outside").display().to_string();
    let (mut accepted, mut refused) = (0, 0);
    for case in 0..CASES {
        let mut dice = Dice(case);
        let mut tar = archive((0..1 + dice.roll(12)).map(|_| item(&mut dice, &outside)).collect::<Vec<_>>());
        mutate(&mut dice, &mut tar);
        let root = place.fresh();
        let started = Instant::now();
        match unpack(&tar[..], &root) {
            Ok(_) => accepted += 1,
            Err(_) => refused += 1,
        }
        assert!(started.elapsed() < DEADLINE, "case {case}");
        place.check(case);
    }
    // Neither all nonsense nor all harmless.
    assert!(accepted > CASES / 20 && refused > CASES / 20, "{accepted} accepted, {refused} refused");
    damaged_streams_end();
}

fn damaged_streams_end() {
    let tar = archive([Item::file("f", vec![b'x'; 3000]), Item::directory("d"), Item::file("d/g", "text")]);
    let mut gzip = flate2::read::GzEncoder::new(&tar[..], flate2::Compression::default());
    let mut packed = Vec::new();
    gzip.read_to_end(&mut packed).expect("compress");
    let zstd = ruzstd::encoding::compress_to_vec(&tar[..], ruzstd::encoding::CompressionLevel::Fastest);
    let place = Place::new();
    for (compression, good) in [(Compression::Gzip, packed), (Compression::Zstd, zstd)] {
        for case in 0..CASES / 8 {
            let mut dice = Dice(case);
            let mut blob = good.clone();
            for _ in 0..1 + dice.roll(3) {
                let at = dice.roll(blob.len());
                blob[at] = dice.roll(256) as u8;
            }
            let path = place.base.path().join("root");
            fs::write(&path, &blob).expect("write");
            let mut tar = Tar::open(fs::File::open(&path).expect("open"), compression, 1 << 20);
            let started = Instant::now();
            let _ = std::io::copy(&mut tar, &mut std::io::sink()).and_then(|_| tar.finish());
            assert!(started.elapsed() < DEADLINE, "{compression:?} case {case}");
        }
    }
}
