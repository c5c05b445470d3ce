//! The state of a tree at one moment, for finding later changes: a changed file has another ctime, and a file in
//! another's place brings its own inode.

use std::{collections::HashMap, path::Path};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat},
    time::{ClockId, clock_gettime},
};

use crate::{DEEPEST, Failure};

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// As long as a path may be.
const MAX_PATH: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Listed {
    inode: u64,
    is_directory: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Listing {
    /// Seconds and nanoseconds: what changed at or after this moment changed since.
    taken: (i64, u64),
    entries: HashMap<Vec<u8>, Listed>,
}

impl Listing {
    /// Lists a directory and everything below it on the same filesystem.
    pub fn of(root: &Path) -> Result<Self, Failure> {
        let failed = |errno| Failure::at(root.display(), errno);
        let directory = openat(CWD, root, DIRECTORY, Mode::empty()).map_err(failed)?;
        let device = fstat(&directory).map_err(failed)?.st_dev;
        let mut entries = HashMap::new();
        let mut levels = vec![(Dir::new(directory).map_err(failed)?, Vec::new())];
        loop {
            let depth = levels.len();
            let Some((directory, path)) = levels.last_mut() else { break };
            let Some(entry) = directory.read() else {
                levels.pop();
                continue;
            };
            let name = entry.map_err(failed)?.file_name().to_owned();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let path =
                if path.is_empty() { name.to_bytes().to_vec() } else { [&path[..], b"/", name.to_bytes()].concat() };
            let at = directory.fd().map_err(failed)?;
            let stat = statat(at, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
            let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            entries.insert(path.clone(), Listed { inode: stat.st_ino, is_directory });
            if is_directory && stat.st_dev == device && depth < DEEPEST {
                let inner = openat(at, &name, DIRECTORY, Mode::empty()).and_then(Dir::new).map_err(failed)?;
                levels.push((inner, path));
            }
        }
        let now = clock_gettime(ClockId::RealtimeCoarse);
        Ok(Self { taken: (now.tv_sec, now.tv_nsec as u64), entries })
    }

    /// May say no of something that is as it was, never yes of something that is not.
    pub fn is_as_it_was(&self, path: &[u8], stat: &Stat) -> bool {
        let is_older = (stat.st_ctime, stat.st_ctime_nsec) < self.taken;
        is_older && self.entries.get(path).is_some_and(|listed| listed.inode == stat.st_ino)
    }

    pub fn has(&self, path: &[u8]) -> bool {
        self.entries.contains_key(path)
    }

    pub fn has_directory(&self, path: &[u8]) -> bool {
        self.entries.get(path).is_some_and(|listed| listed.is_directory)
    }

    pub fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.keys().map(Vec::as_slice)
    }

    /// Inodes of everything but directories.
    pub fn inodes(&self) -> impl Iterator<Item = u64> {
        self.entries.values().filter(|listed| !listed.is_directory).map(|listed| listed.inode)
    }

    /// Integers are little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = [self.taken.0.to_le_bytes(), self.taken.1.to_le_bytes()].concat();
        for (path, Listed { inode, is_directory }) in &self.entries {
            let Ok(length) = u16::try_from(path.len()) else { continue };
            bytes.extend(length.to_le_bytes());
            bytes.extend(path);
            bytes.extend(inode.to_le_bytes());
            bytes.push(u8::from(*is_directory));
        }
        bytes
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, Failure> {
        let mut rest = bytes;
        let (Some(seconds), Some(nanoseconds)) = (take::<8>(&mut rest), take::<8>(&mut rest)) else {
            return Err(Failure::new("invalid", "a listing without its moment"));
        };
        let mut entries = HashMap::new();
        while !rest.is_empty() {
            let entry = next(&mut rest).ok_or_else(|| Failure::new("invalid", "a listing that is cut off"))?;
            entries.insert(entry.0, entry.1);
        }
        Ok(Self { taken: (i64::from_le_bytes(seconds), u64::from_le_bytes(nanoseconds)), entries })
    }
}

fn next(rest: &mut &[u8]) -> Option<(Vec<u8>, Listed)> {
    let length = u16::from_le_bytes(take(rest)?) as usize;
    let (path, after) = rest.split_at_checked(length).filter(|(path, _)| (1..=MAX_PATH).contains(&path.len()))?;
    *rest = after;
    let inode = u64::from_le_bytes(take(rest)?);
    let [is_directory] = take(rest)?;
    Some((path.to_vec(), Listed { inode, is_directory: is_directory == 1 }))
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*taken)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::MetadataExt};

    use super::*;

    fn stat(root: &Path, name: &str) -> Stat {
        statat(CWD, root.join(name), AtFlags::SYMLINK_NOFOLLOW).expect("look")
    }

    #[test]
    fn what_is_changed_replaced_or_moved_is_not_as_it_was() {
        let root = tempfile::tempdir().expect("directory");
        for name in ["same", "written", "replaced", "d/in", "e/in"] {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("directory");
            fs::write(path, "x").expect("write");
        }
        let mut listing = Listing::of(root.path()).expect("list");
        // As if it had been taken a moment later: what was written before is older then.
        let last = fs::metadata(root.path().join("e/in")).expect("look");
        listing.taken = (last.ctime(), last.ctime_nsec() as u64 + 1);
        let listing = Listing::parse(&listing.to_bytes()).expect("parse");
        fs::write(root.path().join("new"), "x").expect("write");
        fs::rename(root.path().join("new"), root.path().join("replaced")).expect("rename");
        fs::rename(root.path().join("d"), root.path().join("f")).expect("rename");
        fs::rename(root.path().join("e"), root.path().join("d")).expect("rename");
        let as_it_was = |name: &str| listing.is_as_it_was(name.as_bytes(), &stat(root.path(), name));
        assert_eq!(["same", "replaced", "d/in", "f/in"].map(as_it_was), [true, false, false, false]);
        assert!(listing.has_directory(b"d") && listing.has(b"e/in") && !listing.has(b"new"));
        assert!(Listing::parse(&listing.to_bytes()[..30]).is_err());
    }
}
