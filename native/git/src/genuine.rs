//! Whether the objects of a sandbox are what their ids say. Git believes that of a pack, and looks into packs first: one
//! that names an object of the host's with another content would show a hidden file as empty in the user's own history.

use sha1::{Digest, Sha1};
use sha2::Sha256;

use crate::{
    hidden::HiddenPaths,
    id::{Id, SHA1},
    loose::{Kind, Object},
    malformed::{Malformed, Result},
    store::Store,
};

const DEEPEST: usize = 1000;

impl Object {
    /// Whether it has this id.
    pub fn is(&self, id: Id) -> bool {
        let kind = match self.kind {
            Kind::Commit => "commit",
            Kind::Tree => "tree",
            Kind::Blob => "blob",
            Kind::Tag => "tag",
        };
        let head = format!("{kind} {}\0", self.data.len());
        if id.bytes().len() == SHA1 {
            Sha1::new().chain_update(head).chain_update(&self.data).finalize()[..] == *id.bytes()
        } else {
            Sha256::new().chain_update(head).chain_update(&self.data).finalize()[..] == *id.bytes()
        }
    }
}

/// Looks at all that leads from a commit to its hidden files, and at these: what the sandbox has of it is held against its
/// id where it is read.
pub fn look_at(store: &Store, commit: Id, hidden: &HiddenPaths) -> Result<()> {
    match store.commit(commit)? {
        Some(commit) => look_into(store, commit.tree, &[], hidden, 0),
        None => Ok(()),
    }
}

fn look_into(store: &Store, tree: Id, directory: &[u8], hidden: &HiddenPaths, depth: usize) -> Result<()> {
    if depth > DEEPEST {
        return Err(Malformed::new("a tree is too deep"));
    }
    for (name, item) in store.tree(tree)? {
        let path = [directory, &name].concat();
        if item.is_tree && hidden.reach_into(&path) {
            look_into(store, item.id, &[&path[..], b"/"].concat(), hidden, depth + 1)?;
        } else if !item.is_tree && hidden.contains(&path) {
            store.look_at_sandboxs(item.id)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_the_id_of_its_kind_and_content() {
        let empty = Object { kind: Kind::Blob, data: Vec::new() };
        let id = |hex: &str| Id::parse(hex.as_bytes()).expect("an id");
        assert!(empty.is(id("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")));
        assert!(empty.is(id("473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813")));
        let tree = Object { kind: Kind::Tree, data: Vec::new() };
        assert!(
            tree.is(id("4b825dc642cb6eb9a060e54bf8d69288fbee4904"))
                && !tree.is(id("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"))
        );
    }
}
