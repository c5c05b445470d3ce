//! Objects of a repository as a sandbox has left it: its own above those of the host.

use std::{
    cell::RefCell,
    collections::HashMap,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::PathBuf,
};

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::{
    commit::Commit,
    id::Id,
    loose::{self, Kind, Object},
    malformed::{Malformed, Result},
    pack::Pack,
    read,
    tree::{self, Item},
};

const MOST_PACKS: usize = 10_000;
/// Repositories that share objects with others that share objects.
const MOST_ALTERNATES: usize = 16;
const LONGEST_LIST: u64 = 1 << 20;
/// Bases of packed objects that lie in other packs.
const MOST_HOPS: usize = 64;
/// The limit for all objects together: a few bytes from a sandbox must not keep the host inflating for hours.
const MOST_BYTES: usize = 8 << 30;

pub struct Store {
    sandbox: Option<Directory>,
    host: Vec<Directory>,
    hops: RefCell<usize>,
    /// Bytes of objects that may still be read.
    room: RefCell<usize>,
}

/// One directory of objects.
struct Directory {
    objects: OwnedFd,
    packs: RefCell<HashMap<usize, Vec<Pack>>>,
}

impl Directory {
    fn new(objects: OwnedFd) -> Self {
        Self { objects, packs: RefCell::new(HashMap::new()) }
    }

    fn read(&self, id: Id, other: &dyn Fn(Id) -> Result<Option<Object>>) -> Result<Option<Object>> {
        if let Some(object) = loose::read(self.objects.as_fd(), id)? {
            return Ok(Some(object));
        }
        self.in_packs(id, |pack, at| pack.read(at, other))
    }

    fn in_packs<T>(&self, id: Id, found: impl Fn(&Pack, u64) -> Result<T>) -> Result<Option<T>> {
        let hash = id.bytes().len();
        if !self.packs.borrow().contains_key(&hash) {
            let packs = self.open_packs(hash)?;
            self.packs.borrow_mut().insert(hash, packs);
        }
        for pack in self.packs.borrow().get(&hash).into_iter().flatten() {
            if let Some(at) = pack.find(id)? {
                return found(pack, at).map(Some);
            }
        }
        Ok(None)
    }

    fn open_packs(&self, hash: usize) -> Result<Vec<Pack>> {
        let names = read::names(self.objects.as_fd(), "pack", MOST_PACKS)?;
        let names = names.iter().filter_map(|(name, _)| name.strip_suffix(".idx"));
        names.filter_map(|name| Pack::open(self.objects.as_fd(), name, hash).transpose()).collect()
    }
}

impl Store {
    /// Opens the `.git` directories of the host and of the sandbox's layer above it.
    pub fn open(host: BorrowedFd<'_>, sandbox: BorrowedFd<'_>) -> Result<Self> {
        let objects = |at| Ok(read::open(at, "objects", OFlags::DIRECTORY)?.map(Directory::new));
        let mut all: Vec<Directory> = objects(host)?.into_iter().collect();
        let mut looked_into = 0;
        while looked_into < all.len() {
            for path in alternates(&all[looked_into])? {
                if all.len() > MOST_ALTERNATES {
                    return Err(Malformed::new("objects come from too many other repositories"));
                }
                let at = all[looked_into].objects.as_fd();
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                // Relative paths are meant from the directory of objects. git passes over what is not there.
                if let Ok(other) = openat(if path.is_absolute() { CWD } else { at }, &path, flags, Mode::empty()) {
                    all.push(Directory::new(other));
                }
            }
            looked_into += 1;
        }
        let sandbox = objects(sandbox)?;
        Ok(Self { sandbox, host: all, hops: RefCell::new(0), room: RefCell::new(MOST_BYTES) })
    }

    pub fn object(&self, id: Id) -> Result<Option<Object>> {
        if *self.hops.borrow() > MOST_HOPS {
            return Err(Malformed::new("a packed object is malformed"));
        }
        *self.hops.borrow_mut() += 1;
        let other = |id| self.object(id);
        let mut found = Ok(None);
        for (directory, is_sandboxs) in
            self.sandbox.iter().map(|it| (it, true)).chain(self.host.iter().map(|it| (it, false)))
        {
            found = directory.read(id, &other);
            if is_sandboxs && matches!(&found, Ok(Some(object)) if !object.is(id)) {
                found = Err(Malformed::new(format!("the object {id} has another content than its name says")));
            }
            if !matches!(found, Ok(None)) {
                break;
            }
        }
        *self.hops.borrow_mut() -= 1;
        if let Ok(Some(object)) = &found {
            let left = self.room.borrow().checked_sub(object.data.len());
            let left = left.ok_or_else(|| Malformed::new("there is too much in it to be looked into"))?;
            self.room.replace(left);
        }
        found
    }

    /// Whether the sandbox has packed anything.
    pub fn has_new_packs(&self) -> Result<bool> {
        let names = |it: &Directory| read::names(it.objects.as_fd(), "pack", MOST_PACKS);
        let names = self.sandbox.as_ref().map(names).transpose()?.unwrap_or_default();
        Ok(names.iter().any(|(name, _)| name.ends_with(".idx")))
    }

    /// An object that is of no other interest.
    pub fn look_at_sandboxs(&self, id: Id) -> Result<()> {
        let other = |id| self.object(id);
        let found = self.sandbox.as_ref().map(|it| it.read(id, &other)).transpose()?.flatten();
        match found {
            Some(object) if !object.is(id) => {
                Err(Malformed::new(format!("the object {id} has another content than its name says")))
            }
            _ => Ok(()),
        }
    }

    /// None if there is none; what is another object is malformed.
    pub fn commit(&self, id: Id) -> Result<Option<Commit>> {
        match self.object(id)? {
            None => Ok(None),
            Some(Object { kind: Kind::Commit, data }) => Commit::parse(&data).map(Some),
            Some(_) => Err(Malformed::new(format!("{id} is not a commit"))),
        }
    }

    pub fn tree(&self, id: Id) -> Result<HashMap<Vec<u8>, Item>> {
        self.read_tree(id, tree::parse)
    }

    /// Reads the entries of a tree for which `wanted` is true.
    pub fn some_of_tree(&self, id: Id, wanted: &dyn Fn(&[u8]) -> bool) -> Result<HashMap<Vec<u8>, Item>> {
        self.read_tree(id, |data, hash| tree::parse_some(data, hash, wanted))
    }

    fn read_tree(
        &self,
        id: Id,
        parse: impl Fn(&[u8], usize) -> Result<HashMap<Vec<u8>, Item>>,
    ) -> Result<HashMap<Vec<u8>, Item>> {
        match self.object(id)? {
            Some(Object { kind: Kind::Tree, data }) => parse(&data, id.bytes().len()),
            // git has it without writing it.
            None if id.to_string() == EMPTY_TREE => Ok(HashMap::new()),
            None => Err(Malformed::new(format!("the tree {id} is missing"))),
            Some(_) => Err(Malformed::new(format!("{id} is not a tree"))),
        }
    }
}

const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

fn alternates(directory: &Directory) -> Result<Vec<PathBuf>> {
    let list = read::file(directory.objects.as_fd(), "info/alternates", LONGEST_LIST)?.unwrap_or_default();
    let list = String::from_utf8_lossy(&list).into_owned();
    Ok(list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(PathBuf::from).collect())
}
