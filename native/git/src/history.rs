//! Which commits are new: reached from some, and not from others. As git does it, by the time that commits state; a time
//! that is not true makes the walk longer, and at worst has an old commit taken for a new one.

use std::collections::{BinaryHeap, HashMap, HashSet};

use crate::{
    commit::Commit,
    id::Id,
    malformed::{Malformed, Result},
    store::Store,
};

const MOST_COMMITS: usize = 2_000_000;
const MOST_NEW: usize = 50_000;

pub fn new_commits(store: &Store, tips: &[Id], known: &[Id], shallow: &HashSet<Id>) -> Result<HashMap<Id, Commit>> {
    let mut walk = Walk { store, met: HashMap::new(), queue: BinaryHeap::new(), open: 0 };
    for id in known {
        // A commit that the host itself lacks is skipped.
        walk.add(*id, true, true)?;
    }
    for id in tips {
        walk.add(*id, false, false)?;
    }
    let mut new = HashMap::new();
    let mut looked_at = 0;
    while let Some((_, _, id)) = walk.queue.pop() {
        let is_known = walk.popped(id);
        walk.open -= usize::from(!is_known);
        looked_at += 1;
        let Some(mut commit) = store.commit(id)? else { continue };
        if shallow.contains(&id) {
            commit.parents.clear();
        }
        for parent in &commit.parents {
            walk.add(*parent, is_known, is_known)?;
        }
        if is_known {
            new.remove(&id);
        } else {
            new.insert(id, commit);
        }
        if new.len() > MOST_NEW || looked_at > MOST_COMMITS {
            return Err(Malformed::new("there are too many new commits to be looked into"));
        }
        if walk.open == 0 {
            break;
        }
    }
    new.retain(|id, _| !walk.met.get(id).is_some_and(|met| met.is_known));
    Ok(new)
}

#[derive(Clone, Copy)]
struct Met {
    is_known: bool,
    is_queued: bool,
}

struct Walk<'a> {
    store: &'a Store,
    met: HashMap<Id, Met>,
    /// By time, the latest first; of one second, those that are known, which may have made others known.
    queue: BinaryHeap<(u64, bool, Id)>,
    /// How many in the queue are not known.
    open: usize,
}

impl Walk<'_> {
    fn add(&mut self, id: Id, is_known: bool, may_be_missing: bool) -> Result<()> {
        match self.met.get_mut(&id) {
            Some(met) if met.is_known || !is_known => return Ok(()),
            Some(met) => {
                met.is_known = true;
                if met.is_queued {
                    self.open -= 1;
                    return Ok(());
                }
                met.is_queued = true;
            }
            None => {
                self.met.insert(id, Met { is_known, is_queued: true });
            }
        }
        let Some(commit) = self.store.commit(id)? else {
            if may_be_missing {
                return Ok(());
            }
            return Err(Malformed::new(format!("the commit {id} is missing")));
        };
        self.open += usize::from(!is_known);
        self.queue.push((commit.time, is_known, id));
        Ok(())
    }

    /// Whether it is known, now that it is no more in the queue.
    fn popped(&mut self, id: Id) -> bool {
        self.met.get_mut(&id).is_some_and(|met| {
            met.is_queued = false;
            met.is_known
        })
    }
}
