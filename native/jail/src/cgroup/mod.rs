//! Limits for the sandbox as a whole, on whatever the host has: v2, v1, or v1 controllers beside an empty v2.
//! A cgroup is made below the caller's own (v1) or at the nearest place that takes one (v2), and is removed by
//! whoever is left: the supervisor, or the next sweep.

mod files;
mod freezer;
mod place;
mod stats;
mod usage;

use std::{
    fs, io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

pub use files::enter;
use place::Places;
pub use place::is_pure_v2;
pub use stats::Stats;
pub use usage::Usage;

use rustix::{
    fs::{Mode, OFlags, openat},
    io::Errno,
};

use crate::{
    claim,
    control::{Layer, LayerState},
    fault::{During, Outcome},
    own_limits,
    spec::Limits,
};

const NEEDED: [&str; 3] = ["memory", "pids", "cpu"];

/// One folder, and which of the controllers it carries.
struct Group {
    path: PathBuf,
    v2: bool,
    controllers: Vec<&'static str>,
    owned: OwnedFd,
}

pub struct Cgroup {
    groups: Vec<Group>,
    freezer: Option<freezer::Freezer>,
}

/// What of it stands.
pub struct CgroupLayers {
    pub limits: Layer,
    /// Only where it was asked for.
    pub freezer: Option<Layer>,
}

impl CgroupLayers {
    pub fn add_to_limits(&mut self, remark: &str) {
        self.limits.detail.get_or_insert_default().push_str(remark);
    }
}

impl Cgroup {
    /// Makes what can be made, and says what could not.
    pub fn create(limits: &Limits, freezes: bool) -> Outcome<(Self, CgroupLayers)> {
        let places = Places::find();
        let name = claim::unique_name();
        let mut cgroup = Self { groups: Vec::new(), freezer: None };
        let mut missing = Vec::new();
        for controller in NEEDED {
            match places.of(controller) {
                None => missing.push(controller),
                Some(place) => {
                    let path = place.parent.join(&name);
                    if let Some(group) = cgroup.groups.iter_mut().find(|g| g.path == path) {
                        group.controllers.push(controller);
                        continue;
                    }
                    match make(&path) {
                        Ok(owned) => {
                            let controllers = vec![controller];
                            cgroup.groups.push(Group { path, v2: place.v2, controllers, owned });
                        }
                        Err(_) => missing.push(controller),
                    }
                }
            }
        }
        for group in &cgroup.groups {
            for controller in &group.controllers {
                group.limit(controller, limits)?;
            }
        }
        let layer = match missing.len() {
            0 => Layer::applied("cgroup"),
            3 => Layer::new(
                "cgroup",
                LayerState::Absent,
                "no writable cgroup: memory is limited for each process, not in all; no cpu limit; processes by rlimit",
            ),
            _ => Layer::new("cgroup", LayerState::Partial, format!("no limit by cgroup on: {}", missing.join(", "))),
        };
        let freezer = freezes.then(|| cgroup.add_freezer(&name));
        Ok((cgroup, CgroupLayers { limits: layer, freezer }))
    }

    /// Other limits than those that it was made with.
    pub fn set_limits(&self, limits: &Limits) -> Outcome<()> {
        for group in self.groups.iter().filter(|group| !group.v2 && group.controllers.contains(&"memory")) {
            // This one must never be below the other, in whichever direction they go.
            group.set_if_there("memory.memsw.limit_in_bytes", "-1")?;
        }
        let mut all = self.groups.iter().flat_map(|group| group.controllers.iter().map(move |name| (group, name)));
        all.try_for_each(|(group, name)| group.limit(name, limits))
    }

    pub fn paths(&self) -> Vec<PathBuf> {
        self.groups.iter().map(|group| group.path.clone()).collect()
    }

    pub fn limits(&self, controller: &str) -> bool {
        self.groups.iter().any(|g| g.controllers.contains(&controller))
    }

    /// What it limits, for the sandbox to see: names of controllers, and of version 2 as a whole.
    pub fn limited(&self) -> Vec<String> {
        let limiting = self.groups.iter().filter(|group| !group.controllers.is_empty());
        limiting
            .flat_map(|group| if group.v2 { vec![own_limits::UNIFIED] } else { group.controllers.clone() })
            .map(str::to_owned)
            .collect()
    }

    /// The v2 group, for the sandbox to be born in.
    pub fn birthplace(&self) -> Option<BorrowedFd<'_>> {
        self.groups.iter().find(|g| g.v2).map(|g| g.owned.as_fd())
    }

    /// Ways into the groups (but the one that the sandbox was `born` in), for its first process to enter by itself:
    /// moving another process makes the kernel wait for every processor, which takes longer than all the rest.
    pub fn doors(&self, born: bool) -> Outcome<Vec<OwnedFd>> {
        let to_enter = self.groups.iter().filter(|g| !(g.v2 && born));
        to_enter
            .map(|g| {
                let file = if g.v2 { "cgroup.procs" } else { "tasks" };
                openat(&g.owned, file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
            })
            .collect::<Result<_, _>>()
            .during("open the sandbox's cgroup")
    }

    fn of(&self, controller: &str) -> Option<&Group> {
        self.groups.iter().find(|g| g.controllers.contains(&controller))
    }
}

/// Makes a group and claims it. A sweep may come between the two, so try again.
fn make(path: &Path) -> io::Result<OwnedFd> {
    for _ in 0..100 {
        fs::create_dir(path).or_else(|e| if e.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(e) })?;
        if let Some(owned) = claim::claim(path)? {
            return Ok(owned);
        }
        sleep(Duration::from_micros(100));
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// Whether there are groups that the supervisor with this process id made.
pub fn has_of(pid: &str) -> bool {
    Places::find().parents().any(|parent| claim::has_of(parent, pid))
}

/// The same of a kept sandbox's supervisor.
pub fn has_of_kept(pid: &str) -> bool {
    has_of(pid) || freezer::parents().iter().any(|parent| claim::has_of(parent, pid))
}

/// Removes the groups of supervisors that were killed.
pub fn sweep() {
    for parent in Places::find().parents() {
        sweep_in(parent);
    }
}

/// The groups of kept sandboxes too.
pub fn sweep_kept() {
    sweep();
    for parent in freezer::parents() {
        sweep_in(&parent);
    }
}

/// Groups that their owner has left: frozen by v1, their processes could not even die.
pub fn thaw_all(paths: &[PathBuf]) {
    for file in paths.iter().map(|path| path.join("freezer.state")).filter(|file| file.exists()) {
        // If it cannot be thawed, the wait for its processes says so.
        let _ = fs::write(file, "THAWED");
    }
}

/// Those whose processes are gone; others are left to a sweep.
pub fn remove_all(paths: &[PathBuf]) {
    for path in paths {
        if let Ok(Some(_lock)) = claim::claim(path) {
            let _ = fs::remove_dir(path);
        }
    }
}

fn sweep_in(parent: &Path) {
    // A group that still has processes cannot be removed; the next sweep sees it again.
    claim::sweep(parent, |path| {
        let _ = fs::remove_dir(path);
    });
}

impl Drop for Cgroup {
    /// The processes are gone when this runs; the kernel may need a moment to notice.
    fn drop(&mut self) {
        for group in &self.groups {
            for _ in 0..200 {
                match fs::remove_dir(&group.path) {
                    Err(e) if e.kind() == io::ErrorKind::ResourceBusy => sleep(Duration::from_millis(1)),
                    _ => break,
                }
            }
        }
    }
}

impl Group {
    fn limit(&self, controller: &str, limits: &Limits) -> Outcome<()> {
        let memory = limits.memory_mib << 20;
        let quota = (limits.vcpus * 100_000.0).round().max(1000.0) as u64;
        match (controller, self.v2) {
            ("pids", _) => self.set("pids.max", &limits.pids.to_string()),
            ("memory", true) => {
                self.set("memory.max", &memory.to_string())?;
                self.set_if_there("memory.swap.max", "0")?;
                // One process going over ends that process, as with v1, and not the guest beside it.
                self.set_if_there("memory.oom.group", "0")
            }
            ("memory", false) => {
                self.set("memory.limit_in_bytes", &memory.to_string())?;
                self.set_if_there("memory.memsw.limit_in_bytes", &memory.to_string())
            }
            ("cpu", true) => self.set("cpu.max", &format!("{quota} 100000")),
            ("cpu", false) => self.set("cpu.cfs_quota_us", &quota.to_string()),
            _ => Ok(()),
        }
    }

    fn set(&self, file: &str, value: &str) -> Outcome<()> {
        self.write(file, value).during(format_args!("set {file} to {value}"))
    }

    fn set_if_there(&self, file: &str, value: &str) -> Outcome<()> {
        match self.write(file, value) {
            Err(Errno::NOENT | Errno::ACCESS | Errno::PERM) => Ok(()),
            other => other.during(format_args!("set {file} to {value}")),
        }
    }

    fn write(&self, file: &str, value: &str) -> rustix::io::Result<()> {
        files::write_value(&self.owned, file, value)
    }

    /// None where there is no such file.
    fn read(&self, file: &str) -> Option<String> {
        files::read_value(&self.owned, file)
    }

    fn number(&self, file: &str) -> Option<u64> {
        self.read(file)?.trim().parse().ok()
    }

    /// A number that stands behind its name.
    fn counter(&self, file: &str, name: &str) -> Option<u64> {
        self.read(file)?.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
    }
}
