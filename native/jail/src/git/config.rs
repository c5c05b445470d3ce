//! Configurations of repositories with a password or token in the address of a remote: a copy-on-write view has them
//! without it, so that git still knows remotes, branches and formats.

use std::os::fd::BorrowedFd;

use ak_secrets::without_remote_logins;
use rustix::fs::{FileType, OFlags, fstat};

use super::work_trees::{file, open};

const LARGEST: u64 = 1 << 20;

/// The text that a sandbox gets to see. None where it cannot be made: then the file is hidden.
pub fn cleaned(root: BorrowedFd<'_>, path: &[u8]) -> Option<Vec<u8>> {
    let found = open(root, path, OFlags::PATH).ok()??;
    let stat = fstat(&found).ok()?;
    // Another name of the same file would show it as it is.
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_nlink != 1 {
        return None;
    }
    without_remote_logins(&file(root, path, LARGEST).ok()??)
}
