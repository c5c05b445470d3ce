//! What programs read of their limits: the sandbox's own cgroup at /sys/fs/cgroup, read-only, as containers have it. JVMs,
//! Node and Go choose their heaps and threads by it. The cgroup namespace shows nothing above the group. How many
//! processors there are is beside it, for lscpu and old C libraries.

use std::{ffi::CString, fs, os::unix::fs::symlink};

use rustix::{
    fs::{Mode, mkdir, rmdir},
    mount::{MountFlags, mount},
    thread::sched_getaffinity,
};

use crate::{
    fault::{During, Outcome},
    filesystems, place,
};

const SYS: &str = "root/sys";
const CGROUP: &str = "root/sys/fs/cgroup";
const PROCESSORS: &str = "root/sys/devices/system/cpu";

/// The current folder is the scratch filesystem, and this process is in the sandbox's cgroup and cgroup namespace.
/// `limited` names the controllers that hold it; a group of which it has none is the caller's.
pub fn show(limited: &[String]) -> Outcome<()> {
    filesystems::mount_tmpfs(SYS, 1, "0755")?;
    for folder in ["fs", "fs/cgroup", "devices", "devices/system", "devices/system/cpu"] {
        make(&format!("{SYS}/{folder}"))?;
    }
    let own = fs::read_to_string("root/proc/self/cgroup").during("look at the sandbox's cgroup")?;
    for hierarchy in own.lines().filter_map(|line| Hierarchy::of(line, limited)) {
        hierarchy.show()?;
    }
    show_processors()?;
    place::readonly_at(SYS).during("make /sys read-only")
}

/// HotSpot takes version 1 only with these as well. The groups are the caller's, and say no more than /proc/stat does.
const BESIDE: [&str; 2] = ["cpuacct", "cpuset"];

#[derive(Debug, PartialEq, Eq)]
enum Hierarchy<'a> {
    Unified,
    /// Of version 1, with the controllers that are mounted together.
    Of(&'a str),
}

impl<'a> Hierarchy<'a> {
    /// A line of /proc/self/cgroup, if the sandbox has a group of its own there.
    fn of(line: &'a str, limited: &[String]) -> Option<Self> {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let holds = |name: &str| limited.iter().any(|one| one == name);
        let is_beside = |name: &str| BESIDE.contains(&name) && holds("memory");
        match controllers {
            _ if path != "/" => None,
            "" => holds(UNIFIED).then_some(Self::Unified),
            _ => controllers.split(',').any(|name| holds(name) || is_beside(name)).then_some(Self::Of(controllers)),
        }
    }

    fn show(self) -> Outcome<()> {
        match self {
            Self::Unified => {
                let mounted = mount("cgroup2", CGROUP, "cgroup2", CLOSED, None);
                // A kernel that gives none to a user namespace: programs see no limits, as without it.
                if mounted.is_ok() { place::readonly_at(CGROUP).during("make the cgroup read-only") } else { Ok(()) }
            }
            Self::Of(controllers) => {
                let at = format!("{CGROUP}/{controllers}");
                make(&at)?;
                let options = CString::new(controllers).during("name the controllers of a cgroup")?;
                if mount("cgroup", at.as_str(), "cgroup", CLOSED, options.as_c_str()).is_err() {
                    return rmdir(at.as_str()).during("remove a folder of /sys");
                }
                place::readonly_at(at.as_str()).during("make the cgroup read-only")?;
                let mut together = controllers.split(',').filter(|name| *name != controllers);
                together
                    .try_for_each(|name| symlink(controllers, format!("{CGROUP}/{name}")))
                    .during("name the controllers of a cgroup")
            }
        }
    }
}

/// Stands for the hierarchy of version 2 among names of controllers.
pub const UNIFIED: &str = "unified";

const CLOSED: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

fn show_processors() -> Outcome<()> {
    let count = sched_getaffinity(None).during("count the processors")?.count();
    let last = count.max(1) - 1;
    let all = if last == 0 { "0\n".to_owned() } else { format!("0-{last}\n") };
    for name in ["possible", "present", "online"] {
        fs::write(format!("{PROCESSORS}/{name}"), &all).during("write the number of processors")?;
    }
    (0..=last).try_for_each(|number| make(&format!("{PROCESSORS}/cpu{number}")))
}

fn make(folder: &str) -> Outcome<()> {
    mkdir(folder, Mode::from_raw_mode(0o755)).during("make a folder of /sys")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_of_the_sandbox_itself_are_shown() {
        let limited = ["memory", "pids", "cpu"].map(str::to_owned);
        for (line, shown) in [
            ("4:memory:/", Some(Hierarchy::Of("memory"))),
            ("3:cpu,cpuacct:/", Some(Hierarchy::Of("cpu,cpuacct"))),
            ("4:memory:/../other", None),
            ("5:cpuset:/", Some(Hierarchy::Of("cpuset"))),
            ("7:blkio:/", None),
            ("9:name=systemd:/", None),
            ("0::/", None),
        ] {
            assert_eq!(Hierarchy::of(line, &limited), shown, "{line}");
        }
        assert_eq!(Hierarchy::of("0::/", &[UNIFIED.to_owned()]), Some(Hierarchy::Unified));
        assert_eq!(Hierarchy::of("4:memory:/", &[]), None);
    }
}
