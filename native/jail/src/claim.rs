//! Who owns something that outlives a process: whoever holds the lock on it. The kernel lets go of a lock when its
//! holder dies, so what can be locked by somebody else has lost its owner.

use std::{os::fd::OwnedFd, path::Path};

use rustix::{
    fs::{FlockOperation, Mode, OFlags, flock, fstat, open, stat},
    io::Errno,
};

/// Names of everything we leave where others keep things too.
pub const PREFIX: &str = "agentkernel-";

pub fn unique_name() -> String {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    format!("{PREFIX}{}-{:x}{:08x}", std::process::id(), now.tv_sec, now.tv_nsec)
}

/// The lock on a folder or file, or None if somebody has it, or if it is gone or was replaced meanwhile.
pub fn claim(path: &Path) -> rustix::io::Result<Option<OwnedFd>> {
    let fd = match open(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        opened => opened?,
    };
    match flock(&fd, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(None),
        locked => locked?,
    }
    let (held, there) = (fstat(&fd)?, stat(path));
    Ok(there.is_ok_and(|s| s.st_ino == held.st_ino && s.st_dev == held.st_dev).then_some(fd))
}

/// Whether anything in `folder` was made by the process with this id.
pub fn has_of(folder: &Path, pid: &str) -> bool {
    let prefix = format!("{PREFIX}{pid}-");
    std::fs::read_dir(folder).is_ok_and(|mut entries| {
        entries.any(|entry| entry.is_ok_and(|e| e.file_name().to_str().is_some_and(|name| name.starts_with(&prefix))))
    })
}

/// Calls `remove` for everything of ours in `folder` that has no owner.
pub fn sweep(folder: &Path, remove: impl Fn(&Path)) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX))
            && let Ok(Some(_lock)) = claim(&entry.path())
        {
            remove(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, fs};

    use super::*;

    #[test]
    fn only_what_has_no_owner_is_swept() {
        let folder = std::env::temp_dir().join(format!("ak-claim-{}", std::process::id()));
        let (owned, orphan, foreign) =
            (folder.join(unique_name()), folder.join(format!("{PREFIX}x")), folder.join("x"));
        for path in [&owned, &orphan, &foreign] {
            fs::create_dir_all(path).expect("make");
        }
        let lock = claim(&owned).expect("claim").expect("free");
        let swept = Cell::new(0);
        sweep(&folder, |path| {
            swept.set(swept.get() + 1);
            assert_eq!(path, orphan);
        });
        assert_eq!(swept.get(), 1);
        drop(lock);
        // A process that another test forked may hold it a moment longer.
        while claim(&owned).expect("claim").is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(claim(&folder.join("gone")).expect("claim").is_none());
        fs::remove_dir_all(&folder).expect("remove");
    }
}
