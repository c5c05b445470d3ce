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
    fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, openat2, statat},
    io::Errno,
};

use super::entries::{Entries, Gathered};
use crate::fault::{Fault, Outcome};

/// Threads cost as much as some hundred folders: they are started when so many were read, or wait to be.
pub const FOLDERS_ALONE: usize = 256;
pub const MAX_THREADS: usize = 4;

/// Looks at entries and collects what it finds; each thread has a collection of its own.
pub trait Visitor: Sync {
    type Found: Default + Send;

    /// `folder` is relative to the root, empty or ending in `/`. True if the entry is a folder to go into.
    fn entry(&self, folder: &[u8], name: &[u8], kind: FileType, found: &mut Self::Found) -> bool;

    /// A folder that was not read, without the `/`.
    fn unread(&self, folder: &[u8], why: Unread, found: &mut Self::Found);

    /// A folder all of whose entries were shown; with the `/`.
    fn read(&self, _folder: &[u8], _found: &mut Self::Found) {}
}

/// Why the entries of a folder are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// We may not read it.
    Denied,
    /// Since its name was read, it was removed or replaced by a symlink or a file.
    Gone,
}

/// Folders that were read before, by their paths below the root; None for one that could not be read.
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
        let entries = list(root, &folder)?.ok();
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
    let read = match tree.known.get(folder) {
        Some(Some(entries)) => {
            entries.iter().for_each(|(name, kind)| take(name, kind));
            Ok(())
        }
        // One that could not be read before is tried again.
        Some(None) | None => each_entry(tree.root, folder, take)?,
    };
    match read {
        Ok(()) => visitor.read(folder, found),
        Err(_) if folder.is_empty() => return Err(failed(folder, Errno::ACCESS)),
        Err(why) => visitor.unread(&folder[..folder.len() - 1], why, found),
    }
    Ok(())
}

/// The entries of a folder.
pub fn list(root: BorrowedFd<'_>, folder: &[u8]) -> Outcome<Result<Entries, Unread>> {
    let mut found = Gathered::default();
    let read = each_entry(root, folder, |name, kind| found.add(name, kind))?;
    Ok(read.map(|()| found.done()))
}

// Not part of its callers: its buffer would be of their stack, every page of it, also where nothing is to be read.
#[inline(never)]
fn each_entry(
    root: BorrowedFd<'_>,
    folder: &[u8],
    mut take: impl FnMut(&[u8], FileType),
) -> Outcome<Result<(), Unread>> {
    let dir = match open_below(root, folder, OFlags::RDONLY | OFlags::DIRECTORY) {
        Ok(dir) => dir,
        Err(Errno::ACCESS | Errno::PERM | Errno::NAMETOOLONG) => return Ok(Err(Unread::Denied)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Err(Unread::Gone)),
        Err(e) => return Err(failed(folder, e)),
    };
    let mut buffer = [MaybeUninit::uninit(); 32 << 10];
    let mut entries = RawDir::new(&dir, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Ok(entry) => entry,
            // It was removed while it was open.
            Err(Errno::NOENT) => return Ok(Err(Unread::Gone)),
            Err(e) => return Err(failed(folder, e)),
        };
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => statat(&dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                // Opening it as a folder tells that it is gone, and then it is hidden.
                .map_or(FileType::Directory, |stat| FileType::from_raw_mode(stat.st_mode)),
            kind => kind,
        };
        take(name, kind);
    }
    Ok(Ok(()))
}

fn failed(folder: &[u8], e: Errno) -> Fault {
    Fault::start(format!("read the folder {}: {e}", String::from_utf8_lossy(folder)))
        .hint("secrets in it could not be looked for, so it is not shown")
}

/// No component of the path may be a symlink. `O_NOFOLLOW` is about the last one alone, and not even about that where the
/// path ends in `/`: a directory that was swapped for a symlink since its name was read would be followed.
pub fn open_below(root: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let path = match path {
        b"" => CString::from(c"."),
        path => CString::new(path).map_err(|_| Errno::INVAL)?,
    };
    // openat2 takes no flags that O_PATH would ignore.
    let waiting = if flags.contains(OFlags::PATH) { OFlags::empty() } else { OFlags::NONBLOCK };
    let flags = flags | waiting | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(root, path.as_c_str(), flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}
