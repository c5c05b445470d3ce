//! Putting mounts at paths of the new root. Every path is resolved with the new root as `/`, so that a link in a
//! project cannot lead a mount anywhere else.

use std::{
    fs::File,
    io::Read,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Component, Path},
};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, mknodat, openat, openat2},
    io::Errno,
    mount::{MoveMountFlags, OpenTreeFlags, mount_bind_recursive, move_mount, open_tree},
    path::Arg,
};

use crate::{
    fault::{During, Fault, Outcome},
    spec::View,
    sys,
};

const FIND: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Opens a path within a folder. Where links lead up again, the kernel cannot tell whether a rename or a mount anywhere
/// on the machine moved the folder meanwhile, and then asks to try again.
pub fn open_within(
    folder: impl AsFd,
    path: impl Arg + Copy,
    flags: OFlags,
    resolve: ResolveFlags,
) -> rustix::io::Result<OwnedFd> {
    for _ in 0..1000 {
        match openat2(&folder, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN) => rustix::thread::sched_yield(),
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

/// A detached copy of a mount and all below it.
pub fn clone_tree(at: BorrowedFd<'_>, path: &Path) -> rustix::io::Result<OwnedFd> {
    let empty = if path.as_os_str().is_empty() { OpenTreeFlags::AT_EMPTY_PATH } else { OpenTreeFlags::empty() };
    open_tree(
        at,
        path,
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE | empty,
    )
}

/// A detached, read-only copy of a mount of the host's, without setuid programs and devices.
pub fn clone_readonly(path: &Path) -> rustix::io::Result<OwnedFd> {
    let tree = clone_tree(CWD, path)?;
    readonly(&tree)?;
    Ok(tree)
}

pub fn readonly(tree: &OwnedFd) -> rustix::io::Result<()> {
    let flags = sys::MOUNT_ATTR_RDONLY | sys::MOUNT_ATTR_NOSUID | sys::MOUNT_ATTR_NODEV;
    sys::mount_setattr(tree.as_fd(), true, flags, None).map_err(errno)
}

/// The same for a mount that has its place.
pub fn readonly_at(path: impl Arg) -> rustix::io::Result<()> {
    let flags = sys::MOUNT_ATTR_RDONLY | sys::MOUNT_ATTR_NOSUID | sys::MOUNT_ATTR_NODEV;
    path.into_with_c_str(|path| sys::mount_setattr_at(path, flags).map_err(errno))
}

/// A read-only copy of a mount, as `clone_readonly` makes it, at a path that we made ourselves a moment ago.
pub fn show_readonly(host: &Path, at: &Path) -> rustix::io::Result<()> {
    mount_bind_recursive(host, at)?;
    readonly_at(at)
}

/// What is live can be written, and gives nobody rights.
pub fn without_set_ids(tree: &OwnedFd) -> Outcome<()> {
    let plain = sys::MOUNT_ATTR_NOSUID | sys::MOUNT_ATTR_NODEV;
    sys::mount_setattr(tree.as_fd(), true, plain, None).during("set a view's attributes")
}

pub fn errno(e: std::io::Error) -> Errno {
    Errno::from_io_error(&e).unwrap_or(Errno::IO)
}

/// Attaches a detached mount at an open path.
pub fn attach(tree: &OwnedFd, at: &OwnedFd) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, "", at, "", flags)
}

/// Attaches a detached mount at a path of the new root that we made ourselves a moment ago: no link can be in it.
pub fn attach_at(tree: &OwnedFd, path: &Path) -> rustix::io::Result<()> {
    move_mount(tree, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// A file that is only to be covered or shown, and never opened here.
pub fn empty_file(path: &Path, mode: u32) -> rustix::io::Result<()> {
    mknodat(CWD, path, FileType::RegularFile, Mode::from_raw_mode(mode), 0)
}

pub struct Root {
    fd: OwnedFd,
}

impl Root {
    pub fn new(fd: OwnedFd) -> Self {
        Self { fd }
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub fn find(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        // A link in the way is refused, not followed: a project's own could lead a mount over the system's folders.
        open_within(&self.fd, path, FIND | flags, ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS)
    }

    /// The content of a regular file, links followed within the root; None where there is none of at most so many bytes.
    pub fn read(&self, path: &str, most: u64) -> Option<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = open_within(&self.fd, path, flags, ResolveFlags::IN_ROOT).ok()?;
        let stat = fstat(&file).ok()?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_size as u64 > most {
            return None;
        }
        let mut text = Vec::new();
        File::from(file).take(most).read_to_end(&mut text).ok()?;
        Some(text)
    }

    /// The folder at `path`, made with its parents where it is not there.
    pub fn folder(&self, path: &Path) -> Outcome<OwnedFd> {
        Ok(self.folder_anew(path)?.0)
    }

    /// The same, and whether it was made just now, so that nothing is in it.
    pub fn folder_anew(&self, path: &Path) -> Outcome<(OwnedFd, bool)> {
        match self.find(path, OFlags::DIRECTORY) {
            Ok(found) => return Ok((found, false)),
            Err(Errno::NOENT) => {}
            Err(e) => return Err(no_target(path, e)),
        }
        let mut made: Option<OwnedFd> = None;
        let mut is_new = false;
        for part in path.components().filter(|c| matches!(c, Component::Normal(_))) {
            let within = made.as_ref().map_or(self.fd(), AsFd::as_fd);
            is_new = match mkdirat(within, part.as_os_str(), Mode::from_raw_mode(0o755)) {
                Ok(()) => true,
                Err(Errno::EXIST | Errno::ROFS) => false,
                Err(e) => return Err(e).during(format_args!("make {} in the sandbox", path.display())),
            };
            let flags = FIND | OFlags::DIRECTORY;
            let at = open_within(within, part.as_os_str(), flags, ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS);
            made = Some(at.map_err(|e| no_target(path, e))?);
        }
        made.map(|made| (made, is_new)).ok_or_else(|| Fault::start("the root is no place to mount at"))
    }

    /// The file at `path`, made empty with its parents where it is not there.
    pub fn file(&self, path: &Path) -> Outcome<OwnedFd> {
        let parent = self.folder(path.parent().unwrap_or(Path::new("/")))?;
        let name = path.file_name().ok_or_else(|| Fault::start(format!("{} is no file", path.display())))?;
        match openat(&parent, name, OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC, 0o644.into()) {
            Ok(_) | Err(Errno::EXIST | Errno::ROFS) => {}
            Err(e) => return Err(e).during(format_args!("make {} in the sandbox", path.display())),
        }
        let at = self.find(path, OFlags::empty()).map_err(|e| no_target(path, e))?;
        let kind = fstat(&at).map(|s| FileType::from_raw_mode(s.st_mode)).during("look at a mount point")?;
        if kind == FileType::Directory {
            return Err(Fault::new("invalid_argument", format!("{} is a folder in the sandbox", path.display())));
        }
        Ok(at)
    }

    /// Puts a folder of the host's at `path`.
    pub fn attach_folder(&self, tree: &OwnedFd, path: &Path) -> Outcome<()> {
        attach(tree, &self.folder(path)?).during(format_args!("mount {}", path.display()))
    }

    pub fn attach_file(&self, tree: &OwnedFd, path: &Path) -> Outcome<()> {
        attach(tree, &self.file(path)?).during(format_args!("mount {}", path.display()))
    }
}

/// A mount point that is made inside a folder of the host's would stay there.
pub fn check(views: &[View], root: &Root, view: &View) -> Outcome<()> {
    let within = |v: &&View| v.reaches_host() && v.target != view.target && view.target.starts_with(&v.target);
    let Some(around) = views.iter().find(within) else { return Ok(()) };
    root.find(&view.target, OFlags::empty()).map(drop).map_err(|_| {
        let (target, folder) = (view.target.display(), around.target.display());
        Fault::new("invalid_argument", format!("nothing can be mounted at {target}: it does not exist in {folder}"))
            .hint("make it in the project first, or mount somewhere else")
    })
}

fn no_target(path: &Path, e: Errno) -> Fault {
    Fault::new("invalid_argument", format!("nothing can be mounted at {} in the sandbox: {e}", path.display()))
        .hint("choose a path outside /workspace, or one that exists in it")
}
