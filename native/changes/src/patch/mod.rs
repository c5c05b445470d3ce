//! The changes as a patch that `git apply` takes. What git could not apply is left out and named on standard error: files
//! that are refused, what lies in a `.git` directory, and files too large to be written as text.

mod binary;
mod quote;
mod unified;

use std::{
    io::Write,
    os::fd::{AsFd, BorrowedFd},
    path::Path,
};

use ak_jail::{
    fault::{During, Outcome},
    keep::project::Project,
};
use sha1::{Digest, Sha1};

use crate::{
    change::{Change, Kind, Node, Side, Verdict},
    compare::Comparison,
    contents,
    list::selected,
    order::Order,
    record::Record,
};
use quote::quoted;

/// Larger ones are said to differ, no more.
const MAX_BYTES: u64 = 32 << 20;
const NO_FILE: &str = "0000000000000000000000000000000000000000";

pub fn patch(state: &Path, order: &Order, out: &mut impl Write) -> Outcome<()> {
    let project = Project::of(state)?;
    let comparison = selected(state, &project, &Record::read(state)?, order)?;
    for change in comparison.changes.iter().filter(|change| !change.is_directory()) {
        let left_out = match &change.verdict {
            Verdict::Refused(why) => Some(why.as_str()),
            _ if is_of_git(&change.path) => Some("git applies nothing to its own directory"),
            _ => None,
        };
        match left_out {
            Some(why) => eprintln!("not in the patch: {}: {why}", quoted("", &change.path)),
            None => write_change(&comparison, change, out)?,
        }
    }
    if comparison.omitted > 0 {
        eprintln!("not in the patch: {} more changes", comparison.omitted);
    }
    Ok(())
}

fn is_of_git(path: &[u8]) -> bool {
    path.split(|&b| b == b'/').any(|name| name.eq_ignore_ascii_case(b".git"))
}

/// One side as git has it.
struct Blob {
    mode: &'static str,
    /// None where it is too large.
    content: Option<Vec<u8>>,
}

fn write_change(comparison: &Comparison, change: &Change, out: &mut impl Write) -> Outcome<()> {
    let (old, new) = match blobs(comparison, change) {
        Ok(blobs) => blobs,
        Err(fault) => {
            // A sandbox that runs may have removed it by now.
            eprintln!("not in the patch: {}: {}", quoted("", &change.path), fault.message);
            return Ok(());
        }
    };
    let before = change.from.as_deref().unwrap_or(&change.path);
    match (old, new) {
        // Git has no patch from a file to a link.
        (Some(old), Some(new)) if old.is_link() != new.is_link() => write_one(change, before, Some(old), None, out)
            .and_then(|()| write_one(change, before, None, Some(new), out)),
        (old, new) => write_one(change, before, old, new, out),
    }
    .during("write the patch")
}

fn write_one(
    change: &Change,
    before: &[u8],
    old: Option<Blob>,
    new: Option<Blob>,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let (a, b) = (quoted("a/", before), quoted("b/", &change.path));
    let modes = (old.as_ref().map(|blob| blob.mode), new.as_ref().map(|blob| blob.mode));
    let empty = Some(Vec::new());
    let content = |blob: Option<Blob>| blob.map_or(empty.clone(), |blob| blob.content);
    let ids = (id_of(old.as_ref()), id_of(new.as_ref()));
    let (old, new) = (content(old), content(new));
    let is_same = change.kind == Kind::Renamed || old.is_some() && old == new && modes.0.is_some() && modes.1.is_some();
    if is_same && modes.0 == modes.1 && change.kind != Kind::Renamed {
        // Only bits that git does not know differ.
        return Ok(());
    }
    writeln!(out, "diff --git {a} {b}")?;
    match modes {
        (Some(old), Some(new)) if old != new => writeln!(out, "old mode {old}\nnew mode {new}")?,
        (None, Some(new)) => writeln!(out, "new file mode {new}")?,
        (Some(old), None) => writeln!(out, "deleted file mode {old}")?,
        _ => {}
    }
    if change.kind == Kind::Renamed {
        let (from, to) = (quoted("", before), quoted("", &change.path));
        writeln!(out, "similarity index 100%\nrename from {from}\nrename to {to}")?;
    }
    if is_same {
        return Ok(());
    }
    let mode = modes.0.filter(|_| modes.0 == modes.1).map(|mode| format!(" {mode}")).unwrap_or_default();
    writeln!(out, "index {}..{}{mode}", ids.0, ids.1)?;
    let a = if modes.0.is_some() { a } else { "/dev/null".into() };
    let b = if modes.1.is_some() { b } else { "/dev/null".into() };
    match (old, new) {
        (Some(old), Some(new)) if contents::is_binary(&old) || contents::is_binary(&new) => binary::write(&new, out),
        (Some(old), Some(new)) => unified::write((&a, &old), (&b, &new), out),
        _ => {
            eprintln!("not in the patch: {}: larger than {} MiB", quoted("", &change.path), MAX_BYTES >> 20);
            writeln!(out, "Binary files {a} and {b} differ")
        }
    }
}

impl Blob {
    fn of(root: BorrowedFd<'_>, path: &[u8], side: &Side) -> Outcome<Self> {
        let mode = match side.node {
            Node::Link => "120000",
            _ if side.mode() & 0o100 != 0 => "100755",
            _ => "100644",
        };
        let content = match (&side.target, side.size() <= MAX_BYTES) {
            (Some(target), _) => Some(target.clone()),
            (None, true) => {
                let (file, _) = contents::open_file(root, path)?;
                Some(contents::read_start(&file, MAX_BYTES as usize)?)
            }
            (None, false) => None,
        };
        Ok(Self { mode, content })
    }

    fn is_link(&self) -> bool {
        self.mode == "120000"
    }
}

fn blobs(comparison: &Comparison, change: &Change) -> Outcome<(Option<Blob>, Option<Blob>)> {
    let before = change.from.as_deref().unwrap_or(&change.path);
    let old = change.old.as_ref().map(|side| Blob::of(comparison.host.as_fd(), before, side)).transpose()?;
    let new = match (&comparison.layer, &change.new) {
        (Some(layer), Some(side)) => Some(Blob::of(layer.as_fd(), &change.path, side)?),
        _ => None,
    };
    Ok((old, new))
}

/// Lines that come and go; none for what is no text.
pub fn count_lines(comparison: &Comparison, change: &Change) -> Outcome<Option<(usize, usize)>> {
    if change.is_directory()
        || change.kind == Kind::Renamed
        || !matches!(&change.verdict, Verdict::Ready | Verdict::Conflict(_))
    {
        return Ok(None);
    }
    // A sandbox that runs may have removed it by now.
    let Ok((old, new)) = blobs(comparison, change) else { return Ok(None) };
    let content = |blob: Option<Blob>| blob.map_or(Some(Vec::new()), |blob| blob.content);
    Ok(match (content(old), content(new)) {
        (Some(old), Some(new)) if !contents::is_binary(&old) && !contents::is_binary(&new) => {
            Some(unified::count(&old, &new))
        }
        _ => None,
    })
}

/// Git's name for a content.
fn id_of(blob: Option<&Blob>) -> String {
    let Some(content) = blob.and_then(|blob| blob.content.as_ref()) else { return NO_FILE.into() };
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
