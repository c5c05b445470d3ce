//! The part of the kernel's FUSE protocol (`linux/fuse.h`, version 7.31 and later) that a read-only file system needs.
//! Its numbers are the machine's own.

use rustix::fs::FileType;

use crate::message::Attributes;

pub const LOOKUP: u32 = 1;
pub const FORGET: u32 = 2;
pub const GETATTR: u32 = 3;
pub const READLINK: u32 = 5;
pub const OPEN: u32 = 14;
pub const READ: u32 = 15;
pub const STATFS: u32 = 17;
pub const RELEASE: u32 = 18;
pub const INIT: u32 = 26;
pub const OPENDIR: u32 = 27;
pub const READDIR: u32 = 28;
pub const RELEASEDIR: u32 = 29;
pub const INTERRUPT: u32 = 36;
pub const DESTROY: u32 = 38;
pub const BATCH_FORGET: u32 = 42;
pub const READDIRPLUS: u32 = 44;
/// What would write, whatever it is, is refused by this; the mount is read-only as well.
pub const WRITES: [u32; 15] = [4, 6, 8, 9, 10, 11, 12, 13, 16, 21, 24, 35, 43, 45, 51];

pub const ROOT: u64 = 1;
const VERSION: (u32, u32) = (7, 31);
pub const HEADER_BYTES: usize = 40;
const REPLY_HEADER_BYTES: usize = 16;
/// The kernel reads into no smaller one. Nothing is written to us, so what it sends is short.
pub const BUFFER_BYTES: usize = 64 << 10;
/// Of one read, as pages.
const MAX_PAGES: u16 = (crate::message::MAX_PART / 4096) as u16;
const MAX_READAHEAD: u32 = 1 << 20;
/// Requests of readahead that wait for us.
const MAX_BACKGROUND: u16 = 64;
/// What is known stays: the view is of the time when it was first looked at.
const VALID_SECONDS: u64 = 10 * 365 * 24 * 3600;

const ASYNC_READ: u32 = 1;
const AUTO_INVALIDATE: u32 = 1 << 12;
const READDIRPLUS_ALWAYS: u32 = 1 << 13;
const NO_OPEN: u32 = 1 << 17;
const PARALLEL_DIRECTORIES: u32 = 1 << 18;
const HAS_MAX_PAGES: u32 = 1 << 22;
const CACHE_LINKS: u32 = 1 << 23;
const NO_OPENDIR: u32 = 1 << 24;
const WANTED: u32 = ASYNC_READ
    | AUTO_INVALIDATE
    | READDIRPLUS_ALWAYS
    | NO_OPEN
    | PARALLEL_DIRECTORIES
    | HAS_MAX_PAGES
    | CACHE_LINKS
    | NO_OPENDIR;

pub struct Call<'a> {
    pub opcode: u32,
    pub unique: u64,
    pub node: u64,
    pub body: &'a [u8],
}

impl<'a> Call<'a> {
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (header, body) = bytes.split_at_checked(HEADER_BYTES)?;
        Some(Self { opcode: u32_at(header, 4)?, unique: u64_at(header, 8)?, node: u64_at(header, 16)?, body })
    }

    /// A name, without the zero at its end.
    pub fn name(&self) -> &'a [u8] {
        self.body.split(|&byte| byte == 0).next().unwrap_or_default()
    }

    /// Offset and size, of what is read in a file or directory.
    pub fn range(&self) -> Option<(u64, u32)> {
        Some((u64_at(self.body, 8)?, u32_at(self.body, 16)?))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes)
}

/// A reply as it goes to the kernel.
pub fn reply(unique: u64, body: &[u8]) -> Vec<u8> {
    headed(unique, 0, body)
}

pub fn failure(unique: u64, errno: i32) -> Vec<u8> {
    headed(unique, -errno, &[])
}

fn headed(unique: u64, error: i32, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(REPLY_HEADER_BYTES + body.len());
    out.extend(((REPLY_HEADER_BYTES + body.len()) as u32).to_ne_bytes());
    out.extend(error.to_ne_bytes());
    out.extend(unique.to_ne_bytes());
    out.extend_from_slice(body);
    out
}

/// Not a reply: the kernel is to ask for the attributes again. What it has of the content goes where they differ.
pub fn attributes_changed(node: u64) -> Vec<u8> {
    const INVALIDATE_INODE: i32 = 2;
    let mut body = Vec::new();
    body.extend(node.to_ne_bytes());
    // No content from here: it may be locked for a read that waits for us.
    body.extend((-1_i64).to_ne_bytes());
    body.extend(0_i64.to_ne_bytes());
    headed(0, INVALIDATE_INODE, &body)
}

/// None where the kernel is too old to be spoken to.
pub fn init(call: &Call<'_>) -> Option<Vec<u8>> {
    let (major, readahead, offered) = (u32_at(call.body, 0)?, u32_at(call.body, 8)?, u32_at(call.body, 12)?);
    if major < VERSION.0 {
        return None;
    }
    let mut body = Vec::with_capacity(64);
    for number in [VERSION.0, VERSION.1, readahead.min(MAX_READAHEAD), offered & WANTED] {
        body.extend(number.to_ne_bytes());
    }
    body.extend(MAX_BACKGROUND.to_ne_bytes());
    body.extend((MAX_BACKGROUND * 3 / 4).to_ne_bytes());
    // The longest write; and times in nanoseconds.
    body.extend(4096_u32.to_ne_bytes());
    body.extend(1_u32.to_ne_bytes());
    body.extend(MAX_PAGES.to_ne_bytes());
    body.resize(64, 0);
    Some(body)
}

/// Whom all belongs to.
#[derive(Clone, Copy)]
pub struct Owner {
    pub uid: u32,
    pub gid: u32,
}

pub fn entry(node: u64, attributes: &Attributes, owner: Owner, out: &mut Vec<u8>) {
    for number in [node, 0, VALID_SECONDS, VALID_SECONDS, 0] {
        out.extend(number.to_ne_bytes());
    }
    attr(attributes, owner, out);
}

/// There is no such name, and there will be none.
pub fn no_entry() -> Vec<u8> {
    let mut out = vec![0; 16];
    out.extend(VALID_SECONDS.to_ne_bytes());
    out.resize(128, 0);
    out
}

pub fn attributes(attributes: &Attributes, owner: Owner) -> Vec<u8> {
    let mut out = Vec::with_capacity(104);
    out.extend(VALID_SECONDS.to_ne_bytes());
    out.extend(0_u64.to_ne_bytes());
    attr(attributes, owner, &mut out);
    out
}

fn attr(found: &Attributes, owner: Owner, out: &mut Vec<u8>) {
    let Attributes { kind, mode, inode, size, modified, changed, .. } = *found;
    for number in [inode, size, size.div_ceil(512), modified.0 as u64, modified.0 as u64, changed.0 as u64] {
        out.extend(number.to_ne_bytes());
    }
    let mode = kind.as_raw_mode() | u32::from(mode);
    for number in [modified.1, modified.1, changed.1, mode, 1, owner.uid, owner.gid, 0, 4096, 0] {
        out.extend(number.to_ne_bytes());
    }
}

pub struct Listed<'a> {
    pub name: &'a [u8],
    pub node: u64,
    pub attributes: &'a Attributes,
    /// Of what follows it.
    pub next: u64,
}

/// False where it does not fit into `room`.
pub fn listed(entry_of: &Listed<'_>, owner: Option<Owner>, room: usize, out: &mut Vec<u8>) -> bool {
    let Listed { name, node, attributes, next } = entry_of;
    let length = if owner.is_some() { 128 } else { 0 } + (24 + name.len()).next_multiple_of(8);
    if out.len() + length > room {
        return false;
    }
    let end = out.len() + length;
    match owner {
        // These two are not looked up.
        Some(_) if matches!(*name, b"." | b"..") => out.resize(out.len() + 128, 0),
        Some(owner) => entry(*node, attributes, owner, out),
        None => {}
    }
    out.extend(attributes.inode.to_ne_bytes());
    out.extend(next.to_ne_bytes());
    out.extend((name.len() as u32).to_ne_bytes());
    out.extend((attributes.kind.as_raw_mode() >> 12).to_ne_bytes());
    out.extend_from_slice(name);
    out.resize(end, 0);
    true
}

/// Sizes that nobody counts: the view has no end of its own.
pub fn statfs() -> Vec<u8> {
    let mut out = vec![0; 40];
    for number in [4096_u32, 255, 4096, 0] {
        out.extend(number.to_ne_bytes());
    }
    out.resize(80, 0);
    out
}

pub fn is_directory(attributes: &Attributes) -> bool {
    attributes.kind == FileType::Directory
}
