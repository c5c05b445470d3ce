//! A writable, live view (`mount`): hidden files are covered, protected ones are read-only, and the parents of both are
//! pinned: each is bound on itself, and the kernel renames and removes no mount point (EBUSY). Without pins a rename would
//! take a hidden file to a path that no rule names, where the next sandbox, or one with a copy-on-write view of the same
//! project, would show it.
//! What this cannot do (the host replacing a covered file by rename; names that do not exist yet and that no placeholder
//! holds) is said in the layer report.

use std::{
    collections::{BTreeSet, HashSet},
    ffi::OsStr,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2},
    io::Errno,
    mount::{OpenTreeFlags, open_tree},
};

use super::survey::{Hit, Survey, ancestors};
use crate::{
    fault::{During, Outcome},
    place,
};

/// What stands in for something hidden.
pub struct Void {
    pub file: OwnedFd,
    pub folder: OwnedFd,
    /// In the scratch filesystem. They are mounts of their own there, and read-only like all that is made of them.
    pub file_path: PathBuf,
    pub folder_path: PathBuf,
}

/// Covers and pins below an attached view. `view` must be the mounted folder.
pub fn apply(view: BorrowedFd<'_>, survey: &Survey, void: &Void) -> Outcome<()> {
    for path in pins(survey) {
        bind_on_itself(view, path, false)?;
    }
    for Hit { path, .. } in &survey.protected {
        bind_on_itself(view, path, true)?;
    }
    for hit in &survey.hidden {
        let Some(at) = below(view, &hit.path)? else {
            continue;
        };
        // As it is now: it may have been replaced since the search.
        let is_folder =
            FileType::from_raw_mode(fstat(&at).during("cover a hidden file")?.st_mode) == FileType::Directory;
        let cover = clone_of(if is_folder { &void.folder } else { &void.file }).during("cover a hidden file")?;
        place::attach(&cover, &at).during("cover a hidden file")?;
    }
    Ok(())
}

/// The parents of all that is hidden or protected, each before what is in it. What lies in a protected directory is
/// read-only with it, so nothing in there can be renamed.
fn pins(survey: &Survey) -> BTreeSet<&[u8]> {
    let closed: HashSet<&[u8]> = survey.protected.iter().map(|hit| hit.path.as_slice()).collect();
    let hits = survey.hidden.iter().chain(&survey.protected);
    hits.flat_map(|hit| ancestors(&hit.path).take_while(|path| !closed.contains(path))).collect()
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
    // By the calls of detached mounts: the filter that an engine's container has then leaves out mount(2).
    for cover in [file, folder] {
        let closed = place::clone_readonly(cover).and_then(|tree| place::attach_at(&tree, cover));
        closed.during("make the cover of hidden files")?;
    }
    open_void(file, folder)
}

/// What `void` has made; as mounts, its descriptors are good in the mount namespace that they were opened in.
pub fn open_void(file: &Path, folder: &Path) -> Outcome<Void> {
    let open = |path: &Path| {
        rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).during("open the cover of hidden files")
    };
    Ok(Void { file: open(file)?, folder: open(folder)?, file_path: file.into(), folder_path: folder.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_of_hidden_and_protected_paths_are_pinned_outermost_first() {
        let hits =
            |paths: &[&str]| paths.iter().map(|path| Hit { path: path.as_bytes().to_vec(), folder: false }).collect();
        let survey = Survey {
            hidden: hits(&["a/b/.env", "top", ".claude/x/.env"]),
            protected: hits(&[".claude", "a/.git/config"]),
            ..Survey::default()
        };
        let pinned: Vec<&[u8]> = pins(&survey).into_iter().collect();
        assert_eq!(pinned, [&b"a"[..], b"a/.git", b"a/b"]);
    }
}
