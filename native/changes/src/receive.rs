//! Makes an overlayfs layer of a container's report of its changes, so that everything else here works on it as on the
//! layer of any sandbox. The sandbox chose every byte of the report. It is written into a fresh directory first. Then
//! only the differences go into the layer, since applied changes are known by their inodes there.

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
use ak_tree::{DEEPEST, Destination, Failure, Limits, Links, Listing, Writer};
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
/// As long as a path may be.
const LONGEST_PATH: usize = 4096;

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
    for directory in [&fresh, &layer] {
        fs::create_dir_all(directory).during("make the layer")?;
    }
    receive_tree(&fresh, max_bytes, &mut input)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let from = open(&fresh, flags, Mode::empty()).during("open the layer")?;
    let to = open(&layer, flags, Mode::empty()).during("open the layer")?;
    prune(from.as_fd(), &[], &listing)?;
    Marks { root: from.as_fd(), listing: &listing, gone: HashSet::new(), heard: 0 }.hear(&mut input)?;
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

/// Directories that were there at the beginning and have nothing new in them are no change.
fn prune(directory: BorrowedFd<'_>, path: &[u8], listing: &Listing) -> Outcome<()> {
    for name in names(directory)? {
        let Some(stat) = contents::stat(directory, &name)? else { continue };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            continue;
        }
        let inner_path = join(path, &name);
        let inner = open_folder(directory, &name)?;
        prune(inner.as_fd(), &inner_path, listing)?;
        if listing.has_directory(&inner_path) && names(inner.as_fd())?.is_empty() {
            unlinkat(directory, &name, AtFlags::REMOVEDIR).during("leave out a directory")?;
        }
    }
    Ok(())
}

/// Marks for changes that the tree stream cannot express. Each is applied as it arrives, so none is held in memory:
/// deleted paths are found by our own listing.
struct Marks<'a> {
    root: BorrowedFd<'a>,
    listing: &'a Listing,
    gone: HashSet<Vec<u8>>,
    heard: u64,
}

impl Marks<'_> {
    fn hear(mut self, input: &mut impl Read) -> Outcome<()> {
        let mut rest = Vec::new();
        loop {
            let part = hear(input)?;
            if part.is_empty() {
                break;
            }
            rest.extend(part);
            let followed = self.follow(&rest)?;
            rest.drain(..followed);
        }
        if !rest.is_empty() {
            return Err(Fault::new("internal", "marks that are cut off"));
        }
        let is_topmost = |path: &&Vec<u8>| !ancestors(path).any(|above| self.gone.contains(above));
        self.gone.iter().filter(is_topmost).try_for_each(|path| self.make(path, FileType::CharacterDevice))
    }

    /// Returns how many bytes whole marks took.
    fn follow(&mut self, heard: &[u8]) -> Outcome<usize> {
        let mut rest = heard;
        while let Some((kind, path, after)) = first_mark(rest)? {
            rest = after;
            self.heard += 1;
            if self.heard > MAX_ENTRIES {
                return Err(Fault::new("resource_exhausted", "the container tells of too many changes"));
            }
            match kind {
                b'K' => note_origin(self.root, path),
                b'O' => self.make(path, FileType::Fifo)?,
                // Only what was there can be gone.
                b'D' if self.listing.has(path) => drop(self.gone.insert(path.to_vec())),
                _ => {}
            }
        }
        Ok(heard.len() - rest.len())
    }

    /// A whiteout, or something in place of what is no file. Directories above it were sent, or they were there at the
    /// beginning and were left out as unchanged: no others are made, so a mark builds nothing that the stream could not.
    fn make(&self, path: &[u8], kind: FileType) -> Outcome<()> {
        let mut directory = contents::open_directory(self.root, &[]).during("open the layer")?;
        for above in ancestors(path) {
            let part = above.rsplit(|&byte| byte == b'/').next().unwrap_or(above);
            let part = CString::new(part).during("a name")?;
            if self.listing.has_directory(above) {
                match mkdirat(&directory, &part, Mode::from_raw_mode(0o755)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(e) => return Err(e).during("make the layer"),
                }
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            directory = match openat(&directory, &part, flags, Mode::empty()) {
                Ok(inner) => inner,
                // Nothing is there, or something else, and nothing is below it.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
                Err(e) => return Err(e).during("make the layer"),
            };
        }
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        let name = CString::new(name).during("a name")?;
        match mknodat(&directory, &name, kind, Mode::from_raw_mode(0o600), 0) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(e) => Err(e).during("make the layer"),
        }
    }
}

type Mark<'a> = (u8, &'a [u8], &'a [u8]);

/// Its kind, its path, and what comes after it; None where it is not there as a whole yet.
fn first_mark(bytes: &[u8]) -> Outcome<Option<Mark<'_>>> {
    let Some((&[kind, low, high], after)) = bytes.split_first_chunk::<3>() else { return Ok(None) };
    let length = usize::from(u16::from_le_bytes([low, high]));
    if length > LONGEST_PATH {
        return Err(Fault::new("internal", format!("a mark of a path of {length} bytes")));
    }
    let Some((path, after)) = after.split_at_checked(length) else { return Ok(None) };
    let is_plain = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.contains(&0);
    if !path.split(|&byte| byte == b'/').all(is_plain) {
        return Err(Fault::new("internal", "a mark of no path"));
    }
    if ancestors(path).count() > DEEPEST {
        return Err(Fault::new("resource_exhausted", "a mark of a path in too many directories"));
    }
    Ok(Some((kind, path, after)))
}

/// As the kernel notes it in a layer. Where the filesystem keeps no notes, less is known of what the host deleted.
fn note_origin(root: BorrowedFd<'_>, path: &[u8]) {
    if let Ok((file, _)) = contents::open_file(root, path) {
        let _ = fsetxattr(&file, "user.overlay.origin", b"", XattrFlags::empty());
    }
}

/// Brings the layer to the reported state. A file that is the same keeps its inode.
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
            Some(old) if is_directory(&old) && is_directory(&new) => {
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

fn remove(directory: BorrowedFd<'_>, name: &CStr) -> Outcome<()> {
    match unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(e) => return Err(e).during("change the layer"),
    }
    let inner = open_folder(directory, name)?;
    names(inner.as_fd())?.iter().try_for_each(|name| remove(inner.as_fd(), name))?;
    unlinkat(directory, name, AtFlags::REMOVEDIR).during("change the layer")
}

fn is_directory(stat: &Stat) -> bool {
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
