//! `ak-changes VERB STATE` finds the changes of a kept sandbox to its copy of a project, and applies them on request.
//! The order is one JSON object on standard input. `list` prints a JSON object for each change, `patch` a patch that
//! git understands, `apply` changes the project and prints a report.
//!
//! Where a project was copied into a container there is no layer on the host. `begin` records the copy, `receive` makes
//! a layer of the container's report on standard input, `carry` applies it to the project as `sync` does, and `forget`
//! removes it.
//!
//! Every name and byte of the layer is the sandbox's choice: no symlink is followed on either side, no file that is
//! hidden on the host is opened, and reading, comparing and listing are bounded.

use std::{
    env,
    io::{self, BufWriter, Write},
    path::Path,
};

use ak_changes::{Order, apply, begin, carry, forget, list, patch, receive};
use ak_jail::{
    fault::{Fault, Outcome},
    keep::with_all_ids,
};

const DONE: i32 = 0;
const FAILED: i32 = 1;
const MISUSED: i32 = 2;

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let status = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [verb @ ("list" | "patch" | "apply"), state] => obey(verb, Path::new(state)),
        ["begin", state] => finished(begin(Path::new(state), io::stdin())),
        ["receive", state, max_bytes] => match max_bytes.parse() {
            Ok(max_bytes) => finished(with_all_ids(|| receive(Path::new(state), max_bytes, io::stdin()))),
            Err(_) => MISUSED,
        },
        ["forget", state] => finished(with_all_ids(|| forget(Path::new(state)))),
        ["carry", state] => finished(with_all_ids(|| carry(Path::new(state), &mut io::stdout()))),
        _ => {
            eprintln!("usage: ak-changes list|patch|apply|begin|carry|forget STATE (order on descriptor 0)");
            eprintln!("       ak-changes receive STATE MAX-BYTES (changes on descriptor 0)");
            MISUSED
        }
    };
    std::process::exit(status);
}

fn obey(verb: &str, state: &Path) -> i32 {
    finished(Order::read(io::stdin()).and_then(|order| with_all_ids(|| serve(verb, state, &order))))
}

/// A failure is one line of JSON on standard error.
fn finished(done: Outcome<()>) -> i32 {
    match done {
        Ok(()) => DONE,
        Err(fault) => {
            eprintln!("{}", serde_json::to_string(&fault).unwrap_or_else(|_| fault.to_string()));
            FAILED
        }
    }
}

fn serve(verb: &str, state: &Path, order: &Order) -> Outcome<()> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    match verb {
        "list" => list(state, order, &mut out),
        "patch" => patch(state, order, &mut out),
        _ => apply(state, order, &mut out),
    }?;
    out.flush().map_err(|e| Fault::new("internal", format!("nobody takes the answer: {e}")))
}
