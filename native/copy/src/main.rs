//! The host's end of a copy into or out of a sandbox. `ak-copy read ORDER` writes a file or directory to standard output as a
//! tree stream; `ak-copy write ORDER` makes files and directories of one from standard input, which is a sandbox's and so may
//! be anything, and prints a report. `ak-copy hidden` reads its order from standard input and lists what of a directory
//! is hidden from sandboxes, and why. The order is a JSON object; a failure is one on standard error.

mod hidden;

use std::{
    collections::{HashMap, HashSet},
    env,
    io::{self, Read, Write},
    os::fd::{BorrowedFd, OwnedFd},
    path::PathBuf,
};

use ak_jail::{
    git::{
        config::cleaned,
        work_trees::{WorkTree, in_memory},
    },
    spec::HideRule,
    view::{
        matcher::{Match, Matcher},
        rules::Rules,
        survey::Survey,
    },
};
use ak_secrets::Sample;
use ak_tree::{Destination, Failure, Limits, Links, Reader, Writer};
use rustix::fs::{FileType, fstat};
use serde::{Deserialize, de::DeserializeOwned};

const DONE: i32 = 0;
const FAILED: i32 = 1;
const MISUSED: i32 = 2;
const PORTION: usize = 256 << 10;
const HIDDEN: &str = "hidden; name it to copy it";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReadOrder {
    path: PathBuf,
    /// Rules for files to leave out of a directory: the user's secrets.
    hide: Vec<HideRule>,
    /// Whether the receiver understands holes in files.
    #[serde(default)]
    holes: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WriteOrder {
    path: PathBuf,
    name: String,
    contents: bool,
    max_bytes: u64,
    max_entries: u64,
}

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["read", order] => parse(order).and_then(|order| read(&order)),
        ["write", order] => parse(order).and_then(write),
        ["hidden"] => hidden::tell(io::stdin(), io::stdout()),
        _ => {
            eprintln!("usage: ak-copy read|write ORDER, ak-copy hidden <ORDER");
            std::process::exit(MISUSED);
        }
    };
    std::process::exit(match done {
        Ok(()) => DONE,
        Err(Failure { code, message }) => {
            eprintln!("{}", serde_json::json!({ "code": code, "message": message }));
            FAILED
        }
    });
}

fn parse<T: DeserializeOwned>(order: &str) -> Result<T, Failure> {
    serde_json::from_str(order).map_err(|e| Failure::new("invalid", format!("the order: {e}")))
}

fn read(order: &ReadOrder) -> Result<(), Failure> {
    let mut reader = Reader::open(&order.path, Box::new(|_| None))?;
    if order.holes {
        reader = reader.telling_holes();
    }
    if let Some(Search { rules, hidden, indexes }) = search(&reader, order)? {
        let others: HashSet<Vec<u8>> = indexes.keys().cloned().collect();
        reader.send_instead(Box::new(move |path| indexes.get(path)?.try_clone().ok()));
        // Files that appeared or moved since the search are judged again as they are sent.
        reader.skip_by(Box::new(move |path| (hidden.contains(path) || is_hidden(rules, path)).then_some(HIDDEN)));
        reader.judge_by(Box::new(move |path, file| {
            (!others.contains(path) && holds_secret(rules, path, file)).then_some(HIDDEN)
        }));
    }
    let mut out = io::stdout().lock();
    let mut portion = Vec::with_capacity(2 * PORTION);
    loop {
        portion.clear();
        let has_more = reader.fill(&mut portion, PORTION);
        out.write_all(&portion).and_then(|()| out.flush()).map_err(|e| Failure::new("io", format!("send it: {e}")))?;
        if !has_more {
            return Ok(());
        }
    }
}

struct Search {
    rules: &'static Rules<'static>,
    /// The paths to leave out.
    hidden: HashSet<Vec<u8>>,
    /// Files of git that are sent otherwise: indexes in which that is marked, so that git does not take it for deleted, and
    /// configurations without passwords.
    indexes: HashMap<Vec<u8>, OwnedFd>,
}

/// A directory is searched as a project is; a file that is named is meant.
fn search(reader: &Reader, order: &ReadOrder) -> Result<Option<Search>, Failure> {
    let Some(root) = reader.root().filter(|_| !order.hide.is_empty()) else { return Ok(None) };
    if !fstat(root).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory) {
        return Ok(None);
    }
    // For as long as the program, which does this once.
    let hide: &'static Matcher = Box::leak(Box::new(Matcher::hiding(&order.hide)));
    let protect: &'static Matcher = Box::leak(Box::new(Matcher::of(&[])));
    let rules: &'static Rules<'static> = Box::leak(Box::new(Rules::new(hide, protect)));
    let survey = Survey::of(root, root, rules).map_err(|fault| Failure::new("io", fault.message))?;
    let mut indexes = HashMap::new();
    for tree in WorkTree::of(root, &survey) {
        let marked = tree.marked_index(root).map_err(|fault| Failure::new("io", fault.message))?;
        indexes.extend(marked.map(|marked| (tree.index(), marked)));
    }
    let mut hidden: HashSet<Vec<u8>> = survey.hidden.into_iter().map(|hit| hit.path).collect();
    for path in survey.cleaned {
        let made = cleaned(root, &path).map(|text| in_memory(&text)).transpose();
        match made.map_err(|fault| Failure::new("io", fault.message))? {
            Some(text) => drop(indexes.insert(path, text)),
            None => drop(hidden.insert(path)),
        }
    }
    Ok(Some(Search { rules, hidden, indexes }))
}

fn verdict<'a>(rules: &'a Rules<'a>, path: &[u8]) -> Match<'a> {
    let (directory, name) = path.split_at(path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1));
    if rules.concern(name) { rules.hide.matches(directory, name) } else { Match::No }
}

fn is_hidden(rules: &Rules<'_>, path: &[u8]) -> bool {
    matches!(verdict(rules, path), Match::Yes)
}

fn holds_secret(rules: &Rules<'_>, path: &[u8], file: BorrowedFd<'_>) -> bool {
    match verdict(rules, path) {
        Match::IfHolding(tests) => tests.settle(Sample::of(file)).is_some(),
        Match::Yes | Match::No => false,
    }
}

fn write(order: WriteOrder) -> Result<(), Failure> {
    let WriteOrder { path, name, contents, max_bytes, max_entries } = order;
    let destination = Destination { path, name: name.into_bytes(), contents };
    let mut writer = Writer::new(destination, Links::Inside, Limits { bytes: max_bytes, entries: max_entries });
    let mut input = io::stdin().lock();
    let mut portion = vec![0; PORTION];
    loop {
        match input.read(&mut portion) {
            Ok(0) => break,
            Ok(count) => writer.push(&portion[..count])?,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Failure::new("io", format!("receive it: {e}"))),
        }
    }
    let report = writer.finish()?;
    println!("{}", serde_json::to_string(&report).map_err(|e| Failure::new("io", e))?);
    Ok(())
}
