//! Where a sandbox's cgroup could be made: pure reading of `/proc/self/cgroup` and `/proc/self/mountinfo`, and the
//! choice among the v2 ancestors by what their `cgroup.subtree_control` offers.

use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V1,
    V2,
}

pub const CONTROLLERS: [&str; 3] = ["pids", "memory", "cpu"];

/// A directory under which a cgroup could be made that limits `controllers`.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    pub version: Version,
    pub parent: PathBuf,
    pub controllers: Vec<&'static str>,
}

/// The host's hierarchies as this process sees them.
pub struct Hierarchies {
    /// Own v1 directory of each controller that is mounted as v1.
    v1: Vec<(&'static str, PathBuf)>,
    /// Own v2 directory and its ancestors, nearest first.
    v2: Vec<PathBuf>,
}

impl Hierarchies {
    pub fn of_this_process() -> std::io::Result<Hierarchies> {
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let mut found = Hierarchies::parse(&own, &fs::read_to_string("/proc/self/mountinfo")?);
        // A cgroup whose memory or processor time is limited is not left.
        let kept = found.v2.iter().position(|directory| has_limits(directory)).map_or(found.v2.len(), |last| last + 1);
        found.v2.truncate(kept);
        Ok(found)
    }

    pub fn parse(own_cgroups: &str, mountinfo: &str) -> Hierarchies {
        let mounts: Vec<CgroupMount> = mountinfo.lines().filter_map(CgroupMount::parse).collect();
        let own: Vec<(&str, &str)> =
            own_cgroups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':')).collect();
        let own_path = |controller: &str| {
            let line = own.iter().find(|(names, _)| names.split(',').any(|name| name == controller));
            line.map(|(_, path)| *path)
        };
        let v1 = CONTROLLERS.iter().filter_map(|&controller| {
            let mount = mounts.iter().find(|mount| mount.has_v1(controller))?;
            Some((controller, mount.resolve(own_path(controller)?)))
        });
        let v2 = mounts
            .iter()
            .find(|mount| mount.version == Version::V2)
            .and_then(|mount| Some(mount.resolve_with_ancestors(own_path("")?)));
        Hierarchies { v1: v1.collect(), v2: v2.unwrap_or_default() }
    }

    /// Every directory that could hold our cgroup, for cleaning up.
    pub fn parents(&self) -> impl Iterator<Item = &PathBuf> {
        self.v1.iter().map(|(_, directory)| directory).chain(&self.v2)
    }

    /// Where to make cgroups: the own v1 directories, then for what v1 does not have the nearest v2 ancestor that
    /// is writable and offers most. `offers` tells a v2 directory's usable controllers, None where not writable.
    pub fn places(&self, offers: impl Fn(&Path) -> Option<Vec<&'static str>>) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for (controller, directory) in &self.v1 {
            match places.iter_mut().find(|place| &place.parent == directory) {
                Some(shared) => shared.controllers.push(controller),
                None => places.push(Place {
                    version: Version::V1,
                    parent: directory.clone(),
                    controllers: vec![controller],
                }),
            }
        }
        let in_v1 = |name: &str| self.v1.iter().any(|(controller, _)| *controller == name);
        let best = self
            .v2
            .iter()
            .rev()
            .filter_map(|directory| {
                let mut controllers = offers(directory)?;
                controllers.retain(|name| !in_v1(name));
                (!controllers.is_empty()).then(|| Place {
                    version: Version::V2,
                    parent: directory.clone(),
                    controllers,
                })
            })
            // The last of equals wins, and the nearest comes last.
            .max_by_key(|place| place.controllers.len());
        places.extend(best);
        places
    }
}

/// Returns the controllers that a cgroup v2 directory can pass on to children, if this user may make some.
pub fn offered_by(directory: &Path) -> Option<Vec<&'static str>> {
    let writable = rustix::fs::access(directory, rustix::fs::Access::WRITE_OK).is_ok();
    let passed_on = fs::read_to_string(directory.join("cgroup.subtree_control")).ok()?;
    let has = |name: &&str| passed_on.split_whitespace().any(|word| word == *name);
    writable.then(|| CONTROLLERS.into_iter().filter(has).collect())
}

fn has_limits(directory: &Path) -> bool {
    let limit = |file| fs::read_to_string(directory.join(file)).ok();
    ["memory.max", "memory.high", "cpu.max"].into_iter().filter_map(limit).any(|text| !text.starts_with("max"))
}

struct CgroupMount {
    version: Version,
    root: PathBuf,
    place: PathBuf,
    options: String,
}

impl CgroupMount {
    fn parse(line: &str) -> Option<CgroupMount> {
        let (fields, filesystem) = line.split_once(" - ")?;
        let mut fields = fields.split(' ').skip(3);
        let (root, place) = (unescape(fields.next()?), unescape(fields.next()?));
        let mut filesystem = filesystem.split(' ');
        let version = match filesystem.next()? {
            "cgroup" => Version::V1,
            "cgroup2" => Version::V2,
            _ => return None,
        };
        let options = filesystem.nth(1)?.to_owned();
        Some(CgroupMount { version, root: root.into(), place: place.into(), options })
    }

    fn has_v1(&self, controller: &str) -> bool {
        self.version == Version::V1 && self.options.split(',').any(|option| option == controller)
    }

    /// The own directory. A path that the mount does not show (another cgroup namespace) is taken as its root.
    fn resolve(&self, own: &str) -> PathBuf {
        match Path::new(own).strip_prefix(&self.root) {
            // Joined part by part: joining an empty path would leave a slash at the end.
            Ok(below) if !own.contains("/..") => self.place.iter().chain(below).collect(),
            _ => self.place.clone(),
        }
    }

    fn resolve_with_ancestors(&self, own: &str) -> Vec<PathBuf> {
        let directory = self.resolve(own);
        let within = directory.ancestors().take_while(|ancestor| ancestor.starts_with(&self.place));
        within.map(Path::to_path_buf).collect()
    }
}

/// mountinfo writes space, tab, newline and backslash as three octal digits.
fn unescape(text: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1_MOUNTS: &str = "\
30 20 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
31 20 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
32 20 0:32 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
33 20 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";
    const V2_MOUNT: &str = "30 20 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

    fn place(version: Version, parent: &str, controllers: &[&'static str]) -> Place {
        Place { version, parent: parent.into(), controllers: controllers.to_vec() }
    }

    #[test]
    fn each_v1_controller_is_taken_at_the_own_path() {
        let own = "4:memory:/a/b\n3:cpu,cpuacct:/\n2:pids:/c\n0::/\n";
        let found = Hierarchies::parse(own, V1_MOUNTS).places(|_| Some(Vec::new()));
        assert_eq!(
            found,
            [
                place(Version::V1, "/sys/fs/cgroup/pids/c", &["pids"]),
                place(Version::V1, "/sys/fs/cgroup/memory/a/b", &["memory"]),
                place(Version::V1, "/sys/fs/cgroup/cpu,cpuacct/", &["cpu"]),
            ]
        );
    }

    #[test]
    fn on_v2_the_nearest_writable_ancestor_with_all_controllers_is_taken() {
        let own = "0::/user.slice/user@1.service/app.slice/x.scope\n";
        let found = Hierarchies::parse(own, V2_MOUNT).places(|directory| match directory.file_name()?.to_str()? {
            "x.scope" => Some(Vec::new()),
            "app.slice" => Some(vec!["pids", "memory"]),
            "user@1.service" => Some(vec!["pids", "memory", "cpu"]),
            _ => None,
        });
        let parent = "/sys/fs/cgroup/user.slice/user@1.service";
        assert_eq!(found, [place(Version::V2, parent, &["pids", "memory", "cpu"])]);
    }

    #[test]
    fn of_equal_v2_ancestors_the_nearest_is_taken() {
        let all = |_: &Path| Some(CONTROLLERS.to_vec());
        let found = Hierarchies::parse("0::/a/b\n", V2_MOUNT).places(all);
        assert_eq!(found, [place(Version::V2, "/sys/fs/cgroup/a/b", &CONTROLLERS)]);
    }

    #[test]
    fn a_hybrid_host_takes_from_v2_what_v1_lacks() {
        let mounts = V1_MOUNTS.replace("rw,memory", "rw,freezer");
        let own = "4:freezer:/\n3:cpu,cpuacct:/\n2:pids:/\n0::/\n";
        let all = |_: &Path| Some(CONTROLLERS.to_vec());
        let found = Hierarchies::parse(own, &mounts).places(all);
        assert_eq!(found[2], place(Version::V2, "/sys/fs/cgroup/unified", &["memory"]));
    }

    #[test]
    fn a_mount_of_a_part_of_the_tree_is_resolved_within_it() {
        let mounts = "30 20 0:30 /docker/x /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n";
        let at = |own: &str| Hierarchies::parse(own, mounts).v1[0].1.clone();
        assert_eq!(at("2:pids:/docker/x/y\n"), Path::new("/sys/fs/cgroup/pids/y"));
        assert_eq!(at("2:pids:/elsewhere\n"), Path::new("/sys/fs/cgroup/pids"));
        assert_eq!(at("2:pids:/docker/x/../..\n"), Path::new("/sys/fs/cgroup/pids"));
    }

    #[test]
    fn a_host_without_cgroups_has_no_place() {
        assert!(Hierarchies::parse("", "").places(|_| None).is_empty());
    }

    #[test]
    fn limits_of_a_group_are_told_from_none() {
        let directory = std::env::temp_dir().join(format!("ak-limits-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let is_limited = |file: &str, text: &str| {
            fs::write(directory.join(file), text).unwrap();
            has_limits(&directory)
        };
        assert!(
            !has_limits(&directory) && !is_limited("memory.max", "max\n") && !is_limited("cpu.max", "max 100000\n")
        );
        assert!(is_limited("cpu.max", "50000 100000\n") && !is_limited("cpu.max", "max 100000\n"));
        assert!(is_limited("memory.high", "4096\n"));
        fs::remove_dir_all(directory).unwrap();
    }
}
