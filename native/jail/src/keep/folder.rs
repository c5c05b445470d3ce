//! The state folder of a kept sandbox. Whoever holds the lock owns everything in it; the kernel drops the lock with its
//! holder, so a folder that can be locked belongs to no living supervisor.
//!
//! | name | what it is |
//! | --- | --- |
//! | `lock` | locked for as long as the supervisor lives; holds its process id |
//! | `control` | the supervisor's socket |
//! | `state.json` | what a sweeper needs to know; there while a sandbox is |
//! | `end.json` | how the last one ended |
//! | `uncarried.json` | when the changes of a synced project began that are not in it yet |
//! | `project.json` | which project it has a copy of, and since when |
//! | `applied` | which of its changes are in the project by the user's order |
//! | `disk` | what the sandbox writes, for its next start |

use std::{
    fs::{self, File},
    io::{self, Write},
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::{
    fs::{AtFlags, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, open, openat, renameat, unlinkat},
    io::Errno,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    control::End,
    fault::{During, Fault, Outcome},
};

pub const CONTROL: &str = "control";
const LOCK: &str = "lock";
const STATE: &str = "state.json";
const END: &str = "end.json";
pub const DISK: &str = "disk";
const VERSION: u32 = 1;

pub struct StateFolder {
    fd: OwnedFd,
    path: PathBuf,
    _lock: OwnedFd,
}

/// Enough to find what a killed supervisor left behind.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    pub version: u32,
    /// Process ids mean nothing after a reboot.
    pub boot: String,
    pub supervisor: i32,
    pub guest: i32,
    pub guest_start: u64,
    pub journal: PathBuf,
    /// Its cgroups, once it has them: they are found by where their maker was, and that may be elsewhere.
    pub cgroups: Vec<PathBuf>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ended<'a> {
    version: u32,
    at_ms: u64,
    /// Nobody saw it end: its supervisor was killed, or the machine.
    lost: bool,
    end: &'a End,
}

impl StateFolder {
    /// Fails with `conflict` where a supervisor lives.
    pub fn claim(path: &Path) -> Outcome<Self> {
        Self::try_claim(path)?.ok_or_else(|| {
            Fault::new("conflict", format!("the sandbox in {} runs already", path.display()))
                .hint("stop it first, or use it as it is")
        })
    }

    /// None where a supervisor lives.
    pub fn try_claim(path: &Path) -> Outcome<Option<Self>> {
        let folder = open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let fd = folder.during(format_args!("open the state folder {}", path.display()))?;
        let stat = fstat(&fd).during("look at the state folder")?;
        if stat.st_mode & 0o077 != 0 || stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(Fault::new("internal", format!("{} must be the caller's own, with mode 0700", path.display())));
        }
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = openat(&fd, LOCK, flags, Mode::from_raw_mode(0o600)).during("open the lock")?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Ok(None),
            locked => locked.during("lock the state folder")?,
        }
        Ok(Some(Self { fd, path: path.to_owned(), _lock: lock }))
    }

    /// The supervisor that held the lock last, for a sweeper that finds no state.
    pub fn last_supervisor(&self) -> Option<i32> {
        let text = fs::read_to_string(self.path.join(LOCK)).ok()?;
        text.trim().parse().ok()
    }

    pub fn note_supervisor(&self) -> Outcome<()> {
        self.write_in_place(LOCK, format!("{}\n", std::process::id()).as_bytes())
    }

    /// A short path to something in it, whatever the folder's own is: a socket's may have 107 bytes.
    pub fn short_path(&self, name: &str) -> PathBuf {
        use std::os::fd::AsRawFd;
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.fd.as_raw_fd()))
    }

    pub fn make_disk(&self) -> Outcome<PathBuf> {
        match mkdirat(&self.fd, DISK, Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(Errno::EXIST) => Ok(self.path.join(DISK)),
            Err(e) => Err(e).during("make the sandbox's disk"),
        }
    }

    pub fn write_state(&self, guest: i32, journal: &Path, cgroups: Vec<PathBuf>) -> Outcome<()> {
        let guest_start = start_of(guest).ok_or_else(|| Fault::start("the sandbox's first process is gone"))?;
        let (boot, journal) = (boot_id(), journal.to_owned());
        let supervisor = std::process::id() as i32;
        self.write(STATE, &State { version: VERSION, boot, supervisor, guest, guest_start, journal, cgroups })
    }

    /// None where there is none, or where it cannot be understood: then there is nothing to go by.
    pub fn read_state(&self) -> Option<State> {
        self.read(STATE).filter(|state: &State| state.version == VERSION)
    }

    /// None where there is none that can be understood.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_slice(&fs::read(self.path.join(name)).ok()?).ok()
    }

    pub fn write_end(&self, end: &End) -> Outcome<()> {
        self.write(END, &Ended { version: VERSION, at_ms: now_ms(), lost: false, end })
    }

    pub fn write_lost(&self) -> Outcome<()> {
        let end = End { signal: Some(libc::SIGKILL), ..End::default() };
        self.write(END, &Ended { version: VERSION, at_ms: now_ms(), lost: true, end: &end })
    }

    /// There is no sandbox (any more).
    pub fn forget(&self) -> Outcome<()> {
        self.remove(CONTROL).and_then(|()| self.remove(STATE))
    }

    pub fn remove(&self, name: &str) -> Outcome<()> {
        match unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e).during(format_args!("remove {name}")),
        }
    }

    /// Whole, or as it was before.
    pub fn write(&self, name: &str, value: &impl Serialize) -> Outcome<()> {
        let text = serde_json::to_vec(value).during(format_args!("write {name}"))?;
        let temporary = format!("{name}.new");
        self.write_in_place(&temporary, &text)?;
        renameat(&self.fd, temporary.as_str(), &self.fd, name).during(format_args!("write {name}"))
    }

    fn write_in_place(&self, name: &str, text: &[u8]) -> Outcome<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&self.fd, name, flags, Mode::from_raw_mode(0o600));
        let mut file = File::from(opened.during(format_args!("write {name}"))?);
        file.write_all(text).during(format_args!("write {name}"))
    }

    pub fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// When a process started, in the kernel's ticks: with its id, its name for as long as the machine runs.
pub fn start_of(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses is the process's own choice.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_millis() as u64)
}

/// The first look at a folder that may not be there.
pub fn exists(path: &Path) -> bool {
    !matches!(fs::symlink_metadata(path), Err(e) if e.kind() == io::ErrorKind::NotFound)
}
