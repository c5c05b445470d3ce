//! What the folders of a project held when they were read last. The launcher holds it for the sandboxes that it starts,
//! in memory that no sandbox can reach: asking a folder whether it has changed takes a tenth of the time of reading it.
//! A folder is believed to hold what it held as long as it is the same one with the same time of its last change, which
//! nobody can set, and only on filesystems that keep that time themselves. One that changed a moment before it was read
//! is read again: what happened in the same tick of the clock would not show.

use std::{
    collections::HashMap,
    fs::File,
    os::{fd::BorrowedFd, unix::fs::FileExt},
    thread,
};

use rustix::{
    buffer::spare_capacity,
    fs::{AtFlags, FileType, fstatfs, statat},
    io::pread,
    time::{ClockId, clock_gettime},
};

use super::{
    entries::Entries,
    listing_bytes::{HEAD_BYTES, decode, encode, root_of},
    walk::{Listings, MAX_THREADS, folders_in, list, listings},
};
use crate::fault::{Fault, Outcome};

/// ext4, xfs, btrfs and tmpfs.
const KEEPING_TIMES: [u64; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994];
/// Far more than a tick of any kernel's clock.
const SETTLED_S: i64 = 1;
/// Of one root; what takes more is not remembered.
const MOST_BYTES: u64 = 4 << 20;
const MOST_FOLDERS: usize = 16_384;
/// Roots that are remembered at a time: a project, the repository around it, and those of another caller.
const PLACES: u64 = 4;
/// More than so many are asked by several threads.
const FOLDERS_EACH: usize = 256;
/// How long a root that was too large is not tried again.
const TOO_LARGE_S: i64 = 600;
/// In place of a time: nothing changed so long ago.
const TOO_LARGE: i64 = i64::MIN;

/// Which folder it is, and when anything in it changed last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub device: u64,
    pub inode: u64,
    pub changed_s: i64,
    pub changed_ns: u64,
}

/// By their paths below the root, which are empty or end in `/`.
pub type Remembered = HashMap<Vec<u8>, (Stamp, Entries)>;

pub struct Memory {
    shared: File,
    /// What is to be remembered from now on, where that is news, and where.
    news: Vec<(u64, Vec<u8>)>,
}

/// A folder that was asked for.
struct Asked {
    folder: Vec<u8>,
    /// None where it changed too shortly before to be remembered.
    stamp: Option<Stamp>,
    entries: Option<Entries>,
    is_news: bool,
}

impl Memory {
    pub fn new(shared: File) -> Self {
        Self { shared, news: Vec::new() }
    }

    /// All folders below a root, without reading what has not changed. None where they are too many.
    pub fn listings(&mut self, root: BorrowedFd<'_>) -> Outcome<Option<Listings>> {
        if !fstatfs(root).is_ok_and(|found| KEEPING_TIMES.contains(&(found.f_type as u64))) {
            return listings(root);
        }
        self.look(root, clock_gettime(ClockId::RealtimeCoarse).tv_sec - SETTLED_S, MOST_FOLDERS)
    }

    /// Remembers folders that changed before `settled_s`.
    fn look(&mut self, root: BorrowedFd<'_>, settled_s: i64, most: usize) -> Outcome<Option<Listings>> {
        let Some(own) = stamp_of(root, b"") else { return listings(root) };
        let (place, remembered) = self.recall(&own);
        let now_s = clock_gettime(ClockId::Boottime).tv_sec as u64;
        let is_marked = |(then, _): &&(Stamp, Entries)| then.changed_s == TOO_LARGE;
        if let Some((then, _)) = remembered.get(&b""[..]).filter(is_marked)
            && now_s.saturating_sub(then.changed_ns) < TOO_LARGE_S as u64
        {
            return Ok(None);
        }
        let mut found = Listings::new();
        let mut stamps = Vec::new();
        let (mut is_news, mut bytes) = (false, 0);
        let mut folders = vec![Vec::new()];
        while !folders.is_empty() {
            let asked = ask_all(root, folders, &remembered, own.device, settled_s)?;
            folders = Vec::new();
            for Asked { folder, stamp, entries, is_news: is_new } in asked {
                is_news |= is_new;
                bytes += folder.len() + entries.as_ref().map_or(0, |entries| entries.bytes().len()) + HEAD_BYTES;
                folders.extend(folders_in(&folder, &entries));
                stamps.extend(stamp.map(|stamp| (folder.clone(), stamp)));
                found.insert(folder, entries);
            }
            if found.len() + folders.len() > most || bytes as u64 > MOST_BYTES / 2 {
                let mark = Stamp { changed_s: TOO_LARGE, changed_ns: now_s, ..own };
                let nothing = Listings::from([(Vec::new(), Some(Entries::default()))]);
                self.news.push((place, encode(&[(Vec::new(), mark)], &nothing)));
                return Ok(None);
            }
        }
        if is_news {
            self.news.push((place, encode(&stamps, &found)));
        }
        Ok(Some(found))
    }

    /// For those who come after: what was read anew. Not before the caller has been served.
    pub fn keep(&self) {
        for (place, news) in self.news.iter().filter(|(_, news)| news.len() as u64 <= MOST_BYTES) {
            // Whoever cannot read it whole reads the project itself.
            let _ = self.shared.write_all_at(news, place * MOST_BYTES);
        }
    }

    /// Where this root is remembered, or will be, and what is known of it.
    fn recall(&self, root: &Stamp) -> (u64, Remembered) {
        let heads = (0..PLACES).map(|place| (place, self.read(place, HEAD_BYTES)));
        let heads: Vec<_> = heads.collect();
        let is_it = |head: &Option<Vec<u8>>| head.as_deref().and_then(root_of) == Some((root.device, root.inode));
        if let Some((place, Some(head))) = heads.iter().find(|(_, head)| is_it(head)) {
            let length = u64::from_le_bytes(head[8..16].try_into().unwrap_or_default()).saturating_add(16);
            // One that was cut short meanwhile is not whole, and not believed.
            let bytes = (length <= MOST_BYTES).then(|| self.read(*place, length as usize)).flatten();
            return (*place, bytes.and_then(decode).unwrap_or_default());
        }
        let free = heads.iter().find(|(_, head)| head.as_deref().and_then(root_of).is_none());
        (free.map_or(root.inode % PLACES, |(place, _)| *place), Remembered::new())
    }

    /// So many bytes; None where there are less.
    fn read(&self, place: u64, count: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(count);
        pread(&self.shared, spare_capacity(&mut bytes), place * MOST_BYTES).ok()?;
        (bytes.len() >= count).then_some(bytes)
    }
}

/// Those of one depth.
fn ask_all(
    root: BorrowedFd<'_>,
    folders: Vec<Vec<u8>>,
    remembered: &Remembered,
    device: u64,
    settled_s: i64,
) -> Outcome<Vec<Asked>> {
    let ask_some = |some: &[Vec<u8>]| {
        some.iter().map(|folder| ask(root, folder, remembered, device, settled_s)).collect::<Outcome<Vec<_>>>()
    };
    let cores = || thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let threads = if folders.len() < 2 * FOLDERS_EACH { 1 } else { cores().min(folders.len() / FOLDERS_EACH) };
    if threads == 1 {
        return ask_some(&folders);
    }
    let parts = thread::scope(|scope| {
        let each = folders.len().div_ceil(threads);
        let workers: Vec<_> = folders.chunks(each).map(|some| scope.spawn(move || ask_some(some))).collect();
        workers.into_iter().map(|worker| worker.join()).collect::<Result<Vec<_>, _>>()
    });
    let parts = parts.map_err(|_| Fault::new("internal", "reading the project broke off"))?;
    Ok(parts.into_iter().collect::<Outcome<Vec<_>>>()?.into_iter().flatten().collect())
}

fn ask(root: BorrowedFd<'_>, folder: &[u8], known: &Remembered, device: u64, settled_s: i64) -> Outcome<Asked> {
    // Before it is read: what changes from here on gives it another one. What is mounted below may be of another kind.
    let stamp = stamp_of(root, folder).filter(|stamp| stamp.device == device);
    let known = known.get(folder).filter(|(then, _)| Some(then) == stamp.as_ref());
    let stamp = stamp.filter(|stamp| stamp.changed_s < settled_s);
    let (entries, is_news) = match known {
        Some((_, entries)) => (Some(entries.clone()), false),
        None => (list(root, folder)?.ok(), stamp.is_some()),
    };
    Ok(Asked { folder: folder.to_vec(), stamp, entries, is_news })
}

/// None where it is no folder any more.
fn stamp_of(root: BorrowedFd<'_>, folder: &[u8]) -> Option<Stamp> {
    let path = folder.strip_suffix(b"/").unwrap_or(b".");
    let stat = statat(root, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    is_folder.then_some(Stamp {
        device: stat.st_dev,
        inode: stat.st_ino,
        changed_s: stat.st_ctime,
        changed_ns: stat.st_ctime_nsec as u64,
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::fd::AsFd, path::PathBuf};

    use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, open};

    use super::*;

    struct Project(PathBuf);

    impl Project {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ak-memory-{name}-{}", std::process::id()));
            fs::create_dir_all(path.join("a/b")).expect("make folders");
            fs::write(path.join("a/b/file"), "x").expect("write");
            Self(path)
        }

        fn look(&self, memory: &mut Memory, settled_s: i64) -> Listings {
            let root = open(&self.0, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).expect("open");
            memory.look(root.as_fd(), settled_s, MOST_FOLDERS).expect("a look").expect("few folders")
        }

        fn stamp(&self, folder: &[u8]) -> Option<Stamp> {
            let root = open(&self.0, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).expect("open");
            stamp_of(root.as_fd(), folder)
        }

        /// What the next one sees.
        fn seen_after(&self, memory: &mut Memory) -> Listings {
            memory.keep();
            memory.news.clear();
            self.look(memory, i64::MAX)
        }
    }

    impl Drop for Project {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("remove");
        }
    }

    fn empty() -> Memory {
        Memory::new(memfd_create("test", MemfdFlags::CLOEXEC).expect("memory").into())
    }

    fn names(listings: &Listings, folder: &str) -> Vec<String> {
        let entries = listings.get(folder.as_bytes()).into_iter().flatten().flat_map(Entries::iter);
        entries.map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect()
    }

    #[test]
    fn a_folder_that_has_not_changed_is_not_read_again() {
        let project = Project::new("unchanged");
        let mut memory = empty();
        let mut listings = project.look(&mut memory, i64::MAX);
        listings.insert(b"a/b/".to_vec(), Some([(&b"remembered"[..], FileType::RegularFile)].into_iter().collect()));
        let stamps: Vec<_> = ["", "a/", "a/b/"]
            .map(|folder| (folder.as_bytes().to_vec(), project.stamp(folder.as_bytes()).expect("a folder")))
            .into();
        memory.news = vec![(0, encode(&stamps, &listings))];
        let seen = project.seen_after(&mut memory);
        assert_eq!(names(&seen, "a/b/"), ["remembered"]);
        assert_eq!(names(&seen, ""), ["a"]);
        assert!(memory.news.is_empty());
    }

    #[test]
    fn what_has_changed_is_seen() {
        let project = Project::new("changed");
        let mut memory = empty();
        project.look(&mut memory, i64::MAX);
        let before = project.stamp(b"a/b/");
        // Until the clock has ticked: nothing younger is remembered.
        while project.stamp(b"a/b/") == before {
            fs::write(project.0.join("a/b/.env"), "x").expect("write");
            if project.stamp(b"a/b/") == before {
                fs::remove_file(project.0.join("a/b/.env")).expect("remove");
            }
        }
        let mut seen = names(&project.seen_after(&mut memory), "a/b/");
        seen.sort();
        assert_eq!(seen, [".env", "file"]);
        fs::remove_dir_all(project.0.join("a/b")).expect("remove");
        fs::create_dir(project.0.join("a/b")).expect("make a folder");
        assert!(names(&project.seen_after(&mut memory), "a/b/").is_empty());
    }

    #[test]
    fn what_changed_a_moment_ago_is_not_remembered() {
        let project = Project::new("recent");
        let mut memory = empty();
        let now_s = clock_gettime(ClockId::RealtimeCoarse).tv_sec;
        project.look(&mut memory, now_s - SETTLED_S);
        assert!(memory.news.is_empty());
        project.look(&mut memory, now_s + 3600);
        assert!(!memory.news.is_empty());
    }

    #[test]
    fn only_what_is_whole_is_believed() {
        let project = Project::new("whole");
        let mut memory = empty();
        project.look(&mut memory, i64::MAX);
        let (_, whole) = memory.news.pop().expect("news");
        assert_eq!(decode(whole.clone()).expect("whole").len(), 3);
        assert_eq!(decode([&whole[..], b"older and longer"].concat()).expect("whole").len(), 3);
        for at in 0..whole.len() {
            let mut broken = whole.clone();
            broken[at] ^= 1;
            assert!(decode(broken).is_none() && decode(whole[..at].to_vec()).is_none(), "at {at}");
        }
    }

    #[test]
    fn several_roots_are_remembered_beside_each_other() {
        let projects = ["one", "two", "three", "four", "five"].map(Project::new);
        let mut memory = empty();
        let looks = |memory: &mut Memory, some: &[Project]| {
            some.iter().for_each(|project| {
                project.look(memory, i64::MAX);
                memory.keep();
            });
            std::mem::take(&mut memory.news).len()
        };
        assert_eq!(looks(&mut memory, &projects[..4]), 4);
        assert_eq!(looks(&mut memory, &projects[..4]), 0);
        // One more takes the place of another.
        assert_eq!(looks(&mut memory, &projects[4..]), 1);
        assert_eq!(looks(&mut memory, &projects[4..]), 0);
        assert!(looks(&mut memory, &projects[..4]) >= 1);
    }

    #[test]
    fn a_root_with_too_many_folders_is_not_read_each_time() {
        let project = Project::new("many");
        let mut memory = empty();
        let root = open(&project.0, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).expect("open");
        assert!(memory.look(root.as_fd(), i64::MAX, 2).expect("a look").is_none());
        memory.keep();
        memory.news.clear();
        // It would be few enough now.
        assert!(memory.look(root.as_fd(), i64::MAX, MOST_FOLDERS).expect("a look").is_none());
        assert!(memory.news.is_empty());
    }

    #[test]
    fn many_folders_are_asked_by_several_threads() {
        let project = Project::new("threads");
        for at in 0..3 * FOLDERS_EACH {
            fs::create_dir(project.0.join(format!("a/{at}"))).expect("make a folder");
        }
        fs::write(project.0.join("a/700/.env"), "x").expect("write");
        let mut memory = empty();
        assert_eq!(project.look(&mut memory, i64::MAX).len(), 3 * FOLDERS_EACH + 3);
        let seen = project.seen_after(&mut memory);
        assert_eq!((seen.len(), names(&seen, "a/700/")), (3 * FOLDERS_EACH + 3, vec![".env".to_owned()]));
    }
}
