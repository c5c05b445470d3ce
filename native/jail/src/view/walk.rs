//! Reads a tree of folders, on several threads where it is large.

use std::{
    collections::HashMap,
    ffi::CString,
    mem::MaybeUninit,
    os::fd::{BorrowedFd, OwnedFd},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, RawDir, openat, statat},
    io::Errno,
};

use super::entries::{Entries, Gathered};
use crate::fault::{Fault, Outcome};

/// Threads cost as much as some hundred folders: they are started when so many were read, or wait to be.
pub const FOLDERS_ALONE: usize = 256;
const MAX_THREADS: usize = 4;

/// Looks at entries and collects what it finds; each thread has a collection of its own.
pub trait Visitor: Sync {
    type Found: Default + Send;

    /// `folder` is relative to the root, empty or ending in `/`. True if the entry is a folder to go into.
    fn entry(&self, folder: &[u8], name: &[u8], kind: FileType, found: &mut Self::Found) -> bool;

    /// A folder that we may not read, without the `/`.
    fn unreadable(&self, folder: &[u8], found: &mut Self::Found);
}

/// Folders that were read before, by their paths below the root; None for one that we may not read.
pub type Listings = HashMap<Vec<u8>, Option<Entries>>;

struct Queue {
    folders: Vec<Vec<u8>>,
    busy: usize,
    failed: Option<Fault>,
}

/// Shows `visitor` every entry below `root`. Returns its collections.
pub fn walk<V: Visitor>(root: BorrowedFd<'_>, visitor: &V) -> Outcome<Vec<V::Found>> {
    walk_known(Tree { root, known: &Listings::new() }, visitor)
}

/// Reads all folders below `root`; None where they are too many to be read ahead.
pub fn listings(root: BorrowedFd<'_>) -> Outcome<Option<Listings>> {
    let mut found = Listings::new();
    let mut folders = vec![Vec::new()];
    while let Some(folder) = folders.pop() {
        if found.len() == FOLDERS_ALONE {
            return Ok(None);
        }
        let entries = list(root, &folder)?;
        folders.extend(folders_in(&folder, &entries));
        found.insert(folder, entries);
    }
    Ok(Some(found))
}

pub fn folders_in(folder: &[u8], entries: &Option<Entries>) -> impl Iterator<Item = Vec<u8>> {
    let below = entries.iter().flat_map(Entries::iter).filter(|(_, kind)| *kind == FileType::Directory);
    below.map(move |(name, _)| [folder, name, b"/"].concat())
}

/// What is walked through, and what is known of it already.
#[derive(Clone, Copy)]
pub struct Tree<'a> {
    pub root: BorrowedFd<'a>,
    pub known: &'a Listings,
}

pub fn walk_known<V: Visitor>(root: Tree<'_>, visitor: &V) -> Outcome<Vec<V::Found>> {
    let mut found = V::Found::default();
    let mut folders = vec![Vec::new()];
    for _ in 0..FOLDERS_ALONE {
        let Some(folder) = folders.pop() else {
            return Ok(vec![found]);
        };
        visit_folder(root, &folder, visitor, &mut folders, &mut found)?;
        if folders.len() > FOLDERS_ALONE {
            break;
        }
    }
    let queue = Mutex::new(Queue { folders, busy: 0, failed: None });
    let wake = Condvar::new();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let mut parts = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| work(root, visitor, &queue, &wake))).collect();
        workers.into_iter().map(|w| w.join()).collect::<Result<Vec<_>, _>>()
    })
    .map_err(|_| Fault::new("internal", "the search for secrets broke off"))?;
    parts.push(found);
    let failed = lock(&queue).failed.take();
    failed.map_or(Ok(parts), Err)
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

fn work<V: Visitor>(root: Tree<'_>, visitor: &V, queue: &Mutex<Queue>, wake: &Condvar) -> V::Found {
    let mut found = V::Found::default();
    let mut shared = lock(queue);
    loop {
        // A handful at a time: fewer turns at the lock, and others still find work.
        let take = (shared.folders.len() / 4).clamp(1, 64);
        let keep = shared.folders.len().saturating_sub(take);
        let batch = shared.folders.split_off(keep);
        if batch.is_empty() {
            if shared.busy == 0 || shared.failed.is_some() {
                wake.notify_all();
                return found;
            }
            shared = wake.wait(shared).unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        shared.busy += 1;
        drop(shared);
        let mut below = Vec::new();
        let result = batch.iter().try_for_each(|folder| visit_folder(root, folder, visitor, &mut below, &mut found));
        shared = lock(queue);
        shared.busy -= 1;
        shared.folders.append(&mut below);
        if let Err(fault) = result {
            shared.failed = Some(fault);
            shared.folders.clear();
        }
        wake.notify_all();
    }
}

fn visit_folder<V: Visitor>(
    tree: Tree<'_>,
    folder: &[u8],
    visitor: &V,
    queue: &mut Vec<Vec<u8>>,
    found: &mut V::Found,
) -> Outcome<()> {
    let mut take = |name: &[u8], kind| {
        if visitor.entry(folder, name, kind, found) {
            queue.push([folder, name, b"/"].concat());
        }
    };
    let is_readable = match tree.known.get(folder) {
        None => each_entry(tree.root, folder, take)?,
        Some(None) => false,
        Some(Some(entries)) => {
            entries.iter().for_each(|(name, kind)| take(name, kind));
            true
        }
    };
    if !is_readable {
        if folder.is_empty() {
            return Err(failed(folder, Errno::ACCESS));
        }
        visitor.unreadable(&folder[..folder.len() - 1], found);
    }
    Ok(())
}

/// The entries of a folder; None if we may not read it. One that is gone by now has none.
pub fn list(root: BorrowedFd<'_>, folder: &[u8]) -> Outcome<Option<Entries>> {
    let mut found = Gathered::default();
    let is_readable = each_entry(root, folder, |name, kind| found.add(name, kind))?;
    Ok(is_readable.then(|| found.done()))
}

/// False if we may not read it.
// Not part of its callers: its buffer would be of their stack, every page of it, also where nothing is to be read.
#[inline(never)]
fn each_entry(root: BorrowedFd<'_>, folder: &[u8], mut take: impl FnMut(&[u8], FileType)) -> Outcome<bool> {
    let dir = match open_below(root, folder, OFlags::RDONLY | OFlags::DIRECTORY) {
        Ok(dir) => dir,
        Err(Errno::ACCESS | Errno::PERM | Errno::NAMETOOLONG) => return Ok(false),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(true),
        Err(e) => return Err(failed(folder, e)),
    };
    let mut buffer = [MaybeUninit::uninit(); 32 << 10];
    let mut entries = RawDir::new(&dir, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(|e| failed(folder, e))?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => match statat(&dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => continue,
            },
            kind => kind,
        };
        take(name, kind);
    }
    Ok(true)
}

fn failed(folder: &[u8], e: Errno) -> Fault {
    Fault::start(format!("read the folder {}: {e}", String::from_utf8_lossy(folder)))
        .hint("secrets in it could not be looked for, so it is not shown")
}

pub fn open_below(root: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let path = match path {
        b"" => CString::from(c"."),
        path => CString::new(path).map_err(|_| Errno::INVAL)?,
    };
    openat(root, path.as_c_str(), flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())
}
