//! Makes an overlay's layer of what a container tells of its changes, so that everything else here works on it as on the
//! layer of any sandbox. What is told is the sandbox's choice. It is written into a fresh folder first; then only what
//! differs goes into the layer, since what was applied is known by the inodes there.

use std::{
    collections::HashSet,
    ffi::{CStr, CString},
    fs,
    io::Read,
    os::fd::{AsFd, BorrowedFd},
    path::Path,
};

use ak_jail::{
    carry::{join, names, open_folder, transfer},
    fault::{During, Fault, Outcome},
    keep::project::{FRESH, Project},
};
use ak_tree::{Destination, Failure, Limits, Links, Listing, Writer};
use rustix::{
    fs::{
        AtFlags, FileType, FlockOperation, Mode, OFlags, RawMode, Stat, XattrFlags, chmodat, flock, fsetxattr, mkdirat,
        mknodat, open, openat, renameat, statat, unlinkat,
    },
    io::Errno,
};

use crate::{change::ancestors, contents, origin::is_made_of_hosts};

const LISTING: &str = "listing";
const MAX_MESSAGE: usize = 4 << 20;
/// A container can have no more files than it was given room for, and the room is less than this.
const MAX_ENTRIES: u64 = 2_000_000;
const MAX_MARKS: usize = 1 << 30;

pub fn receive(state: &Path, max_bytes: u64, mut input: impl Read) -> Outcome<()> {
    let project = Project::of(state)?;
    let listing = fs::read(state.join(LISTING)).during("read what the project was")?;
    let listing = Listing::parse(&listing).map_err(fault)?;
    let lock = fs::File::create(state.join("receive.lock")).during("wait for others")?;
    flock(&lock, FlockOperation::LockExclusive).during("wait for others")?;
    let layer = project.layer(state);
    let fresh = layer.with_file_name(FRESH);
    match fs::remove_dir_all(&fresh) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e).during("clear an earlier attempt"),
        _ => {}
    }
    for folder in [&fresh, &layer] {
        fs::create_dir_all(folder).during("make the layer")?;
    }
    receive_tree(&fresh, max_bytes, &mut input)?;
    let marks = hear_all(&mut input)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let from = open(&fresh, flags, Mode::empty()).during("open the layer")?;
    let to = open(&layer, flags, Mode::empty()).during("open the layer")?;
    prune(from.as_fd(), &[], &listing)?;
    mark(from.as_fd(), &marks, &listing)?;
    merge(from.as_fd(), to.as_fd())?;
    fs::remove_dir_all(&fresh).during("clear up")
}

fn receive_tree(into: &Path, max_bytes: u64, input: &mut impl Read) -> Outcome<()> {
    let destination = Destination { path: into.to_owned(), name: Vec::new(), contents: true };
    let limits = Limits { bytes: max_bytes, entries: MAX_ENTRIES };
    let mut writer = Writer::new(destination, Links::Any, limits).taking_any_name().taking_holes();
    loop {
        let part = hear(input)?;
        if part.is_empty() {
            return writer.finish().map(drop).map_err(fault);
        }
        writer.push(&part).map_err(fault)?;
    }
}

fn hear(input: &mut impl Read) -> Outcome<Vec<u8>> {
    let cut = |e: std::io::Error| Fault::new("sandbox_died", format!("the container stopped telling its changes: {e}"));
    let mut length = [0; 4];
    input.read_exact(&mut length).map_err(cut)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_MESSAGE {
        return Err(Fault::new("internal", format!("a message of {length} bytes")));
    }
    let mut message = vec![0; length];
    input.read_exact(&mut message).map_err(cut)?;
    Ok(message)
}

fn hear_all(input: &mut impl Read) -> Outcome<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let part = hear(input)?;
        if part.is_empty() {
            return Ok(whole);
        }
        whole.extend(part);
        if whole.len() > MAX_MARKS {
            return Err(Fault::new("resource_exhausted", "the container tells of too many changes"));
        }
    }
}

/// Folders that were there at the beginning and have nothing new in them are no change.
fn prune(folder: BorrowedFd<'_>, path: &[u8], listing: &Listing) -> Outcome<()> {
    for name in names(folder)? {
        let Some(stat) = contents::stat(folder, &name)? else { continue };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            continue;
        }
        let inner_path = join(path, &name);
        let inner = open_folder(folder, &name)?;
        prune(inner.as_fd(), &inner_path, listing)?;
        if listing.has_folder(&inner_path) && names(inner.as_fd())?.is_empty() {
            unlinkat(folder, &name, AtFlags::REMOVEDIR).during("leave out a folder")?;
        }
    }
    Ok(())
}

fn mark(root: BorrowedFd<'_>, marks: &[u8], listing: &Listing) -> Outcome<()> {
    let mut gone = Vec::new();
    let mut rest = marks;
    while let Some((&kind, after)) = rest.split_first() {
        let cut = || Fault::new("internal", "marks that are cut off");
        let (length, after) = after.split_first_chunk::<2>().ok_or_else(cut)?;
        let (path, after) = after.split_at_checked(u16::from_le_bytes(*length).into()).ok_or_else(cut)?;
        rest = after;
        let is_plain = path.split(|&b| b == b'/').all(|name| !matches!(name, b"" | b"." | b"..") && !name.contains(&0));
        match kind {
            _ if !is_plain => return Err(Fault::new("internal", "a mark of no path")),
            b'K' => note_origin(root, path),
            b'O' => make(root, path, FileType::Fifo)?,
            // Only what was there can be gone.
            b'D' if listing.has(path) => gone.push(path),
            _ => {}
        }
    }
    let all: HashSet<&[u8]> = gone.iter().copied().collect();
    gone.into_iter()
        .filter(|path| !ancestors(path).any(|above| all.contains(above)))
        .try_for_each(|path| make(root, path, FileType::CharacterDevice))
}

/// As the kernel notes it in a layer. Where the filesystem keeps no notes, less is known of what the host deleted.
fn note_origin(root: BorrowedFd<'_>, path: &[u8]) {
    if let Ok((file, _)) = contents::open_file(root, path) {
        let _ = fsetxattr(&file, "user.overlay.origin", b"", XattrFlags::empty());
    }
}

/// A whiteout, or something in place of what is no file.
fn make(root: BorrowedFd<'_>, path: &[u8], kind: FileType) -> Outcome<()> {
    let mut folder = contents::open_folder(root, &[]).during("open the layer")?;
    let (above, name) =
        path.iter().rposition(|&b| b == b'/').map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
    for part in above.split(|&b| b == b'/').filter(|part| !part.is_empty()) {
        let part = CString::new(part).during("a name")?;
        match mkdirat(&folder, &part, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(e) => return Err(e).during("make the layer"),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        folder = match openat(&folder, &part, flags, Mode::empty()) {
            Ok(inner) => inner,
            // Something else is there now, and nothing is below it.
            Err(Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(e) => return Err(e).during("make the layer"),
        };
    }
    let name = CString::new(name).during("a name")?;
    match mknodat(&folder, &name, kind, Mode::from_raw_mode(0o600), 0) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(e) => Err(e).during("make the layer"),
    }
}

/// The layer as it is told now. What is the same stays the file that it is.
fn merge(fresh: BorrowedFd<'_>, layer: BorrowedFd<'_>) -> Outcome<()> {
    let told = names(fresh)?;
    let kept: HashSet<&CStr> = told.iter().map(CString::as_c_str).collect();
    for name in names(layer)?.iter().filter(|name| !kept.contains(name.as_c_str())) {
        remove(layer, name)?;
    }
    for name in &told {
        let new = statat(fresh, name, AtFlags::SYMLINK_NOFOLLOW).during("look at the layer")?;
        let old = contents::stat(layer, name)?;
        match old {
            Some(old) if is_folder(&old) && is_folder(&new) => {
                merge(open_folder(fresh, name)?.as_fd(), open_folder(layer, name)?.as_fd())?;
                chmodat(layer, name, mode(&new), AtFlags::empty()).during("change the layer")?;
            }
            Some(old) if is_same((fresh, &new), (layer, &old), name)? => {}
            old => {
                if old.is_some() {
                    remove(layer, name)?;
                }
                renameat(fresh, name, layer, name).during("change the layer")?;
            }
        }
    }
    Ok(())
}

fn is_same(fresh: (BorrowedFd<'_>, &Stat), layer: (BorrowedFd<'_>, &Stat), name: &CStr) -> Outcome<bool> {
    let (new, old) = (fresh.1, layer.1);
    let kind = FileType::from_raw_mode(new.st_mode);
    if new.st_mode != old.st_mode || is_made_of_hosts(fresh.0, name) != is_made_of_hosts(layer.0, name) {
        return Ok(false);
    }
    match kind {
        FileType::RegularFile | FileType::Symlink if new.st_size == old.st_size => {
            transfer::same(fresh.0, layer.0, name, kind)
        }
        FileType::RegularFile | FileType::Symlink => Ok(false),
        _ => Ok(kind != FileType::Directory && new.st_rdev == old.st_rdev),
    }
}

fn remove(folder: BorrowedFd<'_>, name: &CStr) -> Outcome<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(e) => return Err(e).during("change the layer"),
    }
    let inner = open_folder(folder, name)?;
    names(inner.as_fd())?.iter().try_for_each(|name| remove(inner.as_fd(), name))?;
    unlinkat(folder, name, AtFlags::REMOVEDIR).during("change the layer")
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

fn mode(stat: &Stat) -> Mode {
    Mode::from_raw_mode(stat.st_mode & 0o777 as RawMode)
}

fn fault(failure: Failure) -> Fault {
    match failure.code {
        "too_large" | "no_space" => Fault::new("resource_exhausted", failure.message)
            .hint("make room, or raise resources.disk_mb; nothing of it was taken over"),
        _ => Fault::new("file_error", failure.message),
    }
}
