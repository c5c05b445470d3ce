//! Stopping a whole sandbox for a while (`pause`). By v2 wherever there is such a hierarchy, also one without
//! controllers: in a group frozen by v1, SIGKILL waits for the thaw.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags, open},
    io::retry_on_intr,
};

use super::{
    Cgroup, Group, make,
    place::{freezer_place, unified_place},
};
use crate::{
    control::{Layer, LayerState},
    fault::{During, Fault, Outcome},
};

const LAYER: &str = "freezer";
/// A process in an uninterruptible wait is frozen when that ends.
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

pub enum Freezer {
    V2(PathBuf),
    V1(PathBuf),
}

/// Folders that hold groups only made for freezing.
pub fn parents() -> Vec<PathBuf> {
    [unified_place(), freezer_place()].into_iter().flatten().collect()
}

impl Cgroup {
    /// Makes the sandbox one that can be frozen, if this host lets us.
    pub(super) fn add_freezer(&mut self, name: &str) -> Layer {
        if let Some(group) = self.groups.iter().find(|g| g.v2) {
            self.freezer = Some(Freezer::V2(group.path.clone()));
            return Layer::applied(LAYER);
        }
        for (parent, v2) in [(unified_place(), true), (freezer_place(), false)] {
            let Some(path) = parent.map(|parent| parent.join(name)) else { continue };
            let Ok(owned) = make(&path) else { continue };
            self.freezer = Some(if v2 { Freezer::V2(path.clone()) } else { Freezer::V1(path.clone()) });
            self.groups.push(Group { path, v2, controllers: Vec::new(), owned });
            return Layer::applied(LAYER);
        }
        Layer::new(LAYER, LayerState::Absent, "no writable cgroup that can be frozen: the sandbox cannot be paused")
    }

    pub fn freeze(&self) -> Outcome<()> {
        match self.freezer.as_ref().ok_or_else(unsupported)? {
            Freezer::V2(path) => {
                write(&path.join("cgroup.freeze"), "1")?;
                await_frozen(path)
            }
            Freezer::V1(path) => write(&path.join("freezer.state"), "FROZEN"),
        }
    }

    /// One that is not frozen stays as it is.
    pub fn thaw(&self) -> Outcome<()> {
        match &self.freezer {
            Some(Freezer::V2(path)) => write(&path.join("cgroup.freeze"), "0"),
            Some(Freezer::V1(path)) => write(&path.join("freezer.state"), "THAWED"),
            None => Ok(()),
        }
    }
}

fn write(file: &Path, value: &str) -> Outcome<()> {
    fs::write(file, value).during(format_args!("write {value} to {}", file.display()))
}

/// The kernel says so by an event on the file.
fn await_frozen(path: &Path) -> Outcome<()> {
    let events = open(path.join("cgroup.events"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let events = events.during("watch the sandbox freeze")?;
    loop {
        let mut text = [0; 128];
        let length = retry_on_intr(|| rustix::io::pread(&events, &mut text, 0)).during("watch the sandbox freeze")?;
        if String::from_utf8_lossy(&text[..length]).lines().any(|line| line == "frozen 1") {
            return Ok(());
        }
        let mut polled = [PollFd::new(&events, PollFlags::PRI)];
        if retry_on_intr(|| poll(&mut polled, Some(&PATIENCE))).during("watch the sandbox freeze")? == 0 {
            return Err(Fault::new("resource_exhausted", "the sandbox could not be paused in time")
                .hint("one of its processes waits for a device or a network filesystem; try again"));
        }
    }
}

fn unsupported() -> Fault {
    Fault::new("unsupported", "this sandbox cannot be paused: it has no cgroup that could be frozen")
        .hint("run as root, or where a cgroup is delegated to you (systemd does that for its user sessions)")
}
