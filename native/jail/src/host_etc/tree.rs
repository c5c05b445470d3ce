//! A copy of what the rule selects of the host's /etc, and the stamps of all that decided about it.

use std::{
    ffi::OsStr,
    fs,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::Path,
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, StatxFlags, chmodat, fchmod, mkdirat, openat, statat, statx, symlinkat},
    io::Errno,
};

use super::rule;
use crate::fault::{During, Outcome};

const FOR_ALL_TO_READ: u32 = 0o004;
const FOR_ALL_TO_SEARCH: u32 = 0o005;
/// What is larger than all that programs are configured by.
const MOST_FILE_BYTES: u64 = 4 << 20;
const MOST_BYTES: u64 = 64 << 20;
const MOST_ENTRIES: usize = 20_000;

/// An entry stays what it is as long as this does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// Relative to /etc; the directory itself is `.`.
    pub path: String,
    pub inode: u64,
    pub mode: u32,
    pub changed: (i64, i64),
}

impl Stamp {
    pub fn holds(&self, etc: &OwnedFd) -> bool {
        statat(etc, self.path.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| {
            let changed = (found.st_ctime, found.st_ctime_nsec as i64);
            (found.st_ino, found.st_mode, changed) == (self.inode, self.mode, self.changed)
        })
    }
}

pub struct Copy<'a> {
    host: &'a OwnedFd,
    into: &'a OwnedFd,
    /// The number of the mount.
    mount: u64,
    bytes: u64,
    pub stamps: Vec<Stamp>,
}

impl<'a> Copy<'a> {
    /// Everything that the rule selects of `host`, in the empty directory `into`.
    pub fn make(host: &'a OwnedFd, into: &'a OwnedFd) -> Outcome<Self> {
        let mount = mount_of(host, "").during("look at /etc")?;
        let mut copy = Self { host, into, mount, bytes: 0, stamps: Vec::new() };
        copy.directory(".")?;
        Ok(copy)
    }

    /// Its stamp comes before it is read: a change meanwhile makes another.
    fn directory(&mut self, path: &str) -> Outcome<()> {
        let at = Path::new("/etc").join(path);
        let Ok(found) = fs::symlink_metadata(&at) else { return Ok(()) };
        self.note(path, &found);
        let Ok(entries) = fs::read_dir(&at) else { return Ok(()) };
        for entry in entries.flatten() {
            // A name that is no text, or has lines, is none that programs look for.
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = if path == "." { name } else { format!("{path}/{name}") };
            let is_whole = self.stamps.len() < MOST_ENTRIES && !path.contains('\n');
            if is_whole && !rule::is_left_out(path.as_bytes()) {
                self.entry(&path)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: &str) -> Outcome<()> {
        let Ok(found) = fs::symlink_metadata(Path::new("/etc").join(path)) else { return Ok(()) };
        let kind = found.file_type();
        if mount_of(self.host, path) != Ok(self.mount) {
            // Somebody mounted it here, for something that runs here.
            return Ok(());
        }
        if kind.is_symlink() {
            let target = fs::read_link(Path::new("/etc").join(path)).during("read a symlink of /etc")?;
            return symlinkat(&target, self.into, path).during(format_args!("link /etc/{path}"));
        }
        if kind.is_dir() && found.mode() & FOR_ALL_TO_SEARCH == FOR_ALL_TO_SEARCH {
            let mode = Mode::from_raw_mode(0o755);
            // Whatever the caller's mask says, it is for everybody in the sandbox.
            let made = mkdirat(self.into, path, mode).and_then(|()| chmodat(self.into, path, mode, AtFlags::empty()));
            made.during(format_args!("make /etc/{path}"))?;
            return self.directory(path);
        }
        if kind.is_file() || kind.is_dir() {
            self.note(path, &found);
        }
        if kind.is_file() && found.mode() & FOR_ALL_TO_READ != 0 { self.file(path) } else { Ok(()) }
    }

    fn file(&mut self, path: &str) -> Outcome<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(self.host, path, flags, Mode::empty()) {
            Ok(file) => file,
            // Replaced since it was looked at; its stamp says so.
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::ACCESS) => return Ok(()),
            Err(e) => return Err(e).during(format_args!("open /etc/{path}")),
        };
        let now = rustix::fs::fstat(&file).during("look at a file of /etc")?;
        let bytes = u64::try_from(now.st_size).unwrap_or(u64::MAX);
        let is_open = now.st_mode & FOR_ALL_TO_READ != 0 && now.st_mode & libc::S_IFMT == libc::S_IFREG;
        if !is_open || bytes > MOST_FILE_BYTES || self.bytes + bytes > MOST_BYTES {
            return Ok(());
        }
        if rule::is_secret(path.as_bytes(), file.as_fd()) {
            return Ok(());
        }
        self.bytes += bytes;
        let mode = Mode::from_raw_mode(if now.st_mode & 0o001 == 0 { 0o644 } else { 0o755 });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let copy = openat(self.into, path, flags, mode).during(format_args!("write /etc/{path}"))?;
        fchmod(&copy, mode).during(format_args!("write /etc/{path}"))?;
        std::io::copy(&mut fs::File::from(file), &mut fs::File::from(copy))
            .map(drop)
            .during(format_args!("copy /etc/{path}"))
    }

    fn note(&mut self, path: &str, found: &fs::Metadata) {
        let changed = (found.ctime(), found.ctime_nsec());
        self.stamps.push(Stamp { path: path.to_owned(), inode: found.ino(), mode: found.mode(), changed });
    }
}

fn mount_of(host: &OwnedFd, path: &str) -> rustix::io::Result<u64> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
    statx(host, path, flags, StatxFlags::MNT_ID).map(|found| found.stx_mnt_id)
}

/// The accounts of the system in the host's lists, which programs look for by name; none of its people.
pub fn system_accounts(list: &str) -> String {
    let text = fs::read_to_string(Path::new("/etc").join(OsStr::from_bytes(list.as_bytes()))).unwrap_or_default();
    text.lines().filter_map(system_account).map(|line| line + "\n").collect()
}

/// Ids below this are the system's, as nearly everywhere.
const FIRST_PERSON: u32 = 1000;

/// `name:x:33:33:…`: of an account its home and shell, of a group no members.
fn system_account(line: &str) -> Option<String> {
    let fields: Vec<&str> = line.split(':').collect();
    let id: u32 = fields.get(2)?.parse().ok()?;
    if id == 0 || id >= FIRST_PERSON {
        return None;
    }
    match fields.as_slice() {
        [name, _, uid, gid, _, home, shell] => Some(format!("{name}:x:{uid}:{gid}::{home}:{shell}")),
        [name, _, gid, _] => Some(format!("{name}:x:{gid}:")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_accounts_name_no_people() {
        for (line, shown) in [
            ("www-data:x:33:33:A Name:/var/www:/bin/sh", Some("www-data:x:33:33::/var/www:/bin/sh")),
            ("sudo:*:27:alice,bob", Some("sudo:x:27:")),
            ("alice:x:1000:1000:Alice:/home/alice:/bin/zsh", None),
            ("root:x:0:0:root:/root:/bin/sh", None),
            ("+::::::", None),
            ("broken", None),
        ] {
            assert_eq!(system_account(line).as_deref(), shown, "{line}");
        }
    }
}
