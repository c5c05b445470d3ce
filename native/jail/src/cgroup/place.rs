//! Where on this host a cgroup for a sandbox can be made, for each controller.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, access, statfs};

pub struct Place {
    pub parent: PathBuf,
    pub v2: bool,
}

#[derive(Default)]
pub struct Places {
    v1: HashMap<String, PathBuf>,
    v2: Option<(PathBuf, Vec<String>)>,
}

impl Places {
    pub fn find() -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        if let Some(mounts) = usual_mounts(&own) {
            return Self::among(mounts.into_iter(), &own);
        }
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Self::among(table.lines().filter_map(CgroupMount::parse), &own)
    }

    fn among<'a>(mounts: impl Iterator<Item = CgroupMount<'a>>, own: &str) -> Self {
        let mut places = Self::default();
        for mount in mounts {
            if mount.v2 {
                if places.v2.is_none() {
                    places.v2 = own_path(own, "").and_then(|path| v2_place(&mount, &path));
                }
                continue;
            }
            for controller in mount.options.split(',').filter(|c| super::NEEDED.contains(c)) {
                if let Some(parent) = own_path(own, controller).and_then(|path| mount.folder(&path))
                    && writable(&parent)
                {
                    places.v1.insert(controller.to_owned(), parent);
                }
            }
        }
        places
    }

    pub fn of(&self, controller: &str) -> Option<Place> {
        if let Some(parent) = self.v1.get(controller) {
            return Some(Place { parent: parent.clone(), v2: false });
        }
        let (parent, controllers) = self.v2.as_ref()?;
        controllers.iter().any(|c| c == controller).then(|| Place { parent: parent.clone(), v2: true })
    }

    /// Every folder that may hold cgroups of ours.
    pub fn parents(&self) -> impl Iterator<Item = &PathBuf> {
        self.v1.values().chain(self.v2.as_ref().map(|(parent, _)| parent))
    }
}

struct CgroupMount<'a> {
    root: &'a str,
    point: &'a str,
    v2: bool,
    options: &'a str,
}

impl<'a> CgroupMount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let (root, point) = (left.next()?, left.next()?);
        let mut right = right.split(' ');
        let v2 = match right.next()? {
            "cgroup" => false,
            "cgroup2" => true,
            _ => return None,
        };
        Some(Self { root, point, v2, options: right.nth(1)? })
    }

    /// The folder of a cgroup path, if this mount shows it.
    fn folder(&self, path: &str) -> Option<PathBuf> {
        let below = if self.root == "/" { path } else { path.strip_prefix(self.root)? };
        Some(Path::new(self.point).join(below.trim_start_matches('/')))
    }
}

/// Whether all controllers are in the v2 hierarchy. A sandbox is best born in its cgroup there, which then must be made
/// before it.
pub fn is_pure_v2() -> bool {
    is_filesystem("/sys/fs/cgroup", CGROUP2)
}

const CGROUP1: u64 = 0x0027_e0eb;
const CGROUP2: u64 = 0x6367_7270;

fn is_filesystem(point: &str, magic: u64) -> bool {
    statfs(point).is_ok_and(|s| s.f_type as u64 == magic)
}

/// The mounts as nearly every host has them, if this is one: reading the table of all mounts takes longer than making
/// the cgroup.
fn usual_mounts(own: &str) -> Option<Vec<CgroupMount<'static>>> {
    let shows = |mount: &CgroupMount<'_>, controller: &str| {
        own_path(own, controller).and_then(|path| mount.folder(&path)).is_some_and(|folder| folder.is_dir())
    };
    let whole = |point, v2, options| CgroupMount { root: "/", point, v2, options };
    if is_pure_v2() {
        let mount = whole("/sys/fs/cgroup", true, "");
        return shows(&mount, "").then(|| vec![mount]);
    }
    let points = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/cpu"];
    let mounts = super::NEEDED.iter().zip(points).map(|(&controller, point)| {
        let mount = whole(point, false, controller);
        (is_filesystem(point, CGROUP1) && shows(&mount, controller)).then_some(mount)
    });
    mounts.collect()
}

/// Where a v2 group without controllers can be made beside v1: below the caller's own.
pub fn unified_place() -> Option<PathBuf> {
    if is_pure_v2() {
        return None;
    }
    place_in(|mount| mount.v2, "")
}

/// Where a group of the v1 freezer can be made.
pub fn freezer_place() -> Option<PathBuf> {
    place_in(|mount| !mount.v2 && mount.options.split(',').any(|o| o == "freezer"), "freezer")
}

fn place_in(is_it: impl Fn(&CgroupMount<'_>) -> bool, controller: &str) -> Option<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let table = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = table.lines().filter_map(CgroupMount::parse).find(is_it)?;
    mount.folder(&own_path(&own, controller)?).filter(|folder| writable(folder))
}

/// The caller's path for a v1 controller, or for v2 with an empty name.
fn own_path(own: &str, controller: &str) -> Option<String> {
    own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let names = fields.nth(1)?;
        names.split(',').any(|n| n == controller).then(|| fields.next().map(str::to_owned))?
    })
}

/// v2: controllers can only be given to children of a group without processes of its own (or of the root), so
/// walk up from the caller's group to the first place that takes all, else the most, of what we need.
fn v2_place(mount: &CgroupMount<'_>, path: &str) -> Option<(PathBuf, Vec<String>)> {
    let top = Path::new(mount.point);
    let mut folder = mount.folder(path)?;
    let mut best: Option<(PathBuf, Vec<String>)> = None;
    loop {
        if writable(&folder) {
            let have = enable(&folder);
            if have.len() > best.as_ref().map_or(0, |b| b.1.len()) {
                best = Some((folder.clone(), have));
            }
        }
        if best.as_ref().is_some_and(|b| b.1.len() == super::NEEDED.len()) || folder == top || !folder.pop() {
            return best;
        }
    }
}

fn enable(folder: &Path) -> Vec<String> {
    let list = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
    let given = list("cgroup.subtree_control");
    let offered = list("cgroup.controllers");
    let in_list = |text: &str, name: &str| text.split_whitespace().any(|word| word == name);
    for controller in super::NEEDED.iter().filter(|c| !in_list(&given, c) && in_list(&offered, c)) {
        // Refused where the group has processes of its own; the list read below decides.
        let _ = fs::write(folder.join("cgroup.subtree_control"), format!("+{controller}"));
    }
    let given = list("cgroup.subtree_control");
    super::NEEDED.iter().filter(|c| in_list(&given, c)).map(|c| (*c).to_owned()).collect()
}

fn writable(folder: &Path) -> bool {
    access(folder, Access::WRITE_OK).is_ok() && access(folder.join("cgroup.procs"), Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_paths_are_taken_below_the_mount() {
        let line = "30 25 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory";
        let mount = CgroupMount::parse(line).expect("a cgroup mount");
        assert_eq!(mount.folder("/a/b"), Some(PathBuf::from("/sys/fs/cgroup/memory/a/b")));
        assert!(!mount.v2 && mount.options.contains("memory"));
    }

    #[test]
    fn a_mount_of_a_subtree_shows_only_that() {
        let line = "30 25 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup rw,nsdelegate";
        let mount = CgroupMount::parse(line).expect("a cgroup mount");
        assert!(mount.v2);
        assert_eq!(mount.folder("/docker/x/y"), Some(PathBuf::from("/sys/fs/cgroup/y")));
        assert_eq!(mount.folder("/other"), None);
    }

    #[test]
    fn own_paths_are_found_by_controller() {
        let own = "5:cpu,cpuacct:/c\n4:memory:/m\n0::/unified\n";
        assert_eq!(own_path(own, "cpuacct").as_deref(), Some("/c"));
        assert_eq!(own_path(own, "").as_deref(), Some("/unified"));
        assert_eq!(own_path(own, "pids"), None);
    }
}
