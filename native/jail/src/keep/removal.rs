//! The end of a kept sandbox for good.

use std::{
    ffi::OsStr,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, openat, renameat, statat, unlinkat},
    io::Errno,
};
use serde::Serialize;

use super::{
    all_ids::with_all_ids,
    folder::{StateFolder, exists},
    sweep,
};
use crate::fault::{During, Outcome};

#[derive(Serialize)]
pub struct Removed {}

/// What is not there is removed already. Fails with `conflict` where a supervisor lives.
pub fn remove(path: &Path) -> Outcome<Removed> {
    if !exists(path) {
        return Ok(Removed {});
    }
    // Held until all is gone, so that nobody starts it meanwhile.
    let folder = StateFolder::claim(path)?;
    sweep::clear(&folder)?;
    remove_all(&[path.to_owned()])?;
    Ok(Removed {})
}

/// Folders that a sandbox wrote to.
pub fn remove_all(paths: &[PathBuf]) -> Outcome<()> {
    with_all_ids(|| paths.iter().try_for_each(|path| remove_tree(CWD, path)))
}

/// Folders in folders that are removed from within. A sandbox can nest without end; what lies deeper is moved up first.
const DEEPEST: usize = 100;

/// With everything below it, never following a link.
fn remove_tree(at: BorrowedFd<'_>, path: &Path) -> Outcome<()> {
    let Some(top) = open_to_empty(at, path)? else { return Ok(()) };
    let mut moved = 0;
    loop {
        let before = moved;
        empty(&top, &top, 0, &mut moved)?;
        if moved == before {
            return unlinkat(at, path, AtFlags::REMOVEDIR).during(format_args!("remove {}", path.display()));
        }
    }
}

fn empty(folder: &OwnedFd, top: &OwnedFd, depth: usize, moved: &mut u64) -> Outcome<()> {
    for entry in Dir::read_from(folder).during("read a folder to remove")? {
        let entry = entry.during("read a folder to remove")?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let name = Path::new(OsStr::from_bytes(name.to_bytes()));
        let Some(inner) = open_to_empty(folder.as_fd(), name)? else { continue };
        if depth == DEEPEST {
            *moved += 1;
            let up = format!("agentkernel-moved-{moved}");
            renameat(folder, name, top, up.as_str()).during("move a deep folder up")?;
            continue;
        }
        empty(&inner, top, depth + 1, moved)?;
        unlinkat(folder, name, AtFlags::REMOVEDIR).during(format_args!("remove {}", name.display()))?;
    }
    Ok(())
}

/// The folder of that name, or None if it was something else, which is removed then. An overlay's work folder has no
/// rights at all, and neither has what a sandbox took them from.
fn open_to_empty(at: BorrowedFd<'_>, name: &Path) -> Outcome<Option<OwnedFd>> {
    let failed = || format!("remove {}", name.display());
    let kind = match statat(at, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => FileType::from_raw_mode(stat.st_mode),
        Err(Errno::NOENT) => return Ok(None),
        Err(e) => return Err(e).during(failed()),
    };
    if kind != FileType::Directory {
        return unlinkat(at, name, AtFlags::empty()).during(failed()).map(|()| None);
    }
    // Nobody else can be in there, so it is what was just looked at. As root the rights do not matter.
    let _ = chmodat(at, name, Mode::from_raw_mode(0o700), AtFlags::empty());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty()).during(failed()).map(Some)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::mkdirat;

    use super::*;

    #[test]
    fn a_tree_that_is_deeper_than_any_path_is_removed_and_links_are_not_followed() {
        let base = std::env::temp_dir().join(format!("ak-removal-{}", std::process::id()));
        let (tree, kept) = (base.join("tree"), base.join("kept"));
        fs::create_dir_all(&tree).expect("make");
        fs::create_dir_all(&kept).expect("make");
        fs::write(kept.join("file"), "stays").expect("write");
        std::os::unix::fs::symlink(&kept, tree.join("link")).expect("link");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = rustix::fs::open(&tree, flags, Mode::empty()).expect("open");
        for _ in 0..5000 {
            mkdirat(&at, "deep", Mode::from_raw_mode(0o755)).expect("make");
            at = openat(&at, "deep", flags, Mode::empty()).expect("open");
        }
        remove_tree(CWD, &tree).expect("removed");
        assert!(!tree.exists());
        assert_eq!(fs::read_to_string(kept.join("file")).expect("there"), "stays");
        fs::remove_dir_all(&base).expect("clean up");
    }
}
