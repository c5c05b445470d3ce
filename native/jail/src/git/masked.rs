//! The index in a copy-on-write view: a copy of the host's, in which hidden files are marked so that git does not look
//! for them in the working tree ("skip-worktree"). The copy lies in the mask; git writes its own above it.

use std::{
    ffi::CString,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use ak_git::Index;
use rustix::{
    fs::{AtFlags, Mode, OFlags, Stat, mkdirat, openat, renameat, statat, unlinkat},
    io::{Errno, write},
};

use super::work_trees::{LARGEST_INDEX, WorkTree, file, open};
use crate::{
    fault::{During, Outcome},
    view::{mask::resemble, survey::Survey},
};

/// `upper` is the writable layer, which may be of an earlier start and have an index already.
pub fn mark_hidden(
    lower: BorrowedFd<'_>,
    mask: BorrowedFd<'_>,
    upper: Option<BorrowedFd<'_>>,
    survey: &Survey,
) -> Outcome<()> {
    for tree in WorkTree::of(lower, survey) {
        let written = upper.filter(|upper| has(*upper, &tree.index()));
        let (from, into) = written.map_or((lower, mask), |upper| (upper, upper));
        let Some(bytes) = file(from, &tree.index(), LARGEST_INDEX).during("read a git index")? else { continue };
        // What git itself cannot read needs no marks.
        let Ok(mut index) = Index::parse(&bytes) else { continue };
        if index.skip(&tree.hidden) > 0 || tree.hidden.are_all_but_a_part() {
            put(from, into, &tree.index(), &index.to_bytes())?;
        }
    }
    Ok(())
}

fn has(layer: BorrowedFd<'_>, path: &[u8]) -> bool {
    open(layer, path, OFlags::PATH).is_ok_and(|found| found.is_some())
}

/// Writes a file of `from` with other contents, into the same place of `into`, whose directories look like those of `from`.
pub fn put(from: BorrowedFd<'_>, into: BorrowedFd<'_>, path: &[u8], bytes: &[u8]) -> Outcome<()> {
    let (parent, name) = path.split_at(path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1));
    let parent: &[u8] = if parent.is_empty() { b"." } else { parent };
    let names: Vec<&[u8]> =
        parent.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".").collect();
    let mut directories: Vec<CString> = Vec::new();
    for end in 1..=names.len() {
        let directory = CString::new(names[..end].join(&b'/')).during("a path of the mask")?;
        match mkdirat(into, directory.as_c_str(), Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(Errno::EXIST) => directories.push(directory),
            Err(e) => return Err(e).during("make the mask"),
        }
    }
    let Some(directory) = open(into, parent, OFlags::RDONLY | OFlags::DIRECTORY).during("open the mask")? else {
        return Ok(());
    };
    let (path, name) = (CString::new(path), CString::new(name));
    let (path, name) = (path.during("a path of the mask")?, name.during("a path of the mask")?);
    let like = statat(from, path.as_c_str(), AtFlags::SYMLINK_NOFOLLOW).during("look at a file of a repository")?;
    replace(directory.as_fd(), &name, bytes, &like)?;
    for directory in directories.iter().rev() {
        let like = statat(from, directory.as_c_str(), AtFlags::SYMLINK_NOFOLLOW).during("look at a repository")?;
        resemble(into, directory, &like)?;
    }
    Ok(())
}

/// A file with the mode, owner and time of another one, in one step.
fn replace(directory: BorrowedFd<'_>, name: &std::ffi::CStr, bytes: &[u8], like: &Stat) -> Outcome<()> {
    let temporary = CString::new([name.to_bytes(), b".agentkernel"].concat()).during("a name")?;
    match unlinkat(directory, temporary.as_c_str(), AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(e) => return Err(e).during("clear a temporary file"),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made: OwnedFd = openat(directory, temporary.as_c_str(), flags, Mode::from_raw_mode(0o600))
        .during("write a file of a repository")?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let count = write(&made, rest).during("write a file of a repository")?;
        rest = &rest[count..];
    }
    drop(made);
    resemble(directory, &temporary, like)?;
    renameat(directory, temporary.as_c_str(), directory, name).during("write a file of a repository")
}
