//! Which repositories of a view have hidden files in their working tree.

use std::{
    ffi::OsStr,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
};

use ak_git::{HiddenPaths, Index};
use rustix::{
    fs::{FileType, MemfdFlags, Mode, OFlags, ResolveFlags, fstat, memfd_create, openat2},
    io::{Errno, read, write},
};

use super::directories::repository_of;
use crate::{
    fault::{During, Outcome},
    view::survey::Survey,
};

pub const INDEX: &[u8] = b"index";
/// An index of a million files is a tenth of it.
pub const LARGEST_INDEX: u64 = 1 << 30;
pub const LARGEST_CONFIG: u64 = 1 << 20;
const FOLDER: &[u8] = b".git/";
const MODULES: &[u8] = b".git/modules/";

pub struct WorkTree {
    /// The repository's directory, with its `/`.
    pub git: Vec<u8>,
    /// What the working tree has of its own there, its index too; with its `/`.
    pub own: Vec<u8>,
    /// As the repository names them.
    pub hidden: HiddenPaths,
}

impl WorkTree {
    /// Those of a view that have something hidden. What is hidden of a submodule is not in the index around it.
    pub fn of(root: BorrowedFd<'_>, survey: &Survey) -> Vec<Self> {
        if let Some(linked) = &survey.linked {
            let hidden = linked.not_shown();
            let tree = Self { git: Vec::new(), own: linked.own.clone(), hidden };
            return if tree.hidden.is_empty() { Vec::new() } else { vec![tree] };
        }
        if survey.hidden.is_empty() {
            return Vec::new();
        }
        let around = |git: &Vec<u8>| Some((git.clone(), top_of(root, git).or_else(|| Self::of_worktree(root, git))?));
        let tops = survey.repositories.iter().filter_map(around);
        let hidden_in = |(own, top): (Vec<u8>, Vec<u8>)| {
            let below = survey.hidden.iter().filter_map(|hit| hit.path.strip_prefix(&top[..]));
            let hidden: HiddenPaths = below.filter(|path| !path.starts_with(FOLDER)).map(<[u8]>::to_vec).collect();
            (!hidden.is_empty()).then(|| Self { git: repository_of(&own, survey).to_vec(), own, hidden })
        };
        tops.filter_map(hidden_in).collect()
    }

    /// Where the working tree begins, with its `/`, of which `own` is what it has of its own in a repository; None where it
    /// is not in the view. Each of both names the other.
    pub fn of_worktree(root: BorrowedFd<'_>, own: &[u8]) -> Option<Vec<u8>> {
        let text = file(root, &[own, b"gitdir"].concat(), LARGEST_CONFIG).ok()??;
        let path = text.trim_ascii_end().strip_suffix(b"/.git")?;
        let named = [b"/", own.strip_suffix(b"/")?].concat();
        let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect();
        let tops = (0..names.len()).map(|start| [&names[start..].join(&b'/')[..], b"/"].concat());
        tops.into_iter().find(|top| {
            let link = file(root, &[top, &b".git"[..]].concat(), LARGEST_CONFIG);
            let Ok(Some(link)) = link else { return false };
            link.starts_with(b"gitdir:") && link.trim_ascii_end().ends_with(&named)
        })
    }

    pub fn index(&self) -> Vec<u8> {
        [&self.own, INDEX].concat()
    }

    /// Its index with marks at hidden files, as a file in memory; None where it tracks none of them.
    pub fn marked_index(&self, root: BorrowedFd<'_>) -> Outcome<Option<OwnedFd>> {
        let Some(bytes) = file(root, &self.index(), LARGEST_INDEX).during("read a git index")? else {
            return Ok(None);
        };
        // What git itself cannot read needs no marks.
        let Ok(mut index) = Index::parse(&bytes) else { return Ok(None) };
        if index.skip(&self.hidden) == 0 { Ok(None) } else { in_memory(&index.to_bytes()).map(Some) }
    }

    /// How many files are tracked and hidden, as the index says. One that cannot be read tracks nothing that is known of:
    /// git cannot read it either.
    pub fn tracked(&self, root: BorrowedFd<'_>) -> usize {
        let Ok(Some(bytes)) = file(root, &self.index(), LARGEST_INDEX) else { return 0 };
        Index::parse(&bytes).map_or(0, |mut index| index.skip(&self.hidden))
    }
}

/// Where a repository's working tree begins: empty, or with its `/`. None where it has none in the view.
fn top_of(root: BorrowedFd<'_>, git: &[u8]) -> Option<Vec<u8>> {
    if git.ends_with(FOLDER) && (git.len() == FOLDER.len() || git[git.len() - FOLDER.len() - 1] == b'/') {
        return Some(git[..git.len() - FOLDER.len()].to_vec());
    }
    // A submodule's says where its working tree is.
    git.windows(MODULES.len()).any(|part| part == MODULES).then_some(())?;
    let config = file(root, &[git, b"config"].concat(), LARGEST_CONFIG).ok()??;
    let config = String::from_utf8_lossy(&config).into_owned();
    let lines = config.lines().filter_map(|line| line.trim().strip_prefix("worktree"));
    let path = lines.filter_map(|rest| rest.trim_start().strip_prefix('=')).next_back()?.trim().trim_matches('"');
    let mut at: Vec<&[u8]> = git.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).collect();
    for name in path.as_bytes().split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => drop(at.pop()?),
            name => at.push(name),
        }
    }
    (!path.starts_with('/') && !at.is_empty()).then(|| [&at.join(&b'/')[..], b"/"].concat())
}

/// A path below a view's folder, without following a symlink. None if it is not there.
pub fn open(root: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> rustix::io::Result<Option<OwnedFd>> {
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let path = if path.is_empty() { b"." } else { path };
    match openat2(root, OsStr::from_bytes(path), flags | OFlags::CLOEXEC, Mode::empty(), beneath) {
        Ok(file) => Ok(Some(file)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO) => Ok(None),
        Err(e) => Err(e),
    }
}

pub fn in_memory(bytes: &[u8]) -> Outcome<OwnedFd> {
    let made = memfd_create(c"index", MemfdFlags::CLOEXEC).during("write a git index")?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let count = write(&made, rest).during("write a git index")?;
        rest = &rest[count..];
    }
    Ok(made)
}

/// A regular file of a bounded size; None for all else.
pub fn file(root: BorrowedFd<'_>, path: &[u8], limit: u64) -> rustix::io::Result<Option<Vec<u8>>> {
    let Some(file) = open(root, path, OFlags::RDONLY | OFlags::NONBLOCK)? else { return Ok(None) };
    let stat = fstat(&file)?;
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || size > limit {
        return Ok(None);
    }
    let mut bytes = vec![0; size as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match read(&file, &mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(e) => return Err(e),
        }
    }
    bytes.truncate(filled);
    Ok(Some(bytes))
}
