//! One change: how it is found, and how it is listed.

use std::os::fd::BorrowedFd;

use ak_jail::fault::{During, Outcome};
use rustix::fs::{FileType, Stat, readlinkat};
use serde::Serialize;

/// The bits that a change can carry; set-id and sticky bits are the sandbox's own business.
pub const PERMISSIONS: u32 = 0o777;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Added,
    Modified,
    Deleted,
    Renamed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Node {
    #[serde(rename = "file")]
    File,
    #[serde(rename = "symlink")]
    Link,
    #[serde(rename = "dir")]
    Directory,
    #[serde(rename = "other")]
    Other,
}

impl Node {
    pub fn of(stat: &Stat) -> Self {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Self::File,
            FileType::Symlink => Self::Link,
            FileType::Directory => Self::Directory,
            _ => Self::Other,
        }
    }
}

/// A path as one of the two has it.
#[derive(Debug, Clone)]
pub struct Side {
    pub node: Node,
    pub stat: Stat,
    /// Where a link leads.
    pub target: Option<Vec<u8>>,
}

/// Whether a change can be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Ready,
    /// The host's doing stands against it; the user may decide.
    Conflict(String),
    /// Never applied.
    Refused(String),
    /// Only said by `apply`: the user has not said yes to it.
    Held,
}

#[derive(Debug, Clone)]
pub struct Change {
    pub kind: Kind,
    pub path: Vec<u8>,
    /// The old path of a renamed file.
    pub from: Option<Vec<u8>>,
    /// The host's side; none for what is new.
    pub old: Option<Side>,
    /// The sandbox's side; none for what is gone.
    pub new: Option<Side>,
    pub verdict: Verdict,
    /// It steers what the user runs later, so it is applied only after a yes to it.
    pub awaits_review: bool,
}

impl Side {
    /// Reads `name` in a directory, without following symlinks.
    pub fn of(directory: BorrowedFd<'_>, name: &std::ffi::CStr, stat: Stat) -> Outcome<Self> {
        let node = Node::of(&stat);
        let target = match node {
            Node::Link => Some(readlinkat(directory, name, Vec::new()).during("read a link")?.into_bytes()),
            _ => None,
        };
        Ok(Self { node, stat, target })
    }

    pub fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    pub fn mode(&self) -> u32 {
        self.stat.st_mode & PERMISSIONS
    }
}

impl Change {
    pub fn is_directory(&self) -> bool {
        self.new.as_ref().or(self.old.as_ref()).is_some_and(|side| side.node == Node::Directory)
    }

    pub fn is_ready(&self) -> bool {
        self.verdict == Verdict::Ready
    }
}

/// Paths above a path, without the root.
pub fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(end, _)| &path[..end])
}
