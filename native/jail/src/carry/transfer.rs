//! One file or link from the sandbox's layer into the project: written beside its place, then renamed over it.

use std::{
    ffi::{CStr, CString},
    os::fd::{BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{
        AtFlags, FileType, Gid, Mode, OFlags, SeekFrom, Stat, Timespec, Timestamps, Uid, chownat, fchmod, fchown,
        fstat, ftruncate, futimens, openat, readlinkat, renameat, seek, statat, symlinkat, unlinkat,
    },
    io::{Errno, pread, pwrite, read},
    rand::{GetRandomFlags, getrandom},
};

use crate::fault::{During, Fault, Outcome};

const TEMPORARY: &[u8] = b".agentkernel-carry-";
const RANDOM_BYTES: usize = 8;
const CHUNK: usize = 256 << 10;
/// Larger files are written again without a look: a file of holes can have any length, and reading it any time.
pub const COMPARED: i64 = 64 << 20;

/// A file that is written beside its place, by the process that writes it. No other name is taken for one: a user's
/// `.agentkernel-carry-notes` is content like any other.
pub fn temporary_name() -> Outcome<CString> {
    let mut random = [0; RANDOM_BYTES];
    let filled = getrandom(&mut random, GetRandomFlags::empty()).during("draw a random name")?;
    if filled < RANDOM_BYTES {
        return Err(Fault::new("internal", "a random name that is too short"));
    }
    let suffix = format!("{}-{:016x}", std::process::id(), u64::from_le_bytes(random));
    CString::new([TEMPORARY, suffix.as_bytes()].concat()).during("a name")
}

pub fn is_temporary(name: &[u8]) -> bool {
    writer_of(name).is_some()
}

/// The process that wrote a file of this name.
fn writer_of(name: &[u8]) -> Option<&str> {
    let (pid, random) = std::str::from_utf8(name.strip_prefix(TEMPORARY)?).ok()?.split_once('-')?;
    let is_pid = !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
    let is_random = random.len() == 2 * RANDOM_BYTES && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_pid && is_random).then_some(pid)
}

/// Removes the files and links that a carry that was killed has left in a folder. A directory is none of them.
pub fn clear_leftovers(target: BorrowedFd<'_>, names: &[CString]) -> Outcome<()> {
    for name in names {
        let writer = writer_of(name.to_bytes());
        if writer.is_some_and(|pid| !std::path::Path::new("/proc").join(pid).exists()) {
            match unlinkat(target, name.as_c_str(), AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT | Errno::ISDIR | Errno::PERM) => {}
                Err(e) => return Err(e).during("clear a temporary file"),
            }
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
pub enum Put {
    Written,
    /// Nothing differs.
    Same,
    /// The host has something else there by now.
    Overtaken,
}

/// Puts `name` of the layer into the project, or `instead` of it the contents of another file. `old` is what is there.
pub fn put(
    (upper, instead): (BorrowedFd<'_>, Option<&OwnedFd>),
    target: BorrowedFd<'_>,
    name: &CStr,
    old: Option<&Stat>,
    new: &Stat,
    privileged: bool,
) -> Outcome<Put> {
    if instead.is_none() && is_unchanged(upper, target, name, old, new)? {
        return Ok(Put::Same);
    }
    let temporary = temporary_name()?;
    let written = write_temporary((upper, instead), target, name, &temporary, old, new, privileged)
        .and_then(|()| place(target, &temporary, name, old).during("put a file in its place"));
    if !matches!(written, Ok(Put::Written)) {
        // The first error is the one to tell.
        let _ = unlinkat(target, temporary.as_c_str(), AtFlags::empty());
    }
    written
}

/// The host may have changed it while it was written beside its place.
fn place(target: BorrowedFd<'_>, temporary: &CStr, name: &CStr, old: Option<&Stat>) -> rustix::io::Result<Put> {
    let now = match statat(target, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(now) => Some(now),
        Err(Errno::NOENT) => None,
        Err(e) => return Err(e),
    };
    let print = |stat: &Stat| (stat.st_dev, stat.st_ino, stat.st_ctime, stat.st_ctime_nsec);
    if now.as_ref().map(print) != old.map(print) {
        return Ok(Put::Overtaken);
    }
    renameat(target, temporary, target, name).map(|()| Put::Written)
}

/// Whether the layer has what the project has.
pub fn is_unchanged(
    upper: BorrowedFd<'_>,
    target: BorrowedFd<'_>,
    name: &CStr,
    old: Option<&Stat>,
    new: &Stat,
) -> Outcome<bool> {
    let alike = |o: &Stat| o.st_mode == new.st_mode && o.st_size == new.st_size && new.st_size <= COMPARED;
    Ok(old.is_some_and(alike) && same(upper, target, name, FileType::from_raw_mode(new.st_mode))?)
}

pub fn write_temporary(
    (upper, instead): (BorrowedFd<'_>, Option<&OwnedFd>),
    target: BorrowedFd<'_>,
    name: &CStr,
    temporary: &CStr,
    old: Option<&Stat>,
    new: &Stat,
    privileged: bool,
) -> Outcome<()> {
    if FileType::from_raw_mode(new.st_mode) == FileType::Symlink {
        let link = readlinkat(upper, name, Vec::new()).during("read a link")?;
        symlinkat(link.as_c_str(), target, temporary).during("make a link")?;
        return if privileged { own_like(target, temporary) } else { Ok(()) };
    }
    let opened = if instead.is_some() { None } else { Some(open(upper, name, OFlags::RDONLY)?) };
    let from = instead.or(opened.as_ref()).ok_or_else(|| Fault::new("internal", "nothing to write"))?;
    let size = if instead.is_some() { fstat(from).during("look at a file")?.st_size } else { new.st_size };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let to = openat(target, temporary, flags, Mode::from_raw_mode(0o600)).during("write a file")?;
    copy(from, &to, size as u64)?;
    if privileged {
        let like = match old {
            Some(old) => *old,
            None => fstat(target).during("look at a folder")?,
        };
        fchown(&to, Some(Uid::from_raw(like.st_uid)), Some(Gid::from_raw(like.st_gid))).during("own a file")?;
    }
    // Never a setuid or setgid bit from inside.
    fchmod(&to, Mode::from_raw_mode(new.st_mode & 0o777)).during("set a file's mode")?;
    let time = Timespec { tv_sec: new.st_mtime, tv_nsec: new.st_mtime_nsec as _ };
    futimens(&to, &Timestamps { last_access: time, last_modification: time }).during("set a file's time")
}

/// Copies data and leaves holes as holes: a sparse terabyte stays sparse.
fn copy(from: &OwnedFd, to: &OwnedFd, size: u64) -> Outcome<()> {
    let mut buffer = vec![0; CHUNK];
    let mut at = 0;
    while at < size {
        let start = match seek(from, SeekFrom::Data(at)) {
            Ok(start) => start,
            Err(Errno::NXIO) => break,
            Err(e) => return Err(e).during("read a changed file"),
        };
        let end = seek(from, SeekFrom::Hole(start)).during("read a changed file")?;
        at = start;
        while at < end {
            let want = CHUNK.min((end - at) as usize);
            let n = pread(from, &mut buffer[..want], at).during("read a changed file")?;
            if n == 0 {
                break;
            }
            let mut done = 0;
            while done < n {
                done += pwrite(to, &buffer[done..n], at + done as u64).during("write a file")?;
            }
            at += n as u64;
        }
        at = at.max(end);
    }
    ftruncate(to, size).during("write a file")
}

pub fn same(upper: BorrowedFd<'_>, target: BorrowedFd<'_>, name: &CStr, kind: FileType) -> Outcome<bool> {
    if kind == FileType::Symlink {
        let read = |at| readlinkat(at, name, Vec::new()).during("read a link");
        return Ok(read(upper)? == read(target)?);
    }
    let (a, b) = (open(upper, name, OFlags::RDONLY)?, open(target, name, OFlags::RDONLY)?);
    let (mut left, mut right) = (vec![0; CHUNK], vec![0; CHUNK]);
    loop {
        let n = read(&a, &mut left).during("compare a file")?;
        let mut filled = 0;
        while filled < n {
            match read(&b, &mut right[filled..n]).during("compare a file")? {
                0 => return Ok(false),
                m => filled += m,
            }
        }
        if n == 0 {
            return Ok(true);
        }
        if left[..n] != right[..n] {
            return Ok(false);
        }
    }
}

fn open(at: BorrowedFd<'_>, name: &CStr, flags: OFlags) -> Outcome<OwnedFd> {
    openat(at, name, flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
        .during(format_args!("open {}", name.to_string_lossy()))
}

/// Gives `name` the owner of the folder it is in.
pub fn own_like(folder: BorrowedFd<'_>, name: &CStr) -> Outcome<()> {
    let like = fstat(folder).during("look at a folder")?;
    let ids = (Some(Uid::from_raw(like.st_uid)), Some(Gid::from_raw(like.st_gid)));
    chownat(folder, name, ids.0, ids.1, AtFlags::SYMLINK_NOFOLLOW).during("own a file")
}

#[cfg(test)]
mod tests {
    use std::{fs, os::fd::AsFd};

    use super::*;

    #[test]
    fn what_a_killed_carry_left_is_cleared_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("ak-carry-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("make");
        let own = temporary_name().expect("a name").into_string().expect("text");
        let gone = ".agentkernel-carry-999999999-0123456789abcdef";
        let users = [".agentkernel-carry-x", ".agentkernel-carry-999999999", ".agentkernel-carry-999999999-notes"];
        for name in [gone, &own, "plain"].into_iter().chain(users) {
            fs::write(folder.join(name), "x").expect("write");
        }
        let directory = ".agentkernel-carry-999999999-fedcba9876543210";
        fs::create_dir(folder.join(directory)).expect("make");
        let fd = rustix::fs::open(&folder, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("open");
        clear_leftovers(fd.as_fd(), &super::super::names(fd.as_fd()).expect("names")).expect("clear");
        let mut left: Vec<String> = fs::read_dir(&folder)
            .expect("read")
            .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
            .collect();
        left.sort();
        let mut expected = [&users[..], &[&own, "plain", directory]].concat();
        expected.sort();
        assert_eq!(left, expected);
        fs::remove_dir_all(&folder).expect("remove");
    }
}
