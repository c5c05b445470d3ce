//! Applies one layer to a root: the directory that the layers below it make together. Every parent directory is found with
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

use ak_jail::place;
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, fstat, linkat, mkdirat, mknodat, statat, symlinkat},
    io::Errno,
    process::{fchdir, getcwd},
};

use crate::{
    archive::{Archive, Kind, Member, Time},
    content,
    hiding::Hiding,
    metadata,
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
    /// Directories that were made for entries in them are counted too.
    pub entries: u64,
    pub bytes: u64,
    /// Device nodes cannot be made without being root of the host, and no sandbox may use them.
    pub devices_skipped: u64,
}

pub struct Extractor<'a> {
    root: BorrowedFd<'a>,
    limits: Limits,
    summary: Summary,
    hiding: Hiding,
    /// Directories of lower layers that something was put into or taken from, with the times that they had before.
    touched: Vec<(Vec<u8>, Time)>,
    touched_paths: HashSet<Vec<u8>>,
    /// Directories with the times to give them when nothing is written into them any more.
    times: Vec<(Vec<u8>, Time)>,
    buffer: Vec<u8>,
}

impl<'a> Extractor<'a> {
    pub fn new(root: BorrowedFd<'a>, limits: Limits) -> Self {
        Self {
            root,
            limits,
            summary: Summary::default(),
            hiding: Hiding::default(),
            touched: Vec::new(),
            touched_paths: HashSet::new(),
            times: Vec::new(),
            buffer: vec![0; content::CHUNK],
        }
    }

    pub fn apply(mut self, blob: &mut impl Read) -> Result<Summary, Refused> {
        let mut archive = Archive::new(blob);
        while let Some(member) = archive.next_member()? {
            self.entry(&mut archive, &member)?;
        }
        // The first that was noted of a directory under several names, by links, is the one that it had.
        for (path, time) in self.touched.iter().rev() {
            if let Ok(directory) = self.find(&split(path)) {
                metadata::set_time(directory.as_fd(), OsStr::new("."), *time)?;
            }
        }
        for (path, time) in &self.times {
            self.set_time(path, *time)?;
        }
        Ok(self.summary)
    }

    fn set_time(&self, path: &[u8], time: Time) -> Result<(), Refused> {
        let parts = split(path);
        let Some((name, above)) = parts.split_last() else {
            return metadata::set_time(self.root, OsStr::new("."), time);
        };
        // Whatever has replaced a directory later has a time of its own.
        let Ok(directory) = self.find(above) else { return Ok(()) };
        let name = OsStr::from_bytes(name);
        match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                metadata::set_time(directory.as_fd(), name, time)
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, bytes: u64) -> Result<(), Refused> {
        self.summary.entries += 1;
        self.summary.bytes = self.summary.bytes.saturating_add(bytes);
        if self.summary.entries > self.limits.entries {
            return Err(Refused::Hostile(format!("the layer has more than {} entries", self.limits.entries)));
        }
        if self.summary.bytes > self.limits.bytes {
            return Err(Refused::Hostile(format!("the layer has more than {} bytes", self.limits.bytes)));
        }
        Ok(())
    }

    fn entry<R: Read>(&mut self, archive: &mut Archive<R>, member: &Member) -> Result<(), Refused> {
        self.count(member.size)?;
        let raw = &member.path;
        let parts = parts(raw)?;
        let Some((&name, above)) = parts.split_last() else { return self.root_entry(member) };
        let directory = self.directory(above, raw)?;
        self.touch(&directory, above)?;
        let within = above.join(&b'/');
        match whiteout(name) {
            Some(Whiteout::Opaque) => return self.hiding.clear(directory.as_fd(), &within),
            Some(Whiteout::Of(b"." | b"..")) => return Err(Refused::entry(raw, "hides no name")),
            Some(Whiteout::Of(hidden)) => return self.hiding.hide(directory.as_fd(), &within, hidden),
            Some(Whiteout::Other) => return Ok(()),
            None => {}
        }
        let path = parts.join(&b'/');
        self.put(archive, member, &directory, name, &path)?;
        self.hiding.made(path);
        Ok(())
    }

    /// Attributes of the root directory itself.
    fn root_entry(&mut self, member: &Member) -> Result<(), Refused> {
        if member.kind != Kind::Directory {
            return Err(Refused::Hostile("the layer has a root that is no directory".into()));
        }
        metadata::give(self.root, OsStr::new("."), member)?;
        self.times.push((Vec::new(), member.time));
        Ok(())
    }

    /// Notes the time of a lower layer's directory before something in it changes.
    fn touch(&mut self, directory: &OwnedFd, parts: &[&[u8]]) -> Result<(), Refused> {
        let path = parts.join(&b'/');
        if self.touched_paths.contains(&path) {
            return Ok(());
        }
        let stat = fstat(directory).map_err(|e| Refused::Io(format!("look at a directory: {e}")))?;
        let time = Time { seconds: stat.st_mtime, nanoseconds: stat.st_mtime_nsec as u32 };
        self.touched.push((path.clone(), time));
        self.touched_paths.insert(path);
        Ok(())
    }

    fn put<R: Read>(
        &mut self,
        archive: &mut Archive<R>,
        member: &Member,
        directory: &OwnedFd,
        name: &[u8],
        path: &[u8],
    ) -> Result<(), Refused> {
        let at = OsStr::from_bytes(name);
        let what = |e: Errno| Refused::during(format!("{:?}", String::from_utf8_lossy(path)))(e.into());
        let there = match statat(directory, at, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(FileType::from_raw_mode(stat.st_mode)),
            Err(Errno::NOENT) => None,
            Err(e) => return Err(what(e)),
        };
        if member.kind == Kind::Directory {
            if there != Some(FileType::Directory) {
                if there.is_some() {
                    remove(directory.as_fd(), name)?;
                }
                mkdirat(directory, at, Mode::from_raw_mode(0o700)).map_err(what)?;
            }
            metadata::give(directory.as_fd(), at, member)?;
            self.times.push((path.to_vec(), member.time));
            return Ok(());
        }
        if member.kind == Kind::HardLink {
            return self.hard_link(directory, at, there, &member.link, path);
        }
        if there.is_some() {
            remove(directory.as_fd(), name)?;
        }
        match member.kind {
            Kind::File => content::write(archive, member, directory.as_fd(), name, &mut self.buffer)?,
            Kind::Symlink => symlinkat(OsStr::from_bytes(&member.link), directory, at).map_err(what)?,
            Kind::Fifo => mknodat(directory, at, FileType::Fifo, Mode::from_raw_mode(0o600), 0).map_err(what)?,
            Kind::Device => {
                self.summary.devices_skipped += 1;
                return Ok(());
            }
            Kind::Directory | Kind::HardLink | Kind::Unknown => {
                return Err(Refused::entry(path, "is of a kind that images do not have"));
            }
        }
        metadata::give(directory.as_fd(), at, member)?;
        metadata::set_time(directory.as_fd(), at, member.time)
    }

    fn hard_link(
        &mut self,
        directory: &OwnedFd,
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
            return Err(Refused::entry(raw, "is a hard link to a directory"));
        }
        if there.is_some() {
            let same = statat(directory, at, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|s| s.st_ino == stat.st_ino && s.st_dev == stat.st_dev);
            if same {
                return Ok(());
            }
            remove(directory.as_fd(), at.as_bytes())?;
        }
        linkat(&from, name, directory, at, AtFlags::empty())
            .map_err(|e| Refused::during(format!("link {at:?}"))(e.into()))
    }

    fn find(&self, parts: &[&[u8]]) -> rustix::io::Result<OwnedFd> {
        let path = if parts.is_empty() { b".".to_vec() } else { parts.join(&b'/') };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = |how| place::open_within(self.root, OsStr::from_bytes(&path), flags, how);
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

    /// The directory at `parts`, made with its parents where it is not there.
    fn directory(&mut self, parts: &[&[u8]], raw: &[u8]) -> Result<OwnedFd, Refused> {
        match self.find(parts) {
            Ok(fd) => return Ok(fd),
            Err(Errno::NOENT) => {}
            Err(Errno::NAMETOOLONG) => return Err(Refused::entry(raw, "lies too deep")),
            Err(Errno::LOOP) => return Err(Refused::entry(raw, "is below links that lead in a circle")),
            Err(Errno::NOTDIR) => return Err(Refused::entry(raw, "is below something that is no directory")),
            Err(e) => {
                return Err(Refused::during(format!("the directory of {:?}", String::from_utf8_lossy(raw)))(e.into()));
            }
        }
        let (name, above) = parts.split_last().ok_or_else(|| Refused::Io("the root is gone".into()))?;
        let parent = self.directory(above, raw)?;
        self.touch(&parent, above)?;
        match mkdirat(&parent, OsStr::from_bytes(name), Mode::from_raw_mode(0o755)) {
            Ok(()) => {
                self.count(0)?;
                self.hiding.made(parts.join(&b'/'));
            }
            Err(Errno::EXIST) => {}
            Err(e) => {
                return Err(Refused::during(format!("make the directory of {:?}", String::from_utf8_lossy(raw)))(
                    e.into(),
                ));
            }
        }
        // A link to nowhere is there and leads to no directory.
        self.find(parts).map_err(|_| Refused::entry(raw, "is below something that is no directory"))
    }
}

fn split(path: &[u8]) -> Vec<&[u8]> {
    path.split(|&byte| byte == b'/').filter(|part| !part.is_empty()).collect()
}
