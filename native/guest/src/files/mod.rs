//! Files of the sandbox, with the rights of the guest's user.
//!
//! Paths are resolved by the kernel inside the sandbox's own root. Opens never
//! block (a FIFO, a device), nothing is trusted that can change between two
//! calls, and no job holds the loop for long.

mod credit;
mod errors;
mod list;
mod ops;
mod own;
mod read;
mod remove;
mod stat;
mod tree;
mod write;

use std::ffi::CStr;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::{Errno, read};

use crate::channel::Refusal;

pub use list::Listing;
pub use ops::operate;
pub use read::FileRead;
pub use remove::Removal;
pub use tree::{TreeRead, TreeWrite};
pub use write::FileWrite;

/// Flags of every open of something that the sandbox may have put there.
const SAFE_OPEN: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Checks what every path must be.
fn absolute(path: &str) -> Result<&str, Refusal> {
    if !path.starts_with('/') {
        return Err(Refusal::invalid("the path is not absolute"));
    }
    if path.contains('\0') {
        return Err(Refusal::invalid("a NUL byte in the path"));
    }
    Ok(path)
}

/// The content of a small regular file; anything else is an error.
pub fn read_small(path: &CStr, max: usize) -> Result<Vec<u8>, Errno> {
    let file = openat(CWD, path, OFlags::RDONLY | SAFE_OPEN, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    let mut content = Vec::new();
    let mut part = [0u8; 4096];
    loop {
        match read(&file, &mut part)? {
            0 => return Ok(content),
            count if content.len() + count > max => return Err(Errno::FBIG),
            count => content.extend_from_slice(&part[..count]),
        }
    }
}
