//! Branches, tags and the like: files below `refs`, and `packed-refs`.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::fd::BorrowedFd,
};

use rustix::fs::FileType;

use crate::{
    id::Id,
    malformed::{Malformed, Result},
    read,
};

const MOST: usize = 200_000;
const DEEPEST: usize = 64;
const LONGEST_REFERENCE: u64 = 4096;
const LONGEST_LIST: u64 = 256 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    Branch(String),
    Commit(Id),
}

/// The directories of one side's repository: the one that all its working trees share, and this working tree's own.
#[derive(Clone, Copy)]
pub struct GitDirectory<'a> {
    pub common: BorrowedFd<'a>,
    /// It has `HEAD` and the index. Absent where a sandbox has changed nothing in it.
    pub own: Option<BorrowedFd<'a>>,
}

impl<'a> GitDirectory<'a> {
    /// For a repository that is one directory.
    pub fn whole(git: BorrowedFd<'a>) -> Self {
        Self { common: git, own: Some(git) }
    }
}

/// The references of one directory.
#[derive(Debug, Default)]
pub struct References {
    files: BTreeMap<String, Head>,
    deleted: BTreeSet<String>,
    /// None where there is no list.
    packed: Option<BTreeMap<String, Id>>,
    head: Option<Head>,
}

impl References {
    pub fn read(git: GitDirectory<'_>) -> Result<Self> {
        let head = git.own.map(|own| file(own, "HEAD")).transpose()?.flatten();
        let mut found = Self { head, ..Self::default() };
        found.collect(git.common, "refs", 0)?;
        if read::is_whiteout(git.common, "packed-refs") {
            found.packed = Some(BTreeMap::new());
        }
        if let Some(list) = read::file(git.common, "packed-refs", LONGEST_LIST)? {
            found.packed = Some(packed(&list));
        }
        Ok(found)
    }

    fn collect(&mut self, git: BorrowedFd<'_>, directory: &str, depth: usize) -> Result<()> {
        if depth > DEEPEST {
            return Err(Malformed::new("references are in too many directories"));
        }
        if read::is_whiteout(git, directory) || read::is_opaque(git, directory)? {
            self.deleted.insert(directory.to_owned());
        }
        for (name, kind) in read::names(git, directory, MOST)? {
            let path = format!("{directory}/{name}");
            match kind {
                FileType::Directory => self.collect(git, &path, depth + 1)?,
                FileType::CharacterDevice => {
                    self.deleted.insert(path);
                }
                FileType::RegularFile => {
                    if let Some(value) = file(git, &path)? {
                        self.files.insert(path, value);
                    }
                }
                // git would follow a symlink.
                _ => return Err(Malformed::new(format!("{path} is not a regular file"))),
            }
            if self.files.len() + self.deleted.len() > MOST {
                return Err(Malformed::new("there are too many references"));
            }
        }
        Ok(())
    }

    /// Whether a name is gone, itself or with a directory that it was in.
    fn hides(&self, name: &str) -> bool {
        let mut above = name.match_indices('/').map(|(end, _)| &name[..end]);
        !self.deleted.is_empty() && (self.deleted.contains(name) || above.any(|above| self.deleted.contains(above)))
    }

    /// Names that are written here.
    pub fn names(&self) -> BTreeSet<&str> {
        let packed = self.packed.iter().flat_map(BTreeMap::keys);
        self.files.keys().chain(packed).map(String::as_str).collect()
    }
}

/// A repository as a sandbox left it, above the one of the host.
pub struct Overlaid<'a> {
    pub host: &'a References,
    pub sandbox: &'a References,
}

impl Overlaid<'_> {
    pub fn get(&self, name: &str) -> Option<Id> {
        self.follow(name, 0)
    }

    fn follow(&self, name: &str, hops: usize) -> Option<Id> {
        let Self { host, sandbox } = self;
        let below = || if sandbox.hides(name) { None } else { host.files.get(name) };
        match sandbox.files.get(name).or_else(below) {
            Some(Head::Commit(id)) => Some(*id),
            Some(Head::Branch(other)) if hops < 5 => self.follow(other, hops + 1),
            Some(Head::Branch(_)) => None,
            None => sandbox.packed.as_ref().or(host.packed.as_ref())?.get(name).copied(),
        }
    }

    fn head(&self) -> Option<&Head> {
        self.sandbox.head.as_ref().or(self.host.head.as_ref())
    }

    /// The commit that is checked out.
    pub fn head_commit(&self) -> Option<Id> {
        match self.head()? {
            Head::Commit(id) => Some(*id),
            Head::Branch(name) => self.get(name),
        }
    }

    /// Whether no branch is checked out.
    pub fn is_detached(&self) -> bool {
        matches!(self.head(), Some(Head::Commit(_)))
    }
}

/// What a `HEAD` has checked out, if that is a branch.
pub fn branch_of(own: BorrowedFd<'_>) -> Result<Option<String>> {
    Ok(match file(own, "HEAD")? {
        Some(Head::Branch(name)) => Some(name),
        _ => None,
    })
}

fn file(git: BorrowedFd<'_>, path: &str) -> Result<Option<Head>> {
    let Some(text) = read::file(git, path, LONGEST_REFERENCE)? else { return Ok(None) };
    let text = text.trim_ascii();
    Ok(match text.strip_prefix(b"ref:") {
        Some(name) => Some(Head::Branch(String::from_utf8_lossy(name.trim_ascii()).into_owned())),
        // git ignores whatever follows the id.
        None => text.split(u8::is_ascii_whitespace).next().and_then(Id::parse).map(Head::Commit),
    })
}

pub fn packed(list: &[u8]) -> BTreeMap<String, Id> {
    let lines = list.split(|byte| *byte == b'\n').filter(|line| !matches!(line.first(), None | Some(b'#' | b'^')));
    let entry = |line: &[u8]| {
        let at = line.iter().position(|byte| *byte == b' ')?;
        Some((String::from_utf8_lossy(&line[at + 1..]).trim_end().to_owned(), Id::parse(&line[..at])?))
    };
    lines.filter_map(entry).collect()
}
