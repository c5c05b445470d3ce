//! The copy of the host's /etc lies in the state directory, for the next sandbox: making one takes longer than all else of
//! a start. It serves as long as nothing of what it was made from has changed, by the stamps that lie beside it. A sandbox
//! holds a lock on the copy that it shows; one that is out of date and that no lock holds is removed by who makes the next.

use std::{
    fmt::Write,
    fs,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FlockOperation, Mode, OFlags, fchmod, flock, fstat, mkdir, mkdirat, open, openat, stat, statat},
    io::Errno,
    process::geteuid,
    time::{ClockId, clock_gettime},
};

use super::{
    rule,
    tree::{Copy, Stamp, system_accounts},
};
use crate::{
    claim,
    fault::{During, Outcome},
    layers::Layers,
    spec::{RootChoice, Spec},
    view::contents::TESTS,
};

const FOLDER: &str = "host-etc";
const STAMPS: &str = "stamps";
/// Far more than a tick of any kernel's clock: a second change within the same would not show.
const SETTLED_S: i64 = 2;

/// Whatever the caller's mask says, it is for everybody in the sandbox.
const OPEN: Mode = Mode::from_raw_mode(0o755);

/// A directory with `etc` in it, and the lock that keeps it.
pub struct EtcCopy {
    path: PathBuf,
    stamps: Vec<Stamp>,
    _lock: OwnedFd,
}

impl EtcCopy {
    /// None where the root is an image's, or where nothing can be kept: a full disk ends no sandbox.
    pub fn for_root(spec: &Spec) -> Option<Self> {
        matches!(spec.root, RootChoice::Host { .. }).then(|| Self::beside(&spec.journal).ok()).flatten()
    }

    /// Beside the journal, which is in the state directory.
    fn beside(journal: &Path) -> Outcome<Self> {
        let folder = journal.parent().unwrap_or(journal).join(FOLDER);
        own_folder(&folder)?;
        let etc = open_etc()?;
        match remembered(&folder, &etc) {
            Some(prepared) => Ok(prepared),
            None => make(&folder, &etc),
        }
    }

    pub fn layers(&self, privileged: bool) -> Outcome<Layers> {
        Layers::open(std::slice::from_ref(&self.path), privileged)
    }

    /// Whether the host's /etc is still what it was made from.
    pub fn holds(&self) -> bool {
        open_etc().is_ok_and(|etc| self.stamps.iter().all(|stamp| stamp.holds(&etc)))
    }
}

fn open_etc() -> Outcome<OwnedFd> {
    open("/etc", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).during("open /etc")
}

/// Nobody else can write in it or look into it.
fn own_folder(folder: &Path) -> Outcome<()> {
    match mkdir(folder, Mode::from_raw_mode(0o700)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(e) => return Err(e).during("make a place for the copy of /etc"),
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = open(folder, flags, Mode::empty()).and_then(fstat).during("look at the copy of /etc")?;
    let is_private = found.st_uid == geteuid().as_raw() && found.st_mode & 0o077 == 0;
    if is_private { Ok(()) } else { Err(Errno::PERM).during("use the copy of /etc, whose directory others may write") }
}

/// None where there is none, or /etc has changed.
fn remembered(folder: &Path, etc: &OwnedFd) -> Option<EtcCopy> {
    let text = fs::read_to_string(folder.join(STAMPS)).ok()?;
    let (name, stamps) = decode(&text)?;
    let path = folder.join(name);
    // Before the copy is believed to be there: from here on it stays.
    let lock = share(&path)?;
    let is_same = stamps.iter().all(|stamp| stamp.holds(etc));
    is_same.then_some(EtcCopy { path, stamps, _lock: lock })
}

fn share(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = open(path, flags, Mode::empty()).ok()?;
    flock(&held, FlockOperation::NonBlockingLockShared).ok()?;
    let (ours, there) = (fstat(&held).ok()?, stat(path).ok()?);
    ((ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)).then_some(held)
}

fn make(folder: &Path, etc: &OwnedFd) -> Outcome<EtcCopy> {
    claim::sweep(folder, |old| {
        // The one that is remembered is out of date too. What cannot be removed is tried again next time.
        let _ = fs::remove_dir_all(old);
    });
    let (name, started_s) = (claim::unique_name(), clock_gettime(ClockId::Realtime).tv_sec);
    let path = folder.join(&name);
    mkdir(&path, OPEN).during("make a copy of /etc")?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock = open(&path, flags, Mode::empty()).during("make a copy of /etc")?;
    flock(&lock, FlockOperation::NonBlockingLockShared).during("hold the copy of /etc")?;
    // Half a copy would take room that is short, until the next sandbox.
    let stamps = fill(&lock, etc).inspect_err(|_| drop(fs::remove_dir_all(&path)))?;
    let is_settled = stamps.iter().all(|stamp| stamp.changed.0 < started_s - SETTLED_S);
    if is_settled {
        let text = encode(&name, &stamps);
        let beside = folder.join(format!("{STAMPS}.{}", std::process::id()));
        let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, folder.join(STAMPS)));
        written.during("remember the copy of /etc")?;
    }
    Ok(EtcCopy { path, stamps, _lock: lock })
}

/// Makes `etc` in a directory, with the lists of accounts that each sandbox's own are made of.
pub fn fill(folder: &OwnedFd, etc: &OwnedFd) -> Outcome<Vec<Stamp>> {
    mkdirat(folder, "etc", OPEN).during("make a copy of /etc")?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let into = openat(folder, "etc", flags, Mode::empty()).during("make a copy of /etc")?;
    fchmod(folder, OPEN).and_then(|()| fchmod(&into, OPEN)).during("make a copy of /etc")?;
    let mut stamps = Copy::make(etc, &into)?.stamps;
    for list in ["passwd", "group"] {
        super::put(&into, list, system_accounts(list).as_bytes())?;
        stamps.extend(stamp_of(etc, list));
    }
    Ok(stamps)
}

fn stamp_of(etc: &OwnedFd, path: &str) -> Option<Stamp> {
    let found = statat(etc, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let changed = (found.st_ctime, found.st_ctime_nsec as i64);
    Some(Stamp { path: path.to_owned(), inode: found.st_ino, mode: found.st_mode, changed })
}

/// Of this program: another may choose otherwise.
fn version() -> u64 {
    rule::digest() ^ TESTS
}

fn encode(name: &str, stamps: &[Stamp]) -> String {
    let mut text = format!("1 {:x} {name}\n", version());
    for Stamp { path, inode, mode, changed } in stamps {
        // Into a text, which takes everything.
        let _ = writeln!(text, "{inode} {mode} {} {} {path}", changed.0, changed.1);
    }
    text.push_str("end\n");
    text
}

/// None for one of another program, or that is not whole.
fn decode(text: &str) -> Option<(&str, Vec<Stamp>)> {
    let (head, rest) = text.strip_suffix("end\n")?.split_once('\n')?;
    let name = head.strip_prefix(&format!("1 {:x} ", version()))?;
    if name.contains('/') || !name.starts_with(claim::PREFIX) {
        return None;
    }
    let stamps = rest.lines().map(|line| {
        let mut words = line.splitn(5, ' ');
        let mut next = || words.next();
        let (inode, mode) = (next()?.parse().ok()?, next()?.parse().ok()?);
        let changed = (next()?.parse().ok()?, next()?.parse().ok()?);
        Some(Stamp { inode, mode, changed, path: next()?.to_owned() })
    });
    Some((name, stamps.collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct State(PathBuf);

    impl State {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ak-host-etc-{name}-{}", std::process::id()));
            fs::create_dir_all(path.join("journal")).expect("make");
            Self(path)
        }

        fn prepare(&self) -> EtcCopy {
            EtcCopy::beside(&self.0.join("journal")).expect("prepared")
        }

        fn copies(&self) -> usize {
            let names = fs::read_dir(self.0.join(FOLDER)).expect("list");
            names.flatten().filter(|e| e.file_name().to_string_lossy().starts_with(claim::PREFIX)).count()
        }
    }

    impl Drop for State {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("remove");
        }
    }

    #[test]
    fn the_next_sandbox_finds_the_copy() {
        let state = State::new("next");
        let first = state.prepare();
        assert!(first.holds());
        assert_eq!(state.prepare().path, first.path);
        assert!(first.path.join("etc/group").exists() && !first.path.join("etc/shadow").exists());
    }

    #[test]
    fn a_copy_that_is_shown_stays_and_one_that_is_out_of_date_goes() {
        let state = State::new("stale");
        let shown = state.prepare();
        let stamps = state.0.join(FOLDER).join(STAMPS);
        let changed = fs::read_to_string(&stamps).expect("read").replace(" passwd\n", " passwd-of-before\n");
        fs::write(&stamps, changed).expect("write");
        let next = state.prepare();
        assert_ne!(next.path, shown.path);
        assert_eq!(state.copies(), 2);
        drop(shown);
        fs::remove_file(&stamps).expect("remove");
        let last = state.prepare();
        assert_eq!(state.copies(), 2);
        assert_ne!(last.path, next.path);
    }

    #[test]
    fn stamps_that_are_cut_off_or_another_programs_are_none() {
        let stamp = Stamp { path: "a b".into(), inode: 7, mode: 0o100_644, changed: (5, 6) };
        let text = encode("agentkernel-1-2", std::slice::from_ref(&stamp));
        assert_eq!(decode(&text), Some(("agentkernel-1-2", vec![stamp])));
        assert_eq!(decode(&text[..text.len() - 2]), None);
        assert_eq!(decode(&text.replacen("1 ", "2 ", 1)), None);
        assert_eq!(decode(&text.replace("agentkernel-1-2", "agentkernel-/..")), None);
    }
}
