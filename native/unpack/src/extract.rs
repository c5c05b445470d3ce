//! Applies one layer to a root: the folder that the layers below it make together. Every parent folder is found with
//! that root as `/`, whatever links the archive has planted, and the last name is never followed.

use std::{
    collections::HashSet,
    ffi::OsStr,
    io::Read,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, linkat, mkdirat, mknodat, openat2, statat, symlinkat},
    io::Errno,
    process::{fchdir, getcwd},
};
use tar::{Archive, Entry, EntryType};

use crate::{
    content, metadata,
    path::{MAX_DEPTH, Whiteout, parts, whiteout},
    refused::Refused,
    remove::remove,
};

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub bytes: u64,
    pub entries: u64,
}

#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub entries: u64,
    pub bytes: u64,
    /// Device nodes cannot be made without being root of the host, and no sandbox may use them.
    pub devices_skipped: u64,
}

pub struct Extractor<'a> {
    root: BorrowedFd<'a>,
    limits: Limits,
    summary: Summary,
    /// Paths that this layer has made: a whiteout speaks of the layers below only.
    made: HashSet<Vec<u8>>,
    /// Folders with the times to give them when nothing is written into them any more.
    times: Vec<(Vec<u8>, metadata::Time)>,
    buffer: Vec<u8>,
}

impl<'a> Extractor<'a> {
    pub fn new(root: BorrowedFd<'a>, limits: Limits) -> Self {
        let buffer = vec![0; content::CHUNK];
        Self { root, limits, summary: Summary::default(), made: HashSet::new(), times: Vec::new(), buffer }
    }

    pub fn apply(mut self, blob: &mut impl Read) -> Result<Summary, Refused> {
        let mut archive = Archive::new(blob);
        let entries = archive.entries().map_err(Refused::during("read the archive"))?;
        for entry in entries {
            self.entry(entry.map_err(Refused::during("read the archive"))?)?;
        }
        for (path, time) in self.times.iter().rev() {
            let parts: Vec<&[u8]> = path.split(|&b| b == b'/').filter(|p| !p.is_empty()).collect();
            // A folder that the layer itself has replaced later has the time of what replaced it.
            if let Ok(folder) = self.find(&parts) {
                metadata::set_time(folder.as_fd(), OsStr::new("."), *time)?;
            }
        }
        Ok(self.summary)
    }

    fn entry<R: Read>(&mut self, mut entry: Entry<'_, R>) -> Result<(), Refused> {
        self.summary.entries += 1;
        self.summary.bytes = self.summary.bytes.saturating_add(entry.size());
        if self.summary.entries > self.limits.entries {
            return Err(Refused::Hostile(format!("the layer has more than {} entries", self.limits.entries)));
        }
        if self.summary.bytes > self.limits.bytes {
            return Err(Refused::Hostile(format!("the layer has more than {} bytes", self.limits.bytes)));
        }
        let raw = entry.path_bytes().into_owned();
        let parts = parts(&raw)?;
        let Some((&name, above)) = parts.split_last() else { return self.root_entry(&mut entry) };
        let folder = self.folder(above, &raw)?;
        match whiteout(name) {
            Some(Whiteout::Opaque) => return self.clear(&folder, &parts[..above.len()]),
            Some(Whiteout::Of(hidden)) => return self.hide(&folder, above, hidden),
            Some(Whiteout::Other) => return Ok(()),
            None => {}
        }
        let path = parts.join(&b'/');
        self.put(&mut entry, &folder, name, &path)?;
        self.made.insert(path);
        Ok(())
    }

    /// Attributes of the root folder itself.
    fn root_entry<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> Result<(), Refused> {
        if entry.header().entry_type() != EntryType::Directory {
            return Err(Refused::Hostile("the layer has a root that is no folder".into()));
        }
        let about = metadata::read(entry)?;
        metadata::give(self.root, OsStr::new("."), &about, false)?;
        self.times.push((Vec::new(), about.time));
        Ok(())
    }

    fn put<R: Read>(
        &mut self,
        entry: &mut Entry<'_, R>,
        folder: &OwnedFd,
        name: &[u8],
        path: &[u8],
    ) -> Result<(), Refused> {
        let at = OsStr::from_bytes(name);
        let what = |e: Errno| Refused::during(format!("{:?}", String::from_utf8_lossy(path)))(e.into());
        let kind = entry.header().entry_type();
        let about = metadata::read(entry)?;
        let there = match statat(folder, at, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(FileType::from_raw_mode(stat.st_mode)),
            Err(Errno::NOENT) => None,
            Err(e) => return Err(what(e)),
        };
        if kind == EntryType::Directory {
            if there != Some(FileType::Directory) {
                if there.is_some() {
                    remove(folder.as_fd(), name)?;
                }
                mkdirat(folder, at, Mode::from_raw_mode(0o700)).map_err(what)?;
            }
            metadata::give(folder.as_fd(), at, &about, false)?;
            self.times.push((path.to_vec(), about.time));
            return Ok(());
        }
        let link = entry.link_name_bytes().map(|l| l.into_owned());
        if kind == EntryType::Link {
            let target = link.ok_or_else(|| Refused::entry(path, "is a hard link to nothing"))?;
            return self.hard_link(folder, at, there, &target, path);
        }
        if there.is_some() {
            remove(folder.as_fd(), name)?;
        }
        match kind {
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                content::write(entry, folder.as_fd(), name, kind == EntryType::GNUSparse, &mut self.buffer)?;
            }
            EntryType::Symlink => {
                let target = link.ok_or_else(|| Refused::entry(path, "is a link to nothing"))?;
                symlinkat(OsStr::from_bytes(&target), folder, at).map_err(what)?;
            }
            EntryType::Fifo => mknodat(folder, at, FileType::Fifo, Mode::from_raw_mode(0o600), 0).map_err(what)?,
            EntryType::Char | EntryType::Block => {
                self.summary.devices_skipped += 1;
                return Ok(());
            }
            _ => return Err(Refused::entry(path, "is of a kind that images do not have")),
        }
        metadata::give(folder.as_fd(), at, &about, kind == EntryType::Symlink)?;
        metadata::set_time(folder.as_fd(), at, about.time)
    }

    fn hard_link(
        &mut self,
        folder: &OwnedFd,
        at: &OsStr,
        there: Option<FileType>,
        target: &[u8],
        raw: &[u8],
    ) -> Result<(), Refused> {
        let parts = parts(target)?;
        let (&name, above) = parts.split_last().ok_or_else(|| Refused::entry(raw, "is a hard link to the root"))?;
        let from = self.find(above).map_err(|_| Refused::entry(raw, "is a hard link to a file that is not there"))?;
        let name = OsStr::from_bytes(name);
        let stat = statat(&from, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|_| Refused::entry(raw, "is a hard link to a file that is not there"))?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            return Err(Refused::entry(raw, "is a hard link to a folder"));
        }
        if there.is_some() {
            let same = statat(folder, at, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|s| s.st_ino == stat.st_ino && s.st_dev == stat.st_dev);
            if same {
                return Ok(());
            }
            remove(folder.as_fd(), at.as_bytes())?;
        }
        linkat(&from, name, folder, at, AtFlags::empty()).map_err(|e| Refused::during(format!("link {at:?}"))(e.into()))
    }

    /// Hides a name of the layers below, unless this layer has put something there itself.
    fn hide(&mut self, folder: &OwnedFd, above: &[&[u8]], hidden: &[u8]) -> Result<(), Refused> {
        let mut path = above.to_vec();
        path.push(hidden);
        if self.made.contains(&path.join(&b'/')) { Ok(()) } else { remove(folder.as_fd(), hidden) }
    }

    /// Hides everything that the layers below have in a folder.
    fn clear(&mut self, folder: &OwnedFd, path: &[&[u8]]) -> Result<(), Refused> {
        for name in crate::remove::names(folder.as_fd())? {
            self.hide(folder, path, &name)?;
        }
        Ok(())
    }

    fn find(&self, parts: &[&[u8]]) -> rustix::io::Result<OwnedFd> {
        let path = if parts.is_empty() { b".".to_vec() } else { parts.join(&b'/') };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |how| openat2(self.root, OsStr::from_bytes(&path), flags, Mode::empty(), how);
        match open(ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS) {
            Err(Errno::LOOP) => {}
            found => return found,
        }
        // Links of the image can lead deeper than any name in an archive; a tree that no path reaches to its end could
        // not be removed any more.
        let found = open(ResolveFlags::IN_ROOT)?;
        fchdir(&found)?;
        let depth = getcwd(Vec::new()).map(|path| path.to_bytes().iter().filter(|&&b| b == b'/').count());
        fchdir(self.root)?;
        if depth.is_ok_and(|depth| depth < MAX_DEPTH) { Ok(found) } else { Err(Errno::NAMETOOLONG) }
    }

    /// The folder at `parts`, made with its parents where it is not there.
    fn folder(&self, parts: &[&[u8]], raw: &[u8]) -> Result<OwnedFd, Refused> {
        match self.find(parts) {
            Ok(fd) => return Ok(fd),
            Err(Errno::NOENT) => {}
            Err(Errno::NAMETOOLONG) => return Err(Refused::entry(raw, "lies too deep")),
            Err(Errno::LOOP) => return Err(Refused::entry(raw, "is below links that lead in a circle")),
            Err(Errno::NOTDIR) => return Err(Refused::entry(raw, "is below something that is no folder")),
            Err(e) => {
                return Err(Refused::during(format!("the folder of {:?}", String::from_utf8_lossy(raw)))(e.into()));
            }
        }
        let (name, above) = parts.split_last().ok_or_else(|| Refused::Io("the root is gone".into()))?;
        let parent = self.folder(above, raw)?;
        match mkdirat(&parent, OsStr::from_bytes(name), Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(e) => {
                return Err(Refused::during(format!("make the folder of {:?}", String::from_utf8_lossy(raw)))(
                    e.into(),
                ));
            }
        }
        // A link to nowhere is there and leads to no folder.
        self.find(parts).map_err(|_| Refused::entry(raw, "is below something that is no folder"))
    }
}
