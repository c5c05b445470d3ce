//! Trees, and what one has lost in comparison with another.

use std::collections::HashMap;

use crate::{
    hidden::HiddenPaths,
    id::Id,
    malformed::{Malformed, Result},
    store::Store,
};

/// Directories in directories; a tree that is its own parent cannot be made, but a long chain can.
const DEEPEST: usize = 1000;

const GITLINK: &[u8] = b"160000";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    pub is_tree: bool,
    pub id: Id,
}

pub fn parse(data: &[u8], hash: usize) -> Result<HashMap<Vec<u8>, Item>> {
    parse_some(data, hash, &|_| true)
}

/// Only what is `wanted` is kept: a sandbox can make a tree with millions of names in it of a few thousand bytes.
pub fn parse_some(data: &[u8], hash: usize, wanted: &dyn Fn(&[u8]) -> bool) -> Result<HashMap<Vec<u8>, Item>> {
    let malformed = || Malformed::new("a tree is malformed");
    let mut items = HashMap::new();
    let mut rest = data;
    while !rest.is_empty() {
        let space = rest.iter().position(|byte| *byte == b' ').ok_or_else(malformed)?;
        let end = rest.iter().position(|byte| *byte == 0).filter(|end| *end > space).ok_or_else(malformed)?;
        let id = rest.get(end + 1..end + 1 + hash).and_then(Id::of).ok_or_else(malformed)?;
        let is_tree = matches!(&rest[..space], b"40000" | b"040000");
        let name = &rest[space + 1..end];
        // A submodule has no content here: where a file was, that is gone.
        if &rest[..space] != GITLINK && wanted(name) {
            items.insert(name.to_vec(), Item { is_tree, id });
        }
        rest = &rest[end + 1 + hash..];
    }
    Ok(items)
}

/// How a hidden file fared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Deleted,
    Emptied,
}

/// Hidden files that `old` has and `new` has no more, or has empty.
pub fn lost(store: &Store, old: Id, new: Option<Id>, hidden: &HiddenPaths) -> Result<Vec<(Vec<u8>, Fate)>> {
    let mut found = Vec::new();
    compare(store, (Some(old), new), &[], hidden, &mut found, 0)?;
    Ok(found)
}

fn compare(
    store: &Store,
    (old, new): (Option<Id>, Option<Id>),
    directory: &[u8],
    hidden: &HiddenPaths,
    found: &mut Vec<(Vec<u8>, Fate)>,
    depth: usize,
) -> Result<()> {
    if old == new {
        return Ok(());
    }
    if depth > DEEPEST {
        return Err(Malformed::new("a tree is too deep"));
    }
    let wanted = |name: &[u8]| hidden.reach_into(&[directory, name].concat());
    let items = |id: Option<Id>| id.map_or_else(|| Ok(HashMap::new()), |id| store.some_of_tree(id, &wanted));
    let (old, new) = (items(old)?, items(new)?);
    for (name, was) in &old {
        let path = [directory, name].concat();
        let is = new.get(name);
        if is == Some(was) {
            continue;
        }
        if was.is_tree {
            if hidden.reach_into(&path) {
                let inside = is.filter(|is| is.is_tree).map(|is| is.id);
                compare(store, (Some(was.id), inside), &[&path[..], b"/"].concat(), hidden, found, depth + 1)?;
            }
        } else if hidden.contains(&path) {
            match is.filter(|is| !is.is_tree) {
                None => found.push((path, Fate::Deleted)),
                Some(is) if is.id.is_empty_blob() && !was.id.is_empty_blob() => found.push((path, Fate::Emptied)),
                Some(_) => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_wanted_of_a_tree_is_kept() {
        let item = |mode: &str, name: &str| [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &[7; 20]].concat();
        let data = [item("100644", ".env"), item("40000", "deploy"), item("100644", "code.txt")].concat();
        let items = parse_some(&data, 20, &|name| name != b"code.txt").expect("parse");
        let mut names: Vec<_> = items.iter().map(|(name, item)| (name.as_slice(), item.is_tree)).collect();
        names.sort_unstable();
        assert_eq!(names, [(&b".env"[..], false), (b"deploy", true)]);
        for end in 1..data.len() {
            assert_eq!(parse(&data[..end], 20).is_ok(), [32, 65].contains(&end), "{end}");
        }
    }
}
