//! Sends the project's changes since it was put in place: a tree stream of everything that is new or differs, and marks
//! for changes that the stream cannot express. The host trusts none of it, since the sandbox chose every name and byte.

use std::{cell::RefCell, collections::HashSet, ffi::OsStr, os::unix::ffi::OsStrExt, path::Path, rc::Rc};

use ak_jail::{
    fault::{During, Fault, Outcome},
    sys,
};
use ak_tree::{Failure, Listing, Reader};
use rustix::{
    fs::{FileType, Stat, lstat},
    io::Errno,
};

use crate::{home::WORKSPACE, host_channel::HostChannel};

/// Message to a container that is started for this alone.
pub const WORD: &[u8] = b"gather";
const PORTION: usize = 256 << 10;
const MAX_LISTING: usize = 1 << 30;

/// A path that is gone.
const GONE: u8 = b'D';
/// A file that was there at the beginning, under this name or another.
const KNOWN: u8 = b'K';
/// Neither a file, a directory nor a link.
const OTHER: u8 = b'O';

pub fn on_standard_streams() -> Outcome<()> {
    let mut host = HostChannel::open().during("open the standard streams")?;
    match host.hear()?.as_deref() {
        // Whatever still runs would go on writing. This process and the guest are spared.
        Some(b"last") if is_in_a_sandbox() => sys::kill_all_others().during("end what runs")?,
        Some(_) => {}
        None => return Ok(()),
    }
    tell(&mut host)
}

fn is_in_a_sandbox() -> bool {
    std::fs::read("/proc/1/cmdline").is_ok_and(|words| words.starts_with(b"ak-guest\0"))
}

/// Hears the listing of the beginning first.
pub fn tell(host: &mut HostChannel) -> Outcome<()> {
    let listing = Listing::parse(&host.hear_all(MAX_LISTING)?).map_err(fault)?;
    let marks = Rc::new(RefCell::new(Marks::of(listing)));
    let mut reader = Reader::open(Path::new(WORKSPACE), Box::new(|_| None)).map_err(fault)?;
    reader = reader.telling_holes();
    let noted = Rc::clone(&marks);
    reader.leave_out_by(Box::new(move |path, stat| noted.borrow_mut().see(path, stat)));
    let mut portion = Vec::with_capacity(2 * PORTION);
    loop {
        portion.clear();
        let has_more = reader.fill(&mut portion, PORTION);
        if !portion.is_empty() {
            host.send(&portion)?;
        }
        if !has_more {
            break;
        }
    }
    host.send(&[])?;
    host.send_all(&marks.borrow_mut().told())
}

struct Marks {
    listing: Listing,
    inodes: HashSet<u64>,
    seen: HashSet<Vec<u8>>,
    told: Vec<u8>,
}

impl Marks {
    fn of(listing: Listing) -> Self {
        let inodes = listing.inodes().collect();
        Self { listing, inodes, seen: HashSet::new(), told: Vec::new() }
    }

    /// Whether it is as it was.
    fn see(&mut self, path: &[u8], stat: &Stat) -> bool {
        if self.listing.has(path) {
            self.seen.insert(path.to_vec());
        }
        if self.listing.is_as_it_was(path, stat) {
            return true;
        }
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory | FileType::Symlink => {}
            FileType::RegularFile if self.inodes.contains(&stat.st_ino) => self.mark(KNOWN, path),
            FileType::RegularFile => {}
            _ => self.mark(OTHER, path),
        }
        false
    }

    fn mark(&mut self, kind: u8, path: &[u8]) {
        let Ok(length) = u16::try_from(path.len()) else { return };
        self.told.push(kind);
        self.told.extend(length.to_le_bytes());
        self.told.extend(path);
    }

    fn told(&mut self) -> Vec<u8> {
        let gone: Vec<Vec<u8>> = self
            .listing
            .paths()
            .filter(|path| !self.seen.contains(*path) && is_gone(path))
            .map(<[u8]>::to_vec)
            .collect();
        for path in gone {
            self.mark(GONE, &path);
        }
        std::mem::take(&mut self.told)
    }
}

/// Only a path that is known to be absent counts as deleted; one that could not be read does not.
fn is_gone(path: &[u8]) -> bool {
    let path = Path::new(WORKSPACE).join(OsStr::from_bytes(path));
    matches!(lstat(&path), Err(Errno::NOENT | Errno::NOTDIR))
}

fn fault(failure: Failure) -> Fault {
    Fault::new("file_error", failure.message)
}
