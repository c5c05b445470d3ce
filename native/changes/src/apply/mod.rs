//! Applies changes to the project one by one, each as a whole or not at all. The host's changes since then stay, unless
//! the user said otherwise; refused changes stay refused. A process that is killed in between has applied some of the
//! changes, and the next order finds the rest.

mod delete;
mod links;
mod put;

use std::{
    collections::HashSet,
    io::Write,
    os::fd::{AsFd, BorrowedFd},
    path::Path,
};

use ak_jail::{
    fault::{Fault, Outcome},
    identity::is_host_root,
    keep::project::Project,
};
use serde::Serialize;

use links::OwnChanges;

use crate::{
    change::{Change, Kind, Verdict, ancestors},
    compare::Comparison,
    list::{selected, tell, write_line},
    order::{Order, is_at_or_below},
    record::{Applied, Print, Record, Writer},
};

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Done {
    Applied,
    /// It is as it should be without us.
    Nothing,
    /// The host, or the sandbox, did something in this very moment.
    Conflict(&'static str),
    /// A directory that something is left in.
    NotEmpty,
}

#[derive(Serialize)]
struct Summary<'a> {
    project: String,
    applied: usize,
    conflicts: usize,
    refused: usize,
    held: usize,
    omitted: u64,
    unmatched: Vec<&'a str>,
}

pub fn apply(state: &Path, order: &Order, out: &mut impl Write) -> Outcome<()> {
    let project = Project::of(state)?;
    if project.is_synced {
        return Err(Fault::new("conflict", "the changes of a synced project are carried over by a stop")
            .hint("stop the sandbox; `diff` shows what would be carried over"));
    }
    if order.is_rehearsal {
        let comparison = selected(state, &project, &Record::read(state)?, order)?;
        return Work {
            comparison,
            order,
            writer: None,
            privileged: false,
            cleared: HashSet::new(),
            own: OwnChanges::default(),
        }
        .run(&project, out);
    }
    let (writer, record) = Writer::open(state)?;
    let comparison = selected(state, &project, &record, order)?;
    Work {
        comparison,
        order,
        writer: Some(writer),
        privileged: is_host_root(),
        cleared: HashSet::new(),
        own: OwnChanges::default(),
    }
    .run(&project, out)
}

struct Work<'a> {
    comparison: Comparison,
    order: &'a Order,
    /// None to only say what would be done.
    writer: Option<Writer>,
    privileged: bool,
    /// Directories that were looked through for leftovers.
    cleared: HashSet<Vec<u8>>,
    own: OwnChanges,
}

impl Work<'_> {
    fn run(mut self, project: &Project, out: &mut impl Write) -> Outcome<()> {
        let changes = std::mem::take(&mut self.comparison.changes);
        let full: HashSet<&[u8]> = changes.iter().flat_map(|change| ancestors(&change.path)).collect();
        let (mut applied, mut conflicts, mut refused, mut held) = (0, 0, 0, 0);
        // Directories above what is not settled are not settled either.
        let mut open: HashSet<Vec<u8>> = HashSet::new();
        for change in in_order(&changes) {
            let mut change = change.clone();
            if self.order.overrides_host && matches!(change.verdict, Verdict::Conflict(_)) {
                change.verdict = Verdict::Ready;
            }
            if change.is_ready() && change.awaits_review && !self.order.says_yes_to(&change.path) {
                change.verdict = Verdict::Held;
            }
            if change.is_ready() {
                match self.carry_out(&change, open.contains(&change.path))? {
                    Done::Conflict(why) => change.verdict = Verdict::Conflict(why.into()),
                    Done::NotEmpty => change.verdict = Verdict::Refused("something else is in it".into()),
                    Done::Applied | Done::Nothing => {}
                }
            }
            if matches!(change.verdict, Verdict::Conflict(_) | Verdict::Held) {
                open.extend(ancestors(&change.path).map(<[u8]>::to_vec));
            }
            if change.is_directory() && full.contains(change.path.as_slice()) {
                continue;
            }
            match change.verdict {
                Verdict::Ready => applied += 1,
                Verdict::Conflict(_) => conflicts += 1,
                Verdict::Refused(_) => refused += 1,
                Verdict::Held => held += 1,
            }
            change.awaits_review &= change.verdict == Verdict::Held;
            write_line(out, &tell(&self.comparison, &change, false)?)?;
        }
        let is_unmatched = |path: &&String| !changes.iter().any(|c| is_at_or_below(&c.path, path.as_bytes()));
        let summary = Summary {
            project: project.source.display().to_string(),
            applied,
            conflicts,
            refused,
            held,
            omitted: self.comparison.omitted,
            unmatched: self.order.paths.iter().filter(is_unmatched).map(String::as_str).collect(),
        };
        write_line(out, &serde_json::json!({ "end": summary }))
    }

    /// `is_open`: something in it is not settled, so the next order has to look at it again.
    fn carry_out(&mut self, change: &Change, is_open: bool) -> Outcome<Done> {
        let Some(writer) = &mut self.writer else { return Ok(Done::Applied) };
        let host = self.comparison.host.as_fd();
        let directory = ancestors(&change.path).last().unwrap_or_default();
        if change.new.is_some() && self.cleared.insert(directory.to_vec()) {
            put::clear_beside(host, &change.path)?;
        }
        let done = match (&self.comparison.layer, &change.new) {
            (Some(layer), Some(_)) if change.is_directory() => {
                put::directory(layer.as_fd(), host, change, self.privileged)?
            }
            (Some(layer), Some(_)) => {
                put::file(layer.as_fd(), host, change, &self.comparison.rules, (self.privileged, &mut self.own))?
            }
            _ => delete::delete(host, &change.path, change.old.as_ref(), &mut self.own)?,
        };
        if matches!(done, Done::Conflict(_)) || done == Done::NotEmpty && is_open {
            return Ok(done);
        }
        let sandbox = change.new.as_ref().map(|side| Print::of(&side.stat));
        writer
            .add(&change.path, Applied { host: print(host, &change.path)?.filter(|_| sandbox.is_some()), sandbox })?;
        if let (Kind::Renamed, Some(from)) = (change.kind, &change.from) {
            let done = delete::delete(host, from, change.old.as_ref(), &mut self.own)?;
            if !matches!(done, Done::Conflict(_)) {
                writer.add(from, Applied { host: None, sandbox: None })?;
            }
            return Ok(done);
        }
        Ok(done)
    }
}

fn print(host: BorrowedFd<'_>, path: &[u8]) -> Outcome<Option<Print>> {
    let (directory, name) = put::parent(host, path)?;
    Ok(crate::contents::stat(directory.as_fd(), &name)?.map(|stat| Print::of(&stat)))
}

/// Orders the changes: first deletions that make room for something new, then new files, then all other deletions. A
/// process that is killed in between leaves too much rather than too little. Directories come before their contents and
/// go after them.
fn in_order(changes: &[Change]) -> Vec<&Change> {
    let new: HashSet<&[u8]> = changes.iter().filter(|c| c.new.is_some()).map(|c| c.path.as_slice()).collect();
    let above_new: HashSet<&[u8]> = new.iter().flat_map(|path| ancestors(path)).collect();
    let is_in_the_way =
        |path: &[u8]| new.contains(path) || above_new.contains(path) || ancestors(path).any(|a| new.contains(a));
    let (gone, kept): (Vec<&Change>, Vec<&Change>) = changes.iter().partition(|change| change.new.is_none());
    let (first, last): (Vec<&Change>, Vec<&Change>) = gone.into_iter().rev().partition(|c| is_in_the_way(&c.path));
    [first, kept, last].concat()
}
