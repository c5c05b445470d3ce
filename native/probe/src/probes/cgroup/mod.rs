//! Resource limits: makes a cgroup where a sandbox's would be made, hits its limits, removes it.

mod limits;
mod place;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::geteuid;

use super::Context;
use crate::report::{Fault, Verdict};
use place::{CONTROLLERS, Hierarchies, Place, Version};

const WITHOUT: &str = "without a cgroup only rlimits hold: memory per process and never in total, processes per user namespace, no cpu quota";
const USER_HINT: &str = "with systemd and cgroup v2, have the controllers delegated (`Delegate=cpu memory pids` in a drop-in of user@.service, then log in again) and start agentkernel by `systemd-run --user --scope`; on cgroup v1 only root can prepare a cgroup";
const ROOT_HINT: &str = "mount the cgroup filesystem writable with the pids, memory and cpu controllers (in a container: `--privileged`, or a writable /sys/fs/cgroup)";
const REMOVE_LIMIT: Duration = Duration::from_millis(300);

pub fn probe(context: &Context) -> Verdict {
    let hint = if geteuid().is_root() { ROOT_HINT } else { USER_HINT };
    let hierarchies = Hierarchies::of_this_process()
        .map_err(|error| Fault::new(format!("reading own cgroups: {error}; {WITHOUT}"), hint))?;
    let places = hierarchies.places(place::offered_by);
    let mut problems: Vec<String> = Vec::new();
    let mut held: Vec<&str> = Vec::new();
    for place in &places {
        match try_place(place, &context.tag) {
            Ok(outcomes) => {
                for (controller, outcome) in outcomes {
                    match outcome {
                        Ok(()) => held.push(controller),
                        Err(why) => problems.push(format!("{controller}: {why}")),
                    }
                }
            }
            Err(why) => problems.push(format!("{}: {why}", place.controllers.join(", "))),
        }
    }
    for name in CONTROLLERS {
        if !places.iter().any(|place| place.controllers.contains(&name)) {
            problems.push(format!("{name}: no writable cgroup offers it"));
        }
    }
    verdict(&places, &held, &problems, hint)
}

fn verdict(places: &[Place], held: &[&str], problems: &[String], hint: &str) -> Verdict {
    if problems.is_empty() {
        let v1 = places.iter().any(|place| place.version == Version::V1);
        let v2 = places.iter().any(|place| place.version == Version::V2);
        let version = match (v1, v2) {
            (true, true) => "v1 and v2",
            (true, false) => "v1",
            _ => "v2",
        };
        return Ok(format!(
            "{version}: fork refused over the pids limit, process killed over the memory limit, cpu quota set"
        ));
    }
    let consequence =
        if held.is_empty() { WITHOUT.to_owned() } else { format!("only these limits hold: {}", held.join(", ")) };
    Err(Fault::new(format!("{}; {consequence}", problems.join("; ")), hint))
}

type Outcomes = Vec<(&'static str, limits::Outcome)>;

fn try_place(place: &Place, tag: &str) -> Result<Outcomes, String> {
    let cgroup = Cgroup::make(&place.parent, tag)
        .map_err(|error| format!("making a cgroup in {}: {error}", place.parent.display()))?;
    let outcomes = place
        .controllers
        .iter()
        .map(|&controller| (controller, limits::hit(controller, place.version, &cgroup.0)))
        .collect();
    cgroup.remove().map_err(|error| format!("removing a cgroup: {error}"))?;
    Ok(outcomes)
}

struct Cgroup(PathBuf);

impl Cgroup {
    fn make(parent: &Path, name: &str) -> io::Result<Cgroup> {
        let path = parent.join(name);
        fs::create_dir(&path)?;
        Ok(Cgroup(path))
    }

    fn remove(self) -> io::Result<()> {
        remove(&self.0)
    }
}

/// A cgroup stays busy for a moment after its last process was waited for.
fn remove(path: &Path) -> io::Result<()> {
    let since = Instant::now();
    loop {
        match fs::remove_dir(path) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && since.elapsed() < REMOVE_LIMIT => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => return Ok(()),
        }
    }
}

/// Removes what a killed probe left. Its processes are gone by then.
pub fn sweep(context: &Context) {
    let Ok(hierarchies) = Hierarchies::of_this_process() else {
        return;
    };
    let left = hierarchies.parents().map(|parent| parent.join(&context.tag)).filter(|path| path.exists());
    for path in left {
        if let Err(error) = remove(&path) {
            eprintln!("ak-probe: {} stays: {error}", path.display());
        }
    }
}
