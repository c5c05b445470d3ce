//! A view's folder on the host. Root opens it (and maps its ids) before the sandbox exists, because the sandbox's
//! own ids may not be able to reach it; a user's sandbox opens it by itself, with the user's rights.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, Stat, fstat, open},
    mount::{OpenTreeFlags, open_tree},
    process::{getpid, getppid},
};

use crate::{
    fault::{During, Fault, Outcome},
    identity::{Extent, RANGE, swapped, write_map},
    place, spec,
    sys::{self, Fork},
    view::{
        memory::Memory,
        survey::Survey,
        walk::{Listings, listings},
    },
    walls,
};

pub struct Source {
    /// The folder or file itself, for looking at it from the host's side.
    pub fd: OwnedFd,
    pub stat: Stat,
    /// Detached copy of its mount; made here only for root.
    tree: Option<OwnedFd>,
    /// What was read of it ahead.
    pub listings: Listings,
    /// What was found in it ahead, by the rules that will hold.
    pub surveyed: Option<Survey>,
}

impl Source {
    pub fn open(view: &spec::View, privileged: bool) -> Outcome<Self> {
        Self::open_at(&view.source, privileged)
    }

    /// A folder that may soon be asked for, with all that is in it; None where there is no such, or too much in it.
    pub fn foresee(path: &Path, privileged: bool, memory: Option<&mut Memory>) -> Option<Self> {
        let mut source = Self::open_at(path, privileged).ok().filter(Self::is_folder)?;
        let found = memory.map_or_else(|| listings(source.shown()), |memory| memory.listings(source.shown()));
        source.listings = found.ok()??;
        Some(source)
    }

    fn open_at(path: &Path, privileged: bool) -> Outcome<Self> {
        let failed = |e| {
            Fault::new("invalid_argument", format!("cannot show {} in the sandbox: {e}", path.display()))
                .hint(hint_for(e))
        };
        let fd = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
        let stat = fstat(&fd).map_err(failed)?;
        // Not recursive: mounts below the folder are not part of the project.
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
        let tree = if privileged { Some(open_tree(&fd, "", flags).map_err(failed)?) } else { None };
        if let Some(tree) = &tree {
            // A copy of a shared mount is its peer: what is mounted over files in it would show up on the host.
            sys::make_private(tree.as_fd()).during("make a view's mount private")?;
        }
        Ok(Self { fd, stat, tree, listings: Listings::new(), surveyed: None })
    }

    pub fn is_folder(&self) -> bool {
        FileType::from_raw_mode(self.stat.st_mode) == FileType::Directory
    }

    /// What the sandbox will see of it.
    pub fn shown(&self) -> BorrowedFd<'_> {
        self.tree.as_ref().unwrap_or(&self.fd).as_fd()
    }

    /// Root: shows the owner's files as those of the sandbox's user.
    pub fn map_ids(&self, view: &spec::View, base: u32, user: spec::User, sandbox_pid: i32) -> Outcome<()> {
        if view.is_live() {
            return self.map_owner(base, user);
        }
        let (uid, gid) = (self.stat.st_uid, self.stat.st_gid);
        let straight = uid == user.uid && gid == user.gid && uid < RANGE && gid < RANGE;
        self.map_by(|| {
            if !straight {
                return mapping_namespace(&swapped(uid, user.uid, base), &swapped(gid, user.gid, base));
            }
            let path = format!("/proc/{sandbox_pid}/ns/user");
            open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).during("open the user namespace")
        })
    }

    /// In a folder that the sandbox writes itself it has no other ids than the owner's, so that it cannot give files to
    /// other users of the host.
    fn map_owner(&self, base: u32, user: spec::User) -> Outcome<()> {
        self.map_only(base, spec::User { uid: self.stat.st_uid, gid: self.stat.st_gid }, user)
    }

    /// Root: shows what is `owner`'s as the sandbox's user's, and all else as nobody's, over which the sandbox's root has
    /// no rights.
    pub fn map_only(&self, base: u32, owner: spec::User, user: spec::User) -> Outcome<()> {
        let only = |owner, user| [Extent { inside: owner, outside: base + user, count: 1 }];
        self.map_by(|| mapping_namespace(&only(owner.uid, user.uid), &only(owner.gid, user.gid)))
    }

    fn map_by(&self, make: impl FnOnce() -> Outcome<OwnedFd>) -> Outcome<()> {
        let Some(tree) = &self.tree else {
            return Ok(());
        };
        let userns = make()?;
        sys::mount_setattr(tree.as_fd(), false, 0, Some(userns.as_fd())).map_err(|e| {
            Fault::new("layer_unavailable", format!("map the ids of a shown folder: {e}"))
                .hint("its filesystem does not take id-mapped mounts; run as an ordinary user instead of root")
        })
    }

    /// In the child: the mount to put in place.
    pub fn into_tree(self, view: &spec::View) -> Outcome<OwnedFd> {
        match self.tree {
            Some(tree) => Ok(tree),
            None => clone_same(view, self.identity()),
        }
    }

    /// Device and number of the folder or file.
    pub fn identity(&self) -> (u64, u64) {
        (self.stat.st_dev, self.stat.st_ino)
    }

    /// Made here only for root.
    pub fn tree(&self) -> Option<&OwnedFd> {
        self.tree.as_ref()
    }
}

/// The mount to put in place, opened by the sandbox itself.
pub fn clone_same(view: &spec::View, searched: (u64, u64)) -> Outcome<OwnedFd> {
    let tree = place::clone_tree(CWD, &view.source).during(format_args!("show {}", view.source.display()))?;
    // What is shown must be what is searched for secrets.
    let there = fstat(&tree).during("look at a view")?;
    if (there.st_dev, there.st_ino) != searched {
        return Err(Fault::start(format!("{} was replaced while the sandbox started", view.source.display())));
    }
    Ok(tree)
}

/// A user namespace that only carries an id map. It lives as long as its descriptor.
fn mapping_namespace(uids: &[Extent], gids: &[Extent]) -> Outcome<OwnedFd> {
    let supervisor = getpid();
    let (pid, pidfd) = match sys::fork_into(libc::CLONE_NEWUSER, None).during("make an id map")? {
        Fork::Parent { pid, pidfd } => (pid, pidfd),
        Fork::Child => {
            // It has copies of all that we hold, the sandbox's channel too: if it outlived us, so would the sandbox.
            if walls::die_with_parent().is_err() || getppid() != Some(supervisor) {
                std::process::exit(1);
            }
            loop {
                std::thread::park();
            }
        }
    };
    let built = write_map(pid, "uid_map", uids).and_then(|()| write_map(pid, "gid_map", gids)).and_then(|()| {
        open(format!("/proc/{pid}/ns/user"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).during("open the id map")
    });
    rustix::process::pidfd_send_signal(&pidfd, rustix::process::Signal::KILL).during("end the id map's process")?;
    sys::wait_for(pid).during("end the id map's process")?;
    built
}

/// Root of a container without CAP_SYS_ADMIN may not clone mounts of its own; an ordinary user may, in a namespace.
fn hint_for(error: rustix::io::Errno) -> &'static str {
    if error == rustix::io::Errno::PERM && rustix::process::geteuid().is_root() {
        "root lacks CAP_SYS_ADMIN, as in a container: run agentkernel there as an ordinary user (docs/requirements.md)"
    } else {
        "check that it exists and that you may read it"
    }
}
