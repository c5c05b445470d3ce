//! A file that is gone and a new one with the same content are one file with a new name.

use std::{
    collections::{HashMap, HashSet},
    os::fd::{AsFd, BorrowedFd},
};

use ak_jail::{carry::transfer::COMPARED, fault::Outcome};
use sha1::{Digest, Sha1};

use crate::{
    change::{Change, Kind, Node, Side},
    compare::Comparison,
    contents,
};

/// Read for this at most. A sandbox can make any number of files of the size of one that it deleted.
const BUDGET_BYTES: u64 = 1 << 30;

type Hash = [u8; 20];

pub fn pair(comparison: &mut Comparison) -> Outcome<()> {
    let Some(layer) = &comparison.layer else { return Ok(()) };
    let sizes = |kind, side: fn(&Change) -> Option<&Side>| -> HashSet<u64> {
        let changes = comparison.changes.iter().filter(move |change| is_candidate(change, kind));
        changes.filter_map(side).map(Side::size).collect()
    };
    let common: HashSet<u64> =
        &sizes(Kind::Added, |change| change.new.as_ref()) & &sizes(Kind::Deleted, |change| change.old.as_ref());
    let mut budget = BUDGET_BYTES;
    let mut gone: HashMap<Hash, Vec<usize>> = HashMap::new();
    for (index, change) in comparison.changes.iter().enumerate().rev() {
        let side =
            change.old.as_ref().filter(|side| is_candidate(change, Kind::Deleted) && common.contains(&side.size()));
        let Some(side) = side else { continue };
        if let Some(hash) = hash(comparison.host.as_fd(), &change.path, side, &mut budget) {
            gone.entry(hash).or_default().push(index);
        }
    }
    let mut taken = HashSet::new();
    for index in 0..comparison.changes.len() {
        let change = &comparison.changes[index];
        let side =
            change.new.as_ref().filter(|side| is_candidate(change, Kind::Added) && common.contains(&side.size()));
        let Some(side) = side else { continue };
        let Some(hash) = hash(layer.as_fd(), &change.path, side, &mut budget) else { continue };
        let Some(from) = gone.get_mut(&hash).and_then(Vec::pop) else { continue };
        taken.insert(from);
        let (path, old) = (comparison.changes[from].path.clone(), comparison.changes[from].old.clone());
        let change = &mut comparison.changes[index];
        (change.kind, change.from, change.old) = (Kind::Renamed, Some(path), old);
    }
    let mut index = 0;
    comparison.changes.retain(|_| {
        index += 1;
        !taken.contains(&(index - 1))
    });
    Ok(())
}

/// Empty files are all alike, and large ones take too long to look at.
fn is_candidate(change: &Change, kind: Kind) -> bool {
    let side = change.new.as_ref().or(change.old.as_ref());
    let is_fit = |side: &Side| side.node == Node::File && side.stat.st_size > 0 && side.stat.st_size <= COMPARED;
    change.kind == kind && change.is_ready() && !change.awaits_review && side.is_some_and(is_fit)
}

/// Returns None when the budget is used up, and for a file that cannot be read: the rename is listed as two changes.
fn hash(root: BorrowedFd<'_>, path: &[u8], side: &Side, budget: &mut u64) -> Option<Hash> {
    *budget = budget.checked_sub(side.size())?;
    let (file, _) = contents::open_file(root, path).ok()?;
    Some(Sha1::digest(contents::read_start(&file, side.size() as usize).ok()?).into())
}
