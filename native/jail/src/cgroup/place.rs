//! Where on this host a cgroup for a sandbox can be made, for each controller.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, access, getxattr, stat, statfs},
    process::{Uid, geteuid},
};

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
                    places.v2 = own_path(own, "")
                        .and_then(|path| mount.folder(&path))
                        .and_then(|own| v2_place(Path::new(mount.point), own, geteuid()));
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

/// v2: controllers can only be given to children of a group without processes of its own (or of the root), so walk up
/// from the caller's group to the first place that takes all, else the most, of what we need. A group whose memory or
/// processor time somebody limited is not left: what its owner gave to it is all that its sandboxes may take, too.
fn v2_place(top: &Path, own: PathBuf, caller: Uid) -> Option<(PathBuf, Vec<String>)> {
    let mut folder = own.clone();
    let mut best: Option<(PathBuf, Vec<String>)> = None;
    loop {
        if writable(&folder) {
            if folder == own || is_delegated(&folder, top, caller) {
                enable(&folder);
            }
            let have = enabled(&folder);
            if have.len() > best.as_ref().map_or(0, |b| b.1.len()) {
                best = Some((folder.clone(), have));
            }
        }
        let is_complete = best.as_ref().is_some_and(|b| b.1.len() == super::NEEDED.len());
        if is_complete || folder == top || has_limits(&folder) || !folder.pop() {
            return best;
        }
    }
}

/// Processes are left out: service managers limit those of every group, and each sandbox has a limit of its own.
const LIMITS: [&str; 3] = ["memory.max", "memory.high", "cpu.max"];

fn has_limits(folder: &Path) -> bool {
    let limit = |file: &&str| fs::read_to_string(folder.join(file)).ok();
    LIMITS.iter().filter_map(limit).any(|text| !text.starts_with("max"))
}

/// As service managers note it at the group that they gave away with all below it.
const DELEGATED: [&str; 2] = ["user.delegate", "trusted.delegate"];

/// Whether the caller may arrange this group, and not only could because root can.
fn is_delegated(folder: &Path, top: &Path, caller: Uid) -> bool {
    let is_noted = |folder: &Path| {
        let mut value = [0; 1];
        DELEGATED.iter().any(|name| getxattr(folder, *name, &mut value).is_ok_and(|n| value[..n] == *b"1"))
    };
    !caller.is_root() && stat(folder).is_ok_and(|found| found.st_uid == caller.as_raw())
        || folder.ancestors().take_while(|ancestor| ancestor.starts_with(top)).any(is_noted)
}

fn enable(folder: &Path) {
    let list = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
    let offered = list("cgroup.controllers");
    let given = enabled(folder);
    let is_offered = |name: &str| offered.split_whitespace().any(|word| word == name);
    for controller in super::NEEDED.iter().filter(|c| !given.iter().any(|name| name == *c) && is_offered(c)) {
        // Refused where the group has processes of its own; what is enabled then decides.
        let _ = fs::write(folder.join("cgroup.subtree_control"), format!("+{controller}"));
    }
}

fn enabled(folder: &Path) -> Vec<String> {
    let given = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
    let is_given = |name: &str| given.split_whitespace().any(|word| word == name);
    super::NEEDED.iter().filter(|c| is_given(c)).map(|c| (*c).to_owned()).collect()
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

    /// A hierarchy of folders as the kernel shows one, whose top has all controllers and gives them on.
    struct Hierarchy(PathBuf);

    impl Hierarchy {
        fn new(name: &str, groups: &[&str]) -> Self {
            let top = std::env::temp_dir().join(format!("ak-place-{name}-{}", std::process::id()));
            let made = Self(top);
            for group in [""].iter().chain(groups) {
                fs::create_dir_all(made.0.join(group)).expect("make a group");
                for file in ["cgroup.procs", "cgroup.controllers", "cgroup.subtree_control"] {
                    made.write(group, file, "");
                }
            }
            made.write("", "cgroup.controllers", "cpu memory pids");
            made.write("", "cgroup.subtree_control", "cpu memory pids");
            made
        }

        fn write(&self, group: &str, file: &str, text: &str) {
            fs::write(self.0.join(group).join(file), text).expect("write");
        }

        fn given(&self, group: &str) -> String {
            fs::read_to_string(self.0.join(group).join("cgroup.subtree_control")).expect("read")
        }

        fn place(&self, own: &str, caller: Uid) -> Option<(String, usize)> {
            let (folder, have) = v2_place(&self.0, self.0.join(own), caller)?;
            Some((folder.strip_prefix(&self.0).expect("below").display().to_string(), have.len()))
        }
    }

    impl Drop for Hierarchy {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("remove");
        }
    }

    #[test]
    fn a_group_with_limits_is_not_left() {
        let tree = Hierarchy::new("limits", &["unit"]);
        for (file, text) in [("memory.max", "max\n"), ("memory.high", "max\n"), ("cpu.max", "max 100000\n")] {
            tree.write("unit", file, text);
        }
        assert_eq!(tree.place("unit", Uid::ROOT), Some((String::new(), 3)));
        for (file, none, text) in [
            ("memory.max", "max\n", "1073741824\n"),
            ("memory.high", "max\n", "1073741824\n"),
            ("cpu.max", "max 100000\n", "50000 100000\n"),
        ] {
            tree.write("unit", file, text);
            assert_eq!(tree.place("unit", Uid::ROOT), None, "{file}");
            tree.write("unit", file, none);
        }
    }

    #[test]
    fn controllers_of_others_groups_stay_as_they_are() {
        let tree = Hierarchy::new("others", &["slice", "slice/unit"]);
        tree.write("slice", "cgroup.controllers", "cpu memory pids");
        tree.write("slice", "cgroup.subtree_control", "pids");
        assert_eq!(tree.place("slice/unit", Uid::ROOT), Some((String::new(), 3)));
        assert_eq!(tree.given("slice"), "pids");
        tree.write("", "cgroup.subtree_control", "memory");
        tree.place("slice/unit", Uid::ROOT);
        assert_eq!(tree.given(""), "memory");
    }

    #[test]
    fn controllers_of_a_delegated_group_are_enabled() {
        let tree = Hierarchy::new("delegated", &["unit", "unit/inner", "unit/inner/main"]);
        tree.write("unit", "memory.max", "1073741824\n");
        for group in ["unit", "unit/inner"] {
            tree.write(group, "cgroup.controllers", "memory");
        }
        assert_eq!(tree.place("unit/inner/main", Uid::ROOT), None);
        let flags = rustix::fs::XattrFlags::empty();
        if rustix::fs::setxattr(tree.0.join("unit"), "user.delegate", b"1", flags).is_err() {
            // Temporary files are on a filesystem without notes; what a user owns is told by its owner.
            eprintln!("skipped: no extended attributes in {}", tree.0.display());
            return;
        }
        // The kernel reads such a file and shows the names; a folder of ours shows what was written last.
        tree.place("unit/inner/main", Uid::ROOT);
        assert_eq!((tree.given("unit/inner"), tree.given("unit")), ("+memory".into(), "+memory".into()));
        assert_eq!(tree.given(""), "cpu memory pids");
    }

    #[test]
    fn what_a_user_owns_is_the_users_to_arrange() {
        let tree = Hierarchy::new("owned", &["user", "user/main"]);
        tree.write("user", "cgroup.controllers", "pids");
        let owner = Uid::from_raw(65_534);
        if rustix::fs::chown(tree.0.join("user"), Some(owner), None).is_ok() {
            tree.place("user/main", owner);
            assert_eq!((tree.given("user"), tree.given("")), ("+pids".into(), "cpu memory pids".into()));
        } else {
            let owner = geteuid();
            tree.place("user/main", owner);
            assert_eq!(tree.given("user"), "+pids");
        }
    }
}
