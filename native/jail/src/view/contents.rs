//! What tests of contents said about files, for the next search: reading a file and testing it takes longer than all else
//! about it. A file still has the content that it had if device, inode, size and the time of its last change (ctime) are
//! the same. No call sets ctime, and only file systems that keep it themselves count:
//!
//! | what would not show | why it is no matter |
//! | --- | --- |
//! | a second change in the same tick of the clock | ctime counts once it is ten minutes old |
//! | a write through a shared mapping to a page that is dirty already | dirty pages are written back before the file is read; the next write to one faults and sets ctime |
//! | ctime that a crash kept from the disk, while the content arrived there | records are of one boot |
//! | another file system under the same device number | one boot, and no ctime of whole seconds, as images made to be the same each time have |
//!
//! It lies in the state directory, which is hidden from every sandbox: one file of a fixed size, in which a file's place
//! follows from its inode, so that a look is one read of a few bytes however much is known. One that is not the user's own
//! and private, or of other tests, or of another boot, is no memory; a record that is not whole is none. What is known says only what a test
//! said: rules may change.

use std::{
    collections::HashMap,
    os::fd::{BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use ak_secrets::{Known, Sample, Tests};
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, fstatfs, ftruncate, open, openat, renameat, unlinkat},
    io::{Errno, pread, pwrite, read},
    process::geteuid,
    time::{ClockId, clock_gettime},
};

use crate::sys;

const FILE: &str = "contents";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const MAGIC: &[u8; 8] = b"akseen01";
/// Of the sources of the tests: another version of them may find something else.
pub const TESTS: u64 = include!(concat!(env!("OUT_DIR"), "/tests-digest.rs"));
/// ext4, xfs and btrfs. In tmpfs, writes through a mapping leave no trace.
const KEEPING_TIMES: [u64; 3] = [0xef53, 0x5846_5342, 0x9123_683e];
/// Far more than a tick of any kernel's clock.
const SETTLED_S: i64 = 600;
const RECORD_BYTES: usize = 64;
/// Where a file's record may be.
const BUCKET_BYTES: usize = 4 * RECORD_BYTES;
const BUCKETS: u64 = 2048;
/// As many as there are records.
const MOST_NEWS: usize = 8192;
const HEADER_BYTES: usize = RECORD_BYTES;
const ALL_BYTES: u64 = HEADER_BYTES as u64 + BUCKETS * BUCKET_BYTES as u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    device: u64,
    inode: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    size: u64,
    changed: (i64, u32),
    known: Known,
    /// Seconds; what was noted first makes room.
    noted_s: i64,
}

#[derive(Default)]
struct Inner {
    /// None until the first file is asked about; then what there is.
    file: Option<Option<OwnedFd>>,
    news: HashMap<Place, Seen>,
    /// Whether the file system of a device keeps times.
    devices: HashMap<u64, bool>,
}

/// Shared by the threads of a search.
pub struct Contents {
    folder: PathBuf,
    settled_s: i64,
    /// Whether a kind of file system keeps times.
    keeps: fn(u64) -> bool,
    inner: Mutex<Inner>,
}

impl Contents {
    /// In the directory that has the journal, which is the state directory.
    pub fn beside(journal: &Path) -> Option<Self> {
        Some(Self::within(journal.parent()?, SETTLED_S, |kind| KEEPING_TIMES.contains(&kind)))
    }

    fn within(folder: &Path, settled_s: i64, keeps: fn(u64) -> bool) -> Self {
        Self { folder: folder.into(), settled_s, keeps, inner: Mutex::default() }
    }

    /// As `Tests::settle` of the file's sample, without reading what was read before.
    pub fn settle<'a>(&self, file: BorrowedFd<'_>, tests: &Tests<'a>) -> Option<&'a str> {
        // Before it is written back and read: what changes from here on gives it another time.
        let Ok(stat) = fstat(file) else { return tests.settle(Sample::of(file)) };
        let place = Place { device: stat.st_dev, inode: stat.st_ino };
        let (size, changed) = (stat.st_size as u64, (stat.st_ctime, stat.st_ctime_nsec as u32));
        let before = self.recall(&place, size, changed);
        let (mut known, mut noted_s) = (before, None);
        let reason = tests.settle_known(&mut known, || {
            noted_s = self.settled(file, &stat);
            Sample::of(file)
        });
        if let Some(noted_s) = noted_s.filter(|_| known != before) {
            let news = &mut self.inner().news;
            if news.len() < MOST_NEWS {
                news.insert(place, Seen { size, changed, known, noted_s });
            }
        }
        reason
    }

    /// The time now, if what is read from here on stays the content as long as ctime stays. For what was asked before.
    fn settled(&self, file: BorrowedFd<'_>, stat: &Stat) -> Option<i64> {
        let now_s = clock_gettime(ClockId::RealtimeCoarse).tv_sec;
        let is_old = stat.st_ctime_nsec != 0 && stat.st_ctime < now_s - self.settled_s;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || !is_old {
            return None;
        }
        let keeps = || fstatfs(file).is_ok_and(|found| (self.keeps)(found.f_type as u64));
        let keeps = *self.inner().devices.entry(stat.st_dev).or_insert_with(keeps);
        (keeps && sys::write_back(file).is_ok()).then_some(now_s)
    }

    fn recall(&self, place: &Place, size: u64, changed: (i64, u32)) -> Known {
        let mut inner = self.inner();
        let known = inner.news.get(place).copied();
        let seen = known.or_else(|| {
            let file = inner.file.get_or_insert_with(|| open_own(&self.folder, OFlags::RDONLY)).as_ref()?;
            bucket(file, place).into_iter().flatten().find(|(of, _)| of == place).map(|(_, seen)| seen)
        });
        seen.filter(|seen| seen.size == size && seen.changed == changed).map_or_else(Known::default, |seen| seen.known)
    }

    /// For those who come after. Not before the caller has been served; a failure only means that they read again.
    pub fn keep(&self) {
        let news = std::mem::take(&mut self.inner().news);
        if news.is_empty() {
            return;
        }
        let own = || open_own(&self.folder, OFlags::RDWR);
        let Some(file) = own().or_else(|| make(&self.folder).ok().and_then(|()| own())) else { return };
        for (place, seen) in news {
            note(&file, &place, &seen);
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nobody else can write there.
fn is_private(stat: &Stat) -> bool {
    stat.st_uid == geteuid().as_raw() && stat.st_mode & 0o022 == 0
}

fn open_folder(folder: &Path) -> rustix::io::Result<OwnedFd> {
    let opened = open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if is_private(&fstat(&opened)?) { Ok(opened) } else { Err(Errno::PERM) }
}

/// None where there is nothing that can be believed.
fn open_own(folder: &Path, how: OFlags) -> Option<OwnedFd> {
    let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(open_folder(folder).ok()?, FILE, flags, Mode::empty()).ok()?;
    let stat = fstat(&file).ok()?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_nlink == 1;
    let mut found = [0; HEADER_BYTES];
    let is_ours = is_file && is_private(&stat) && stat.st_size as u64 == ALL_BYTES;
    let is_whole = is_ours && pread(&file, &mut found, 0) == Ok(HEADER_BYTES);
    (is_whole && found == header().ok()?).then_some(file)
}

fn header() -> rustix::io::Result<[u8; HEADER_BYTES]> {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    header[8..16].copy_from_slice(&TESTS.to_le_bytes());
    let boot = open(BOOT_ID, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    // 36 characters.
    if read(&boot, &mut header[16..])? < 36 {
        return Err(Errno::IO);
    }
    Ok(header)
}

/// An empty one in place of whatever there is, whole from its first moment.
fn make(folder: &Path) -> rustix::io::Result<()> {
    let folder = open_folder(folder)?;
    let name = format!("{FILE}.{}", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&folder, name.as_str(), flags, Mode::from_raw_mode(0o600))?;
    let made = header()
        .and_then(|header| pwrite(&file, &header, 0))
        .and_then(|_| ftruncate(&file, ALL_BYTES))
        .and_then(|()| renameat(&folder, name.as_str(), &folder, FILE));
    if made.is_err() {
        // It is of no use to anybody.
        let _ = unlinkat(&folder, name.as_str(), AtFlags::empty());
    }
    made
}

/// FNV-1a: tells what was cut off, torn or damaged, not what was forged.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

fn offset(place: &Place) -> u64 {
    let mixed = sum(&[place.device.to_le_bytes(), place.inode.to_le_bytes()].concat());
    HEADER_BYTES as u64 + (mixed ^ mixed >> 32) % BUCKETS * BUCKET_BYTES as u64
}

/// The records where that of `place` would be; None for one that is not whole.
fn bucket(file: &OwnedFd, place: &Place) -> [Option<(Place, Seen)>; BUCKET_BYTES / RECORD_BYTES] {
    let mut bytes = [0; BUCKET_BYTES];
    let is_read = pread(file, &mut bytes, offset(place)) == Ok(BUCKET_BYTES);
    std::array::from_fn(|at| decode(&bytes[at * RECORD_BYTES..][..RECORD_BYTES]).filter(|_| is_read))
}

/// In its own record, else in one that is free, else in the oldest.
fn note(file: &OwnedFd, place: &Place, seen: &Seen) {
    let found = bucket(file, place);
    let rank = |record: &Option<(Place, Seen)>| match record {
        Some((of, _)) if of == place => (0, 0),
        None => (1, 0),
        Some((_, seen)) => (2, seen.noted_s),
    };
    let at = (0..found.len()).min_by_key(|at| rank(&found[*at])).unwrap_or(0);
    // A record that is not written whole is none.
    let _ = pwrite(file, &encode(place, seen), offset(place) + (at * RECORD_BYTES) as u64);
}

const SUM_AT: usize = 48;

fn encode(place: &Place, seen: &Seen) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    let numbers = [place.device, place.inode, seen.size, seen.changed.0 as u64];
    let half = u64::from(seen.changed.1) | u64::from(seen.known.bits()) << 32;
    for (at, number) in numbers.into_iter().chain([half, seen.noted_s as u64]).enumerate() {
        bytes[at * 8..][..8].copy_from_slice(&number.to_le_bytes());
    }
    let sum = sum(&bytes[..SUM_AT]);
    bytes[SUM_AT..][..8].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<(Place, Seen)> {
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[at * 8 + index]));
    if number(6) != sum(&bytes[..SUM_AT]) {
        return None;
    }
    let place = Place { device: number(0), inode: number(1) };
    let (changed, known) = ((number(3) as i64, number(4) as u32), Known::of_bits((number(4) >> 32) as u32));
    Some((place, Seen { size: number(2), changed, known, noted_s: number(5) as i64 }))
}

#[cfg(test)]
mod tests;
