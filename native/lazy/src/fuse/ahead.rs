//! What will probably be asked for next: whoever walks a tree goes through all of it, and whoever reads one file after
//! the other reads those that follow. Whoever looks at one file pays for little more.

use std::collections::VecDeque;

use rustix::fs::FileType;

use super::{
    Subject,
    abi::is_directory,
    contents::Part,
    nodes::{Below, Nodes},
};
use crate::message::MAX_PART;

/// Directories that are asked for ahead for each that somebody waited for.
const PER_MISS: usize = 32;
/// Requests under way.
const MOST_UNDER_WAY: usize = 64;
/// With more than this, entries come when they are asked for.
const MOST_NODES: usize = 400_000;
/// Files that are asked for ahead, as long as they are read in order.
const MOST_FILES: usize = 64;
const FIRST_FILES: usize = 4;

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
        let Some((siblings, at)) = place(node, nodes) else { return };
        let before =
            nodes.get(last).filter(|before| nodes.get(node).is_some_and(|found| found.parent == before.parent));
        let follows = match before {
            Some(before) => nodes.position(siblings, &before.name).is_some_and(|last| last < at && at <= last + 16),
            // The first file of a directory.
            None => self.streak > 0,
        };
        self.streak = if follows { self.streak + 1 } else { 0 };
        if !follows {
            return;
        }
        let count = (FIRST_FILES << self.streak.min(4)).min(MOST_FILES);
        let next = siblings.iter().skip(at + 1).take(count).filter(|sibling| is_small_and_new(**sibling, nodes));
        let next: Vec<u64> = next.copied().collect();
        self.files = next.into();
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

fn is_small_and_new(node: u64, nodes: &Nodes) -> bool {
    nodes.get(node).is_some_and(|node| {
        let attributes = &node.attributes;
        attributes.kind == FileType::RegularFile && (1..=MAX_PART as u64).contains(&attributes.size) && !node.is_ahead
    })
}
