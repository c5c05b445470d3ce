//! Programs of the host beside /usr that the `host` image shows: what the caller's PATH names. Who calls has decided
//! which directories these are, and that they hold no secrets. Each is shown read-only at its own path, and only if no
//! symlink leads to it: a directory that was replaced by a symlink since then shows nothing.

use std::{
    fs,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::MetadataExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, chmodat, fstat, symlinkat},
    io::Errno,
};
use serde::Deserialize;

use crate::{
    child::READONLY,
    fault::{During, Fault, Outcome},
    host_etc::EtcCopy,
    layers::Layers,
    place::{self, Root},
    spec::RootChoice,
    sys,
};

/// What a sandbox always has of the host or for itself; nothing is put over it or into it.
const TAKEN: [&str; 10] = ["/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr", "/workspace"];

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostProgram {
    /// A directory or a regular file of the host, free of symlinks.
    pub path: PathBuf,
    /// It is a symlink there, to this path.
    pub link: Option<PathBuf>,
}

impl HostProgram {
    pub fn check(&self) -> Result<(), String> {
        for path in std::iter::once(&self.path).chain(&self.link) {
            if !path.is_absolute() || path.components().any(|c| c.as_os_str() == "..") {
                return Err(format!("the path of programs {} must be absolute without ..", path.display()));
            }
        }
        if self.path == Path::new("/") || TAKEN.iter().any(|taken| self.path.starts_with(taken)) {
            return Err(format!("programs cannot be shown at {}", self.path.display()));
        }
        Ok(())
    }
}

/// Device, inode and kind of each directory. A sandbox that was built before shows what was there then.
#[derive(Debug, PartialEq, Eq)]
pub struct Identities(Vec<Option<(u64, u64, u32)>>);

impl Identities {
    pub fn now(root: &RootChoice) -> Self {
        let identity = |program: &HostProgram| {
            let found = fs::symlink_metadata(&program.path).ok()?;
            Some((found.dev(), found.ino(), found.mode()))
        };
        Self(programs(root).iter().filter(|program| program.link.is_none()).map(identity).collect())
    }
}

fn programs(root: &RootChoice) -> &[HostProgram] {
    match root {
        RootChoice::Host { programs } => programs,
        RootChoice::Layers { .. } => &[],
    }
}

/// What of the host's a root is made from.
pub struct Lower<'a> {
    pub layers: Layers,
    /// The copy of /etc of the image `host`; None where none could be kept.
    pub etc: Option<Layers>,
    pub programs: HostPrograms<'a>,
}

impl<'a> Lower<'a> {
    pub fn open(root: &'a RootChoice, etc: Option<&EtcCopy>, privileged: bool) -> Outcome<Self> {
        Ok(Self {
            layers: Layers::open(root.layers(), privileged)?,
            etc: etc.map(|etc| etc.layers(privileged)).transpose()?,
            programs: HostPrograms::open(root, privileged)?,
        })
    }

    /// To the sandbox's, by the namespace of its first process.
    pub fn map_ids(&self, pid: i32) -> Outcome<()> {
        self.layers.map_ids(pid, READONLY)?;
        // On a filesystem that takes no map, files of /etc belong to nobody inside, as those of /usr do.
        let _ = self.etc.as_ref().map(|etc| etc.map_ids(pid, READONLY));
        Ok(())
    }

    /// In the child, before anything is mounted over the host's paths.
    pub fn into_opened(self) -> Outcome<LowerTrees<'a>> {
        Ok(LowerTrees {
            layers: self.layers.into_trees(READONLY)?,
            etc: self.etc.map(|etc| etc.into_trees(READONLY)).transpose()?.and_then(|mut trees| trees.pop()),
            programs: self.programs.into_opened()?,
        })
    }
}

/// The same as mounts.
pub struct LowerTrees<'a> {
    pub layers: Vec<OwnedFd>,
    pub etc: Option<OwnedFd>,
    pub programs: Opened<'a>,
}

/// What is to be shown. Root opens it before the sandbox exists, because its ids may not be able to reach it; a user's
/// sandbox opens it by itself, with the user's rights.
pub struct HostPrograms<'a> {
    programs: &'a [HostProgram],
    opened: Option<Vec<Option<Shown>>>,
}

struct Shown {
    tree: OwnedFd,
    is_directory: bool,
}

impl<'a> HostPrograms<'a> {
    fn open(root: &'a RootChoice, privileged: bool) -> Outcome<Self> {
        let programs = programs(root);
        let opened = privileged.then(|| open_all(programs)).transpose()?;
        Ok(Self { programs, opened })
    }

    fn into_opened(self) -> Outcome<Opened<'a>> {
        let Self { programs, opened } = self;
        let opened = opened.map_or_else(|| open_all(programs), Ok)?;
        Ok(Opened(programs.iter().zip(opened).collect()))
    }
}

fn open_all(programs: &[HostProgram]) -> Outcome<Vec<Option<Shown>>> {
    let open = |program: &HostProgram| if program.link.is_some() { Ok(None) } else { Shown::open(&program.path) };
    programs.iter().map(open).collect()
}

pub struct Opened<'a>(Vec<(&'a HostProgram, Option<Shown>)>);

impl Opened<'_> {
    /// In a root that was written to before, something else may have the place; then the sandbox has that.
    pub fn attach(self, root: &Root, is_kept: bool) -> Outcome<()> {
        for (program, shown) in &self.0 {
            let attached = match (shown, &program.link) {
                (Some(Shown { tree, is_directory: true }), _) => root.attach_folder(tree, &program.path),
                (Some(Shown { tree, is_directory: false }), _) => root.attach_file(tree, &program.path),
                (None, link) => link.as_ref().map_or(Ok(()), |target| make_link(root, &program.path, target)),
            };
            match attached {
                Err(fault) if !is_kept => return Err(fault),
                _ => {}
            }
            open_root_home(root, &program.path).during("open /root to the sandbox's users")?;
        }
        Ok(())
    }
}

impl Shown {
    /// None where there is nothing of that kind any more, or nothing that the caller may see.
    fn open(path: &Path) -> Outcome<Option<Self>> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = match place::open_within(CWD, path, flags, ResolveFlags::NO_SYMLINKS) {
            Ok(found) => found,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Ok(None),
            Err(e) => return Err(e).during(format_args!("open {}", path.display())),
        };
        let kind = FileType::from_raw_mode(fstat(&found).during("look at programs of the host")?.st_mode);
        let is_directory = kind == FileType::Directory;
        if !is_directory && kind != FileType::RegularFile {
            return Ok(None);
        }
        let show = || {
            let tree = place::clone_tree(found.as_fd(), Path::new(""))?;
            place::readonly(&tree)?;
            // A copy of a shared mount is its peer.
            sys::make_private(tree.as_fd()).map_err(place::errno)?;
            Ok::<_, Errno>(tree)
        };
        let tree = show().during(format_args!("show {}", path.display()))?;
        Ok(Some(Self { tree, is_directory }))
    }
}

fn make_link(root: &Root, path: &Path, target: &Path) -> Outcome<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let parent = root.folder(parent)?;
    match symlinkat(target, &parent, name) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(e) => Err(Fault::start(format!("link {}: {e}", path.display()))),
    }
}

/// The host image's own /root is closed to users who are not root; what is shown in it is for everybody.
pub fn open_root_home(root: &Root, path: &Path) -> rustix::io::Result<()> {
    if !path.starts_with("/root") {
        return Ok(());
    }
    match chmodat(root.fd(), "root", Mode::from_raw_mode(0o711), AtFlags::empty()) {
        Ok(()) | Err(Errno::ROFS) => Ok(()),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(path: &str) -> HostProgram {
        HostProgram { path: path.into(), link: None }
    }

    #[test]
    fn programs_are_never_shown_over_what_a_sandbox_has_for_itself() {
        for path in ["/", "/usr/local/x", "/etc", "/proc/self", "/workspace/bin", "/opt/../etc", "opt/x"] {
            assert!(program(path).check().is_err(), "{path}");
        }
        for path in ["/opt/x/bin", "/usrlocal/bin", "/home/me/.cargo/bin"] {
            assert_eq!(program(path).check(), Ok(()), "{path}");
        }
    }

    #[test]
    fn a_symlink_in_the_way_shows_nothing() {
        let folder = std::env::temp_dir().join(format!("ak-host-programs-{}", std::process::id()));
        fs::create_dir_all(folder.join("secret/bin")).expect("make");
        let folder = fs::canonicalize(folder).expect("a path");
        std::os::unix::fs::symlink(folder.join("secret"), folder.join("tools")).expect("link");
        std::os::unix::fs::symlink(folder.join("secret/bin"), folder.join("bin")).expect("link");
        let shows = |path: &str| Shown::open(&folder.join(path)).expect("looked").is_some();
        let shown = ["tools/bin", "bin", "none"].map(shows);
        fs::remove_dir_all(&folder).expect("remove");
        assert_eq!(shown, [false; 3]);
    }
}
