//! Finds what is hidden from sandboxes in a directory, with the reason; or whether a single file is.

use std::{
    fs::File,
    io::{Read, Write},
    os::{fd::AsFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
};

use ak_jail::{
    git::work_trees::WorkTree,
    spec::HideRule,
    view::{
        matcher::{Match, Matcher},
        rules::Rules,
        survey::Survey,
    },
};
use ak_secrets::Sample;
use ak_tree::Failure;
use rustix::fs::{Mode, OFlags, open};
use serde::{Deserialize, Serialize};

const MAX_ORDER: u64 = 4 << 20;
const LISTED: usize = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    path: PathBuf,
    hide: Vec<HideRule>,
}

#[derive(Serialize)]
struct Hidden {
    path: String,
    reason: String,
}

pub fn tell(order: impl Read, mut out: impl Write) -> Result<(), Failure> {
    let mut text = Vec::new();
    order.take(MAX_ORDER).read_to_end(&mut text).map_err(|e| Failure::new("io", format!("read the order: {e}")))?;
    let order: Order = serde_json::from_slice(&text).map_err(|e| Failure::new("invalid", format!("the order: {e}")))?;
    let hide = Matcher::hiding(&order.hide);
    let (all, tracked) =
        if order.path.is_dir() { in_directory(&order.path, &hide)? } else { (of_file(&order.path, &hide)?, 0) };
    let omitted = all.len().saturating_sub(LISTED);
    let hidden: Vec<Hidden> = all.into_iter().take(LISTED).collect();
    let answer = serde_json::json!({ "hidden": hidden, "omitted": omitted, "tracked": tracked });
    writeln!(out, "{answer}").map_err(|e| Failure::new("io", e))
}

fn in_directory(path: &Path, hide: &Matcher) -> Result<(Vec<Hidden>, usize), Failure> {
    let root = open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| Failure::at(path.display(), errno))?;
    let protect = Matcher::of(&[]);
    let survey = Survey::of(root.as_fd(), root.as_fd(), &Rules::new(hide, &protect))
        .map_err(|fault| Failure::new("io", fault.message))?;
    let hidden = survey
        .secrets()
        .map(|(path, reason)| Hidden { path: String::from_utf8_lossy(path).into_owned(), reason: reason.to_owned() });
    let tracked = WorkTree::of(root.as_fd(), &survey).iter().map(|tree| tree.tracked(root.as_fd())).sum();
    Ok((hidden.collect(), tracked))
}

/// Rules are held against the whole path, as the caller's are.
fn of_file(path: &Path, hide: &Matcher) -> Result<Vec<Hidden>, Failure> {
    let bytes = path.as_os_str().as_bytes();
    let bytes = bytes.strip_prefix(b"/").unwrap_or(bytes);
    let (directory, name) = bytes.split_at(bytes.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1));
    let reason = match hide.matches(directory, name) {
        Match::No => None,
        Match::Yes => Some(hide.reason(directory, name).unwrap_or_default().to_owned()),
        Match::IfHolding(tests) => {
            let sample = File::open(path).and_then(|file| Sample::of(file.as_fd()));
            tests.settle(sample).map(str::to_owned)
        }
    };
    Ok(reason.map(|reason| Hidden { path: path.display().to_string(), reason }).into_iter().collect())
}
