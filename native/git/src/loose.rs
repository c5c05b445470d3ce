//! Objects in files of their own, and what all objects have in common.

use std::{io::Read, os::fd::BorrowedFd};

use flate2::read::ZlibDecoder;

use crate::{
    id::Id,
    malformed::{Malformed, Result},
    read,
};

/// Commits and trees are far smaller; contents of files are never read.
pub const LARGEST: usize = 64 << 20;
const MOST_PACKED_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Commit,
    Tree,
    Blob,
    Tag,
}

#[derive(Debug, Clone)]
pub struct Object {
    pub kind: Kind,
    pub data: Vec<u8>,
}

pub fn path(id: Id) -> String {
    let hex = id.to_string();
    format!("{}/{}", &hex[..2], &hex[2..])
}

pub fn read(objects: BorrowedFd<'_>, id: Id) -> Result<Option<Object>> {
    let Some(packed) = read::file(objects, &path(id), MOST_PACKED_BYTES)? else { return Ok(None) };
    let malformed = || Malformed::new(format!("the object {id} is malformed"));
    let bytes = inflate(&packed, LARGEST + 32).ok_or_else(malformed)?;
    let header = bytes.iter().position(|byte| *byte == 0).ok_or_else(malformed)?;
    let (kind, size) = bytes[..header].split_at(bytes[..header].iter().position(|b| *b == b' ').ok_or_else(malformed)?);
    let kind = match kind {
        b"commit" => Kind::Commit,
        b"tree" => Kind::Tree,
        b"blob" => Kind::Blob,
        b"tag" => Kind::Tag,
        _ => return Err(malformed()),
    };
    let data = bytes[header + 1..].to_vec();
    if size[1..] != *data.len().to_string().as_bytes() {
        return Err(malformed());
    }
    Ok(Some(Object { kind, data }))
}

/// None if it is damaged or larger than `limit`.
pub fn inflate(packed: &[u8], limit: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = ZlibDecoder::new(packed).take(limit as u64 + 1).read_to_end(&mut bytes);
    read.is_ok_and(|count| count <= limit).then_some(bytes)
}
