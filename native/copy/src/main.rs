//! The host's end of a copy into or out of a sandbox. `ak-copy read ORDER` writes a file or directory to standard output as a
//! tree stream; `ak-copy write ORDER` makes files and directories of one from standard input, which is a sandbox's and so may
//! be anything, and prints a report. `ak-copy serve ORDER` answers requests for parts of a directory, which come on standard
//! input. `ak-copy hidden` reads its order from standard input and lists what of a directory is hidden from sandboxes, and
//! why. The order is a JSON object; a failure is one on standard error.

mod hidden;

use std::{
    env,
    io::{self, Read, Write},
    os::fd::AsFd,
    path::PathBuf,
    rc::Rc,
};

use ak_jail::spec::HideRule;
use ak_lazy::{host::Host, shown::Shown};
use ak_tree::{Destination, Failure, Limits, Links, Reader, Writer};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
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
#[serde(deny_unknown_fields)]
struct ServeOrder {
    path: PathBuf,
    hide: Vec<HideRule>,
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
        ["serve", order] => parse(order).and_then(|order| serve(&order)),
        ["hidden"] => hidden::tell(io::stdin(), io::stdout()),
        _ => {
            eprintln!("usage: ak-copy read|write|serve ORDER, ak-copy hidden <ORDER");
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
    if let Some(shown) = search(&reader, order)? {
        let (by_path, by_content) = (Rc::clone(&shown), Rc::clone(&shown));
        reader.send_instead(Box::new(move |path| shown.instead(path)?.try_clone_to_owned().ok()));
        // Files that appeared or moved since the search are judged again as they are sent.
        reader.skip_by(Box::new(move |path| by_path.hides(path).then_some(HIDDEN)));
        reader.judge_by(Box::new(move |path, file| by_content.holds_secret(path, file).then_some(HIDDEN)));
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

/// A directory is searched as a project is; a file that is named is meant.
fn search(reader: &Reader, order: &ReadOrder) -> Result<Option<Rc<Shown>>, Failure> {
    let Some(root) = reader.root().filter(|_| !order.hide.is_empty()) else { return Ok(None) };
    if !fstat(root).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory) {
        return Ok(None);
    }
    let shown = Shown::of(root, &order.hide).map_err(|fault| Failure::new("io", fault.message))?;
    Ok(Some(Rc::new(shown)))
}

/// Answers the requests of a guest that shows a directory lazily, until it hangs up.
fn serve(order: &ServeOrder) -> Result<(), Failure> {
    let root = open(&order.path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| Failure::at(order.path.display(), errno))?;
    let shown = Shown::of(root.as_fd(), &order.hide).map_err(|fault| Failure::new("io", fault.message))?;
    let served = Host::new(root, shown).serve(&mut io::stdin().lock(), &mut io::stdout().lock());
    match served {
        // The sandbox ended while it was being answered.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        served => served.map_err(|e| Failure::new("io", format!("answer the sandbox: {e}"))),
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
