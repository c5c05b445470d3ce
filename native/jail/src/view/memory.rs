//! What the folders of a project held when they were read last. The launcher holds it for the sandboxes that it starts,
//! in memory that no sandbox can reach: asking a folder whether it has changed takes a tenth of the time of reading it.
//! A folder is believed to hold what it held as long as it is the same one with the same time of its last change, which
//! nobody can set, and only on filesystems that keep that time themselves. One that changed a moment before it was read
//! is read again: what happened in the same tick of the clock would not show.

use std::{
    collections::HashMap,
    fs::File,
    os::{fd::BorrowedFd, unix::fs::FileExt},
};

use rustix::{
    buffer::spare_capacity,
    fs::{AtFlags, FileType, fstatfs, statat},
    io::pread,
    time::{ClockId, clock_gettime},
};

use super::{
    entries::Entries,
    listing_bytes::{decode, encode},
    walk::{FOLDERS_ALONE, Listings, folders_in, list, listings},
};
use crate::fault::Outcome;

/// ext4, xfs, btrfs and tmpfs.
const KEEPING_TIMES: [u64; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994];
/// Far more than a tick of any kernel's clock.
const SETTLED_S: i64 = 1;
const MOST_BYTES: u64 = 1 << 20;

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
    /// What is to be remembered from now on, where that is news.
    news: Option<Vec<u8>>,
}

impl Memory {
    pub fn new(shared: File) -> Self {
        Self { shared, news: None }
    }

    /// As `walk::listings`, without reading what has not changed.
    pub fn listings(&mut self, root: BorrowedFd<'_>) -> Outcome<Option<Listings>> {
        if !fstatfs(root).is_ok_and(|found| KEEPING_TIMES.contains(&(found.f_type as u64))) {
            return listings(root);
        }
        self.look(root, clock_gettime(ClockId::RealtimeCoarse).tv_sec - SETTLED_S)
    }

    /// Remembers folders that changed before `settled_s`.
    fn look(&mut self, root: BorrowedFd<'_>, settled_s: i64) -> Outcome<Option<Listings>> {
        let mut remembered = self.recall();
        let mut found = Listings::new();
        let mut stamps = Vec::new();
        let mut is_news = false;
        let mut folders = vec![Vec::new()];
        // What is mounted below may be of another kind.
        let device = stamp_of(root, b"").map(|stamp| stamp.device);
        while let Some(folder) = folders.pop() {
            if found.len() == FOLDERS_ALONE {
                return Ok(None);
            }
            // Before it is read: what changes from here on gives it another one.
            let stamp = stamp_of(root, &folder).filter(|stamp| Some(stamp.device) == device);
            let known = remembered.remove(&folder).filter(|(then, _)| Some(then) == stamp.as_ref());
            let stamp = stamp.filter(|stamp| stamp.changed_s < settled_s);
            let entries = match known {
                Some((_, entries)) => Some(entries),
                None => {
                    is_news |= stamp.is_some();
                    list(root, &folder)?.ok()
                }
            };
            folders.extend(folders_in(&folder, &entries));
            stamps.extend(stamp.map(|stamp| (folder.clone(), stamp)));
            found.insert(folder, entries);
        }
        if is_news {
            self.news = Some(encode(&stamps, &found));
        }
        Ok(Some(found))
    }

    /// For those who come after: what was read anew. Not before the caller has been served.
    pub fn keep(&self) {
        if let Some(news) = self.news.as_ref().filter(|news| news.len() as u64 <= MOST_BYTES) {
            // Whoever cannot read it whole reads the project itself.
            let _ = self.shared.write_all_at(news, 0);
        }
    }

    fn recall(&self) -> Remembered {
        let length = self.shared.metadata().map_or(0, |found| found.len()).min(MOST_BYTES);
        if length == 0 {
            return Remembered::new();
        }
        let mut bytes = Vec::with_capacity(length as usize);
        // One that was cut short meanwhile is not whole, and not believed.
        let is_read = pread(&self.shared, spare_capacity(&mut bytes), 0).is_ok();
        is_read.then(|| decode(bytes)).flatten().unwrap_or_default()
    }
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
            memory.look(root.as_fd(), settled_s).expect("a look").expect("few folders")
        }

        fn stamp(&self, folder: &[u8]) -> Option<Stamp> {
            let root = open(&self.0, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).expect("open");
            stamp_of(root.as_fd(), folder)
        }

        /// What the next one sees.
        fn seen_after(&self, memory: &mut Memory) -> Listings {
            memory.keep();
            memory.news = None;
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
        memory.news = Some(encode(&stamps, &listings));
        let seen = project.seen_after(&mut memory);
        assert_eq!(names(&seen, "a/b/"), ["remembered"]);
        assert_eq!(names(&seen, ""), ["a"]);
        assert!(memory.news.is_none());
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
        assert!(memory.news.is_none());
        project.look(&mut memory, now_s + 3600);
        assert!(memory.news.is_some());
    }

    #[test]
    fn only_what_is_whole_is_believed() {
        let project = Project::new("whole");
        let mut memory = empty();
        project.look(&mut memory, i64::MAX);
        let whole = memory.news.take().expect("news");
        assert_eq!(decode(whole.clone()).expect("whole").len(), 3);
        assert_eq!(decode([&whole[..], b"older and longer"].concat()).expect("whole").len(), 3);
        for at in 0..whole.len() {
            let mut broken = whole.clone();
            broken[at] ^= 1;
            assert!(decode(broken).is_none() && decode(whole[..at].to_vec()).is_none(), "at {at}");
        }
    }
}
