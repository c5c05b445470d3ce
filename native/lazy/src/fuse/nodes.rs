//! All that is known of the tree. A node that was named once keeps its number: the kernel may hold it for as long as it
//! likes. How much is known is bounded by what is there on the host, and by the machine's memory.

use rustix::fs::FileType;

use super::abi::ROOT;
use crate::message::{Attributes, Entry};

pub struct Node {
    pub parent: u64,
    pub name: Box<[u8]>,
    pub attributes: Attributes,
    pub below: Below,
    /// Its content was asked for ahead.
    pub is_ahead: bool,
    /// It has changed on the host, and the kernel still has the attributes of before: it must not mix the two.
    pub is_stale: bool,
}

/// What a node has below it.
pub enum Below {
    Unknown,
    /// Sorted by name.
    Known(Vec<u64>),
    /// Of a link.
    Target(Box<[u8]>),
}

pub struct Nodes(Vec<Node>);

impl Nodes {
    pub fn new() -> Self {
        let attributes = Attributes {
            kind: FileType::Directory,
            mode: 0o755,
            inode: ROOT,
            size: 0,
            modified: (0, 0),
            changed: (0, 0),
            version: 0,
        };
        let root = Node {
            parent: ROOT,
            name: Box::default(),
            attributes,
            below: Below::Unknown,
            is_ahead: false,
            is_stale: false,
        };
        Self(vec![root])
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn get(&self, node: u64) -> Option<&Node> {
        self.0.get(usize::try_from(node).ok()?.checked_sub(1)?)
    }

    pub fn get_mut(&mut self, node: u64) -> Option<&mut Node> {
        self.0.get_mut(usize::try_from(node).ok()?.checked_sub(1)?)
    }

    /// The directory's entries are all known now.
    pub fn fill(&mut self, directory: u64, entries: &[u8]) {
        let mut rest = entries;
        let mut children = Vec::new();
        while !rest.is_empty() {
            let Ok(Entry { name, attributes, target }) = Entry::take(&mut rest) else { break };
            let below =
                if attributes.kind == FileType::Symlink { Below::Target(target.into()) } else { Below::Unknown };
            self.0.push(Node {
                parent: directory,
                name: name.into(),
                attributes,
                below,
                is_ahead: false,
                is_stale: false,
            });
            children.push(self.0.len() as u64);
        }
        children.sort_by(|a, b| self.name(*a).cmp(self.name(*b)));
        if let Some(found) = self.get_mut(directory) {
            found.below = Below::Known(children);
        }
    }

    pub fn name(&self, node: u64) -> &[u8] {
        self.get(node).map_or(&[], |node| &node.name)
    }

    /// The place of a name among those of a directory that is known.
    pub fn position(&self, children: &[u64], name: &[u8]) -> Option<usize> {
        children.binary_search_by(|child| self.name(*child).cmp(name)).ok()
    }

    /// As it is asked for at the host.
    pub fn path(&self, node: u64) -> Vec<u8> {
        let mut names = Vec::new();
        let mut at = node;
        while at != ROOT {
            let Some(found) = self.get(at) else { break };
            names.push(&*found.name);
            at = found.parent;
        }
        names.reverse();
        names.join(&b'/')
    }
}
