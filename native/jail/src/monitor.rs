//! A virtual machine's monitor in the place of the guest. The jail is built as always, from a root with nothing in it but
//! the monitor's own files; what runs in it is `ak-vmm`, which gets files of the host's as descriptors and tells of its
//! failures on descriptor 2. The sandbox itself is in the machine, and so are the walls around its commands.

use std::{
    ffi::{CStr, CString},
    os::fd::{AsFd, AsRawFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, SealFlags, fcntl_get_seals, fstat, open},
    mount::{OpenTreeFlags, open_tree},
};
use serde::Deserialize;

use crate::{
    fault::{During, Fault, Outcome},
    gvisor::Said,
    place, sys,
};

/// The first of its descriptors; the stream has the number before.
const FIRST_FD: i32 = 4;
const MOST_FILES: usize = 16;
const KVM: &str = "/dev/kvm";
const CLONE: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE.union(OpenTreeFlags::OPEN_TREE_CLOEXEC);

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Monitor {
    /// What the program is told.
    pub words: Vec<String>,
    /// Opened outside, with the caller's rights, and given to it in this order.
    pub files: Vec<MonitorFile>,
    /// It may use the machine's own virtualization.
    pub kvm: bool,
    /// It is spoken to on Unix sockets that it makes in /tmp.
    #[serde(default)]
    pub unix_sockets: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MonitorFile {
    pub path: PathBuf,
    pub writable: bool,
}

impl Monitor {
    pub fn check(&self) -> Result<(), String> {
        if !self.files.iter().all(|file| file.path.is_absolute()) {
            return Err("paths of the monitor's files must be absolute".into());
        }
        if self.files.len() > MOST_FILES {
            return Err(format!("a monitor has at most {MOST_FILES} files"));
        }
        Ok(())
    }
}

/// What is given to the monitor's program, and nothing else.
pub struct Given {
    files: Vec<OwnedFd>,
    says: OwnedFd,
}

impl Given {
    /// With what it will say. Root closes here what is only to be read, a user's sandbox in its own mount namespace.
    pub fn open(monitor: &Monitor, privileged: bool) -> Outcome<(Self, Said)> {
        let open = |file: &MonitorFile| {
            let fd = open_file(file)?;
            if privileged {
                closed(file, fd, |fd| open_tree(fd, "", CLONE | OpenTreeFlags::AT_EMPTY_PATH))
            } else {
                Ok(fd)
            }
        };
        let files = monitor.files.iter().map(open).collect::<Outcome<Vec<_>>>()?;
        let (said, says) = Said::pair()?;
        Ok((Self { files, says }, said))
    }

    /// In the child, where root has not done so: as long as the host's paths lead to the host's files.
    pub fn close(self, monitor: &Monitor) -> Outcome<Self> {
        let close = |(file, fd): (&MonitorFile, OwnedFd)| closed(file, fd, |_| open_tree(CWD, &file.path, CLONE));
        let files = monitor.files.iter().zip(self.files).map(close).collect::<Outcome<Vec<_>>>()?;
        Ok(Self { files, says: self.says })
    }

    /// At numbers above those that its descriptors will have.
    pub fn above_placed(self) -> Outcome<Self> {
        let move_up = |fd: OwnedFd| sys::above_placed(fd).during("move a file of the monitor's");
        let files = self.files.into_iter().map(move_up).collect::<Outcome<Vec<_>>>()?;
        Ok(Self { files, says: move_up(self.says)? })
    }

    /// After the stream is in its place.
    pub fn place(&self) -> Outcome<()> {
        sys::place_fd(&self.says, 2).during("place a descriptor")?;
        for (number, file) in (FIRST_FD..).zip(&self.files) {
            sys::place_fd(file.as_fd(), number).during("place a file of the monitor's")?;
        }
        Ok(())
    }
}

fn open_file(MonitorFile { path, writable }: &MonitorFile) -> Outcome<OwnedFd> {
    let access = if *writable { OFlags::RDWR } else { OFlags::RDONLY };
    open(path, access | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| Fault::start(format!("a file of the machine's cannot be opened: {}: {e}", path.display())))
}

/// Whoever has a descriptor for reading can open the file once more by /proc/self/fd, with its own rights: the monitor
/// may have the caller's. So what is only to be read is opened on a read-only mount, or is sealed.
fn closed(
    MonitorFile { path, writable }: &MonitorFile,
    fd: OwnedFd,
    clone: impl FnOnce(&OwnedFd) -> rustix::io::Result<OwnedFd>,
) -> Outcome<OwnedFd> {
    let what = format_args!("close a file of the machine's, {}", path.display());
    let opened = fstat(&fd).during(what)?;
    let is_sealed = fcntl_get_seals(&fd).is_ok_and(|seals| seals.contains(SealFlags::WRITE));
    if *writable || is_sealed || FileType::from_raw_mode(opened.st_mode) != FileType::RegularFile {
        return Ok(fd);
    }
    let tree = clone(&fd).during(what)?;
    place::readonly(&tree).during(what)?;
    let reopened = open(format!("/proc/self/fd/{}", tree.as_raw_fd()), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let reopened = reopened.during(what)?;
    let found = fstat(&reopened).during(what)?;
    if (found.st_dev, found.st_ino) != (opened.st_dev, opened.st_ino) {
        return Err(Fault::start(format!("{} was replaced while the machine started", path.display())));
    }
    Ok(reopened)
}

/// In the child, before its root is entered: the host's device, where it may use it.
pub fn show_devices(monitor: &Monitor) -> Outcome<()> {
    if !monitor.kvm {
        return Ok(());
    }
    let device = place::clone_tree(CWD, Path::new(KVM)).during("show /dev/kvm")?;
    std::fs::write("root/dev/kvm", "").during("make a device")?;
    place::attach_at(&device, Path::new("root/dev/kvm")).during("show /dev/kvm")
}

/// Becomes the monitor's program. Does not come back, unless that failed.
pub fn start(monitor: &Monitor, program: &OwnedFd) -> Outcome<std::convert::Infallible> {
    let words = std::iter::once("ak-vmm").chain(monitor.words.iter().map(String::as_str));
    let words = words.map(CString::new).collect::<Result<Vec<_>, _>>().during("name the monitor's words")?;
    let words: Vec<&CStr> = words.iter().map(CString::as_c_str).collect();
    Err(sys::exec_fd(program.as_fd(), &words)).during("start the monitor")
}
