//! The `host` image: the machine's own programs, read-only, and what they need of /etc. Nothing of any home, no
//! secret of /etc, and no id map: files that only the host's root may read stay unreadable inside.

use std::{
    fs,
    os::fd::{BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, mkdirat, open, openat, readlinkat},
    io::Errno,
};

use crate::{
    fault::{During, Outcome},
    filesystems, host_etc, image_root,
    place::{self, Root},
    spec::{Spec, User},
    upper::Uppers,
};

const HOME: &str = "home/sandbox";

/// Beside /usr: links into it on most systems, folders on some.
const SYSTEM: [&str; 6] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

const FOLDERS: [(&str, u32); 12] = [
    ("dev", 0o755),
    ("etc", 0o755),
    ("home", 0o755),
    ("opt", 0o755),
    ("proc", 0o555),
    ("root", 0o700),
    ("run", 0o755),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("usr", 0o755),
    ("var", 0o755),
    ("workspace", 0o755),
];

/// Where something is mounted or written at every start, which must be a folder.
const PLACES: [(&str, u32); 7] = [
    ("dev", 0o755),
    ("etc", 0o755),
    ("proc", 0o555),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("usr", 0o755),
    ("workspace", 0o755),
];

/// Fills the new root. The current folder is the scratch filesystem that holds it.
pub fn build(root: &Root, spec: &Spec, etc: Option<&OwnedFd>) -> Outcome<()> {
    let at = Path::new("root");
    let shown = fill(root, spec)?;
    host_etc::show(etc, spec)?;
    for path in shown {
        let host = Path::new("/").join(&path);
        place::show_readonly(&host, &at.join(&path)).during(format_args!("show {}", host.display()))?;
    }
    if spec.root_readonly {
        // Programs keep caches and settings at home; these are temporary files like those of /tmp.
        filesystems::mount_tmpfs(&format!("root/{HOME}"), spec.tmp_mib, "0700")?;
        own(root, HOME, spec.user)?;
    }
    Ok(())
}

/// Where the root is read-only: /etc is a mount of its own in the image `host`, and part of the root in all others.
pub fn close_etc(root: BorrowedFd<'_>) -> Outcome<()> {
    let etc = openat(root, "etc", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    match etc.and_then(|etc| place::readonly(&etc)) {
        Ok(()) | Err(Errno::INVAL | Errno::NOENT | Errno::NOTDIR) => Ok(()),
        Err(e) => Err(e).during("make /etc read-only"),
    }
}

/// The same with a writable layer that was there before: what is ours lies below it, and nothing in it is believed.
/// Mounts are put where no link leads; where the sandbox has put something else, it has that.
pub fn build_kept(spec: &Spec, etc: Option<&OwnedFd>, uppers: Uppers) -> Outcome<Root> {
    let below = Path::new("i0");
    fs::create_dir(below).during("make the root's lower layer")?;
    let skeleton = open(below, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let skeleton = Root::new(skeleton.during("open the root's lower layer")?);
    let paths = fill(&skeleton, spec)?;
    host_etc::attach_copy(etc, "i1")?;
    let own = openat(skeleton.fd(), "etc", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    host_etc::write_own(&own.during("open the new /etc")?, Path::new("i1/etc"), spec)?;
    // Before anything is mounted in the root.
    let shown = paths.into_iter().map(Shown::of).collect::<Outcome<Vec<_>>>()?;
    let root = image_root::join(&["i0".to_owned(), "i1".to_owned()], uppers)?;
    for (name, mode) in PLACES {
        image_root::own_folder(&root, name, mode)?;
    }
    place::attach_at(&filesystems::tmpfs(1, "0755")?, Path::new("root/dev")).during("mount /dev")?;
    for Shown { path, tree } in shown {
        let top = path.to_str().filter(|name| !name.contains('/'));
        if let Some(name) = top {
            image_root::own_folder(&root, name, 0o755)?;
        }
        match root.attach_folder(&tree, &Path::new("/").join(&path)) {
            Err(fault) if top.is_some() => return Err(fault),
            _ => {}
        }
    }
    if spec.root_readonly {
        let home = root.folder(&Path::new("/").join(HOME))?;
        place::attach(&filesystems::tmpfs(spec.tmp_mib, "0700")?, &home).during("make the home folder")?;
        let home = root.find(&Path::new("/").join(HOME), OFlags::DIRECTORY).during("open the home folder")?;
        let (uid, gid) = (rustix::fs::Uid::from_raw(spec.user.uid), rustix::fs::Gid::from_raw(spec.user.gid));
        rustix::fs::chownat(&home, "", Some(uid), Some(gid), rustix::fs::AtFlags::EMPTY_PATH)
            .during("own the home folder")?;
    }
    Ok(root)
}

/// A folder of the host's, and where in the root it is shown.
struct Shown {
    path: PathBuf,
    tree: OwnedFd,
}

impl Shown {
    fn of(path: PathBuf) -> Outcome<Self> {
        let host = Path::new("/").join(&path);
        let tree = place::clone_readonly(&host).during(format_args!("show {}", host.display()))?;
        Ok(Self { path, tree })
    }
}

/// Makes all files and folders of the root, and returns where folders of the host's are to be mounted in it.
fn fill(root: &Root, spec: &Spec) -> Outcome<Vec<PathBuf>> {
    for (name, mode) in FOLDERS {
        mkdirat(root.fd(), name, Mode::from_raw_mode(mode)).during("make a folder of the root")?;
        // Our mask has taken away that others may write to it.
        if mode & 0o022 != 0 {
            rustix::fs::chmodat(root.fd(), name, Mode::from_raw_mode(mode), rustix::fs::AtFlags::empty())
                .during("make a folder of the root")?;
        }
    }
    let mut shown = vec![PathBuf::from("usr")];
    for name in SYSTEM {
        match readlinkat(CWD, Path::new("/").join(name), Vec::new()) {
            Ok(link) => rustix::fs::symlinkat(&link, root.fd(), name).during("link a system folder")?,
            Err(Errno::NOENT) => {}
            Err(_) => {
                mkdirat(root.fd(), name, Mode::from_raw_mode(0o755)).during("make a system folder")?;
                shown.push(name.into());
            }
        }
    }
    own_folders(root, spec.user)?;
    Ok(shown)
}

fn own_folders(root: &Root, user: User) -> Outcome<()> {
    mkdirat(root.fd(), HOME, Mode::from_raw_mode(0o700)).during("make the home folder")?;
    own(root, HOME, user)?;
    own(root, "workspace", user)?;
    for (name, mode) in [("var/lib", 0o755), ("var/tmp", 0o1777)] {
        mkdirat(root.fd(), name, Mode::from_raw_mode(mode)).during("make a folder of /var")?;
    }
    rustix::fs::chmodat(root.fd(), "var/tmp", Mode::from_raw_mode(0o1777), rustix::fs::AtFlags::empty())
        .during("make /var/tmp")
}

/// What is made here is the sandbox's root's already.
fn own(root: &Root, name: &str, User { uid, gid }: User) -> Outcome<()> {
    if (uid, gid) == (0, 0) {
        return Ok(());
    }
    let (owner, group) = (rustix::fs::Uid::from_raw(uid), rustix::fs::Gid::from_raw(gid));
    rustix::fs::chownat(root.fd(), name, Some(owner), Some(group), rustix::fs::AtFlags::empty())
        .during(format_args!("own /{name}"))
}
