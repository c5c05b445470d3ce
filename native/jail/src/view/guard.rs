//! A writable, live view (`mount`): hidden files are covered, protected ones are read-only and their parents pinned.
//! What this cannot do (the host replacing a covered file by rename; names that do not exist yet and that no placeholder
//! holds) is said in the layer report.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use rustix::{
    fs::{Mode, OFlags, ResolveFlags, openat2},
    io::Errno,
    mount::{OpenTreeFlags, open_tree},
};

use super::survey::{Hit, Survey};
use crate::{
    fault::{During, Outcome},
    place,
};

/// What stands in for something hidden.
pub struct Void {
    pub file: OwnedFd,
    pub folder: OwnedFd,
}

/// Covers and pins below an attached view. `view` must be the mounted folder.
pub fn apply(view: BorrowedFd<'_>, survey: &Survey, void: &Void) -> Outcome<()> {
    let mut pins = BTreeSet::new();
    for hit in &survey.protected {
        pins.extend(hit.path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(end, _)| hit.path[..end].to_vec()));
    }
    // Parents before children: a set of paths is sorted that way.
    for path in &pins {
        bind_on_itself(view, path, false)?;
    }
    for Hit { path, .. } in &survey.protected {
        bind_on_itself(view, path, true)?;
    }
    for hit in &survey.hidden {
        let Some(at) = below(view, &hit.path)? else {
            continue;
        };
        let cover = clone_of(if hit.folder { &void.folder } else { &void.file }).during("cover a hidden file")?;
        place::readonly(&cover).during("cover a hidden file")?;
        place::attach(&cover, &at).during("cover a hidden file")?;
    }
    Ok(())
}

fn bind_on_itself(view: BorrowedFd<'_>, path: &[u8], readonly: bool) -> Outcome<()> {
    let Some(at) = below(view, path)? else {
        return Ok(());
    };
    let tree = clone_of(&at).during("protect a path")?;
    if readonly {
        place::readonly(&tree).during("protect a path")?;
    }
    place::attach(&tree, &at).during("protect a path")
}

fn clone_of(at: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    open_tree(at, "", flags | OpenTreeFlags::AT_EMPTY_PATH | OpenTreeFlags::AT_RECURSIVE)
}

/// A path of the view; None if it is gone by now or is a link (which is harmless: it leads nowhere outside).
fn below(view: BorrowedFd<'_>, path: &[u8]) -> Outcome<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat2(
        view,
        OsStr::from_bytes(path),
        flags,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
    ) {
        Ok(fd) => Ok(Some(fd)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(e) => Err(e).during("find a path to guard"),
    }
}

pub fn void(file: &Path, folder: &Path) -> Outcome<Void> {
    // No mask of ours takes any of these bits away.
    place::empty_file(file, 0o000).during("make the cover of hidden files")?;
    rustix::fs::mkdir(folder, Mode::from_raw_mode(0o555)).during("make the cover of hidden files")?;
    open_void(file, folder)
}

/// What `void` has made; as mounts, its descriptors are good in the mount namespace that they were opened in.
pub fn open_void(file: &Path, folder: &Path) -> Outcome<Void> {
    let open = |path: &Path| {
        rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).during("open the cover of hidden files")
    };
    Ok(Void { file: open(file)?, folder: open(folder)? })
}
