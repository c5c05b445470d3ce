//! What will probably be asked for next: whoever walks a tree goes through all of it, and whoever reads one file after
//! the other reads those that follow. Whoever looks at one file pays for little more.

use std::collections::VecDeque;

use rustix::fs::FileType;

use super::{
    Subject,
    abi::{ROOT, is_directory},
    contents::Part,
    nodes::{Below, Nodes},
};
use crate::message::MAX_PART;

/// Directories that are asked for ahead for each that somebody waited for.
const PER_MISS: usize = 32;
/// Requests under way.
const MOST_UNDER_WAY: usize = 256;
/// With more than this, entries come when they are asked for.
const MOST_NODES: usize = 400_000;
/// Files that are asked for ahead, as long as they are read in order.
const MOST_FILES: usize = 256;
const FIRST_FILES: usize = 8;
/// How much all of these may be, and how far they are looked for.
const MOST_BYTES: u64 = 2 << 20;
const MOST_STEPS: usize = 2000;
/// They are looked for once in so many reads.
const READS_PER_LOOK: usize = 8;

#[derive(Default)]
pub struct Ahead {
    directories: VecDeque<u64>,
    allowed: usize,
    files: VecDeque<u64>,
    under_way: usize,
    last_read: u64,
    /// How many files were read in their order.
    streak: usize,
}

impl Ahead {
    /// Somebody waits for it.
    pub fn misses(&mut self, subject: Subject) {
        if matches!(subject, Subject::Directory(_)) {
            self.allowed = (self.allowed + PER_MISS).min(32 * PER_MISS);
        }
    }

    /// A directory is known now.
    pub fn knows(&mut self, directory: u64, nodes: &Nodes) {
        let Some(Below::Known(children)) = nodes.get(directory).map(|node| &node.below) else { return };
        let below =
            children.iter().filter(|child| nodes.get(**child).is_some_and(|node| is_directory(&node.attributes)));
        self.directories.extend(below);
    }

    /// The beginning of a file is read.
    pub fn reads(&mut self, node: u64, nodes: &Nodes) {
        if node == self.last_read {
            return;
        }
        let last = std::mem::replace(&mut self.last_read, node);
        let Some(found) = nodes.get(node) else { return };
        let is_near = || {
            let (siblings, at) = place(node, nodes)?;
            let before = nodes.get(last).filter(|before| before.parent == found.parent)?;
            nodes.position(siblings, &before.name).map(|last| last < at && at <= last + 16)
        };
        if !found.is_ahead && is_near() != Some(true) {
            self.streak = 0;
            return;
        }
        self.streak += 1;
        if !found.is_ahead || self.streak.is_multiple_of(READS_PER_LOOK) {
            self.files = following(node, nodes, (FIRST_FILES * self.streak).min(MOST_FILES));
        }
    }

    /// None where there is nothing to ask for, or enough under way.
    pub fn next(&mut self, nodes: &mut Nodes, is_here: impl Fn(Part) -> bool) -> Option<Subject> {
        if self.under_way >= MOST_UNDER_WAY {
            return None;
        }
        while let Some(file) = self.files.pop_front() {
            if let Some(node) = nodes.get_mut(file).filter(|node| !node.is_ahead && !is_here((file, 0))) {
                node.is_ahead = true;
                self.under_way += 1;
                return Some(Subject::Part((file, 0)));
            }
        }
        while self.allowed > 0 && nodes.len() < MOST_NODES {
            let directory = self.directories.pop_front()?;
            if matches!(nodes.get(directory)?.below, Below::Unknown) {
                self.allowed -= 1;
                self.under_way += 1;
                return Some(Subject::Directory(directory));
            }
        }
        None
    }

    pub fn arrived(&mut self) {
        self.under_way -= 1;
    }
}

fn place(node: u64, nodes: &Nodes) -> Option<(&[u64], usize)> {
    let found = nodes.get(node)?;
    let Below::Known(siblings) = &nodes.get(found.parent)?.below else { return None };
    Some((siblings, nodes.position(siblings, &found.name)?))
}

/// The files behind one, as a walk through the tree has them, that were not asked for yet.
fn following(node: u64, nodes: &Nodes, most: usize) -> VecDeque<u64> {
    let mut found = VecDeque::new();
    let (mut bytes, mut at) = (0, node);
    for _ in 0..MOST_STEPS {
        let Some(next) = next_of(at, nodes) else { break };
        at = next;
        if let Some(size) = size_if_new(at, nodes) {
            bytes += size;
            if found.len() == most || bytes > MOST_BYTES {
                break;
            }
            found.push_back(at);
        }
    }
    found
}

/// The first in a directory that is known; or what follows the node, or any of the directories that it lies in.
fn next_of(node: u64, nodes: &Nodes) -> Option<u64> {
    if let Below::Known(children) = &nodes.get(node)?.below
        && let Some(first) = children.first()
    {
        return Some(*first);
    }
    let mut at = node;
    while at != ROOT {
        let (siblings, position) = place(at, nodes)?;
        if let Some(next) = siblings.get(position + 1) {
            return Some(*next);
        }
        at = nodes.get(at)?.parent;
    }
    None
}

/// Of a small file.
fn size_if_new(node: u64, nodes: &Nodes) -> Option<u64> {
    let found = nodes.get(node).filter(|node| !node.is_ahead)?;
    let size = found.attributes.size;
    (found.attributes.kind == FileType::RegularFile && (1..=MAX_PART as u64).contains(&size)).then_some(size)
}
