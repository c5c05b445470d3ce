//! The changes as JSON, one object a line, the last of which says what is not in the list.

use std::{collections::HashSet, io::Write, os::fd::AsFd, path::Path};

use ak_jail::{
    fault::{During, Outcome},
    keep::project::Project,
};
use serde::Serialize;

use crate::{
    change::{Change, Kind, Node, Side, Verdict, ancestors},
    compare::{Comparison, compare},
    contents,
    order::{Order, is_at_or_below},
    patch::count_lines,
    record::Record,
    renames,
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed<'a> {
    change: Kind,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(flatten)]
    new: Option<ToldSide>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<ToldSide>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<(usize, usize)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conflict: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<&'a str>,
    /// It waits for a yes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    review: bool,
}

#[derive(Serialize)]
pub struct ToldSide {
    #[serde(rename = "type")]
    node: Node,
    mode: u32,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

#[derive(Serialize)]
struct Rest<'a> {
    project: String,
    synced: bool,
    omitted: u64,
    unmatched: Vec<&'a str>,
}

pub fn list(state: &Path, order: &Order, out: &mut impl Write) -> Outcome<()> {
    let project = Project::of(state)?;
    let comparison = selected(state, &project, &Record::read(state)?, order)?;
    let full: HashSet<&[u8]> = comparison.changes.iter().flat_map(|change| ancestors(&change.path)).collect();
    // A directory shows by what is in it, as long as there is anything.
    let is_told = |change: &&Change| !change.is_directory() || !full.contains(change.path.as_slice());
    for change in comparison.changes.iter().filter(is_told) {
        write_line(out, &tell(&comparison, change, order.counts_lines)?)?;
    }
    let matches = |path: &&String| !comparison.changes.iter().any(|c| is_at_or_below(&c.path, path.as_bytes()));
    let rest = Rest {
        project: project.source.display().to_string(),
        synced: project.is_synced,
        omitted: comparison.omitted,
        unmatched: order.paths.iter().filter(matches).map(String::as_str).collect(),
    };
    write_line(out, &serde_json::json!({ "end": rest }))
}

/// Selects the changes that an order names, with renames found.
pub fn selected(state: &Path, project: &Project, record: &Record, order: &Order) -> Outcome<Comparison> {
    let mut comparison = compare(state, project, record)?;
    comparison.changes.retain(|change| order.wants(&change.path));
    renames::pair(&mut comparison)?;
    Ok(comparison)
}

pub fn tell<'a>(comparison: &Comparison, change: &'a Change, counts_lines: bool) -> Outcome<Listed<'a>> {
    let is_hidden = matches!(&change.verdict, Verdict::Refused(why) if why == "hidden");
    let looks_binary = |side: &Option<Side>, path: &[u8], root| match side {
        // A sandbox that runs may have removed it by now.
        Some(side) if side.node == Node::File && !is_hidden => contents::looks_binary(root, path).ok(),
        _ => None,
    };
    let binary = match (&comparison.layer, &change.new) {
        (Some(layer), Some(_)) => looks_binary(&change.new, &change.path, layer.as_fd()),
        _ => looks_binary(&change.old, &change.path, comparison.host.as_fd()),
    };
    let lines = if counts_lines && !is_hidden { count_lines(comparison, change)? } else { None };
    Ok(Listed {
        change: change.kind,
        path: shown(&change.path),
        from: change.from.as_deref().map(shown),
        new: change.new.as_ref().map(tell_side),
        old: change.old.as_ref().map(tell_side),
        binary,
        lines,
        conflict: match &change.verdict {
            Verdict::Conflict(why) => Some(why),
            _ => None,
        },
        refused: match &change.verdict {
            Verdict::Refused(why) => Some(why),
            _ => None,
        },
        review: change.awaits_review && matches!(change.verdict, Verdict::Ready | Verdict::Held),
    })
}

fn tell_side(side: &Side) -> ToldSide {
    let target = side.target.as_deref().map(shown);
    ToldSide { node: side.node, mode: side.stat.st_mode & 0o7777, size: side.size(), target }
}

pub fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

pub fn write_line(out: &mut impl Write, value: &impl Serialize) -> Outcome<()> {
    serde_json::to_writer(&mut *out, value).during("write the list")?;
    out.write_all(b"\n").during("write the list")
}
