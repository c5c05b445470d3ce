//! `ak-changes VERB STATE` tells what a kept sandbox changed in its copy of a project, and takes it over when it is told
//! to; the order is one JSON object on standard input. `list` prints a JSON object for each change, `patch` a patch that
//! git understands, `apply` changes the project and prints a report.
//!
//! Every name and byte of the layer is the sandbox's choice: no link is followed on either side, nothing that is hidden
//! on the host is opened, and what is read, compared and listed is bounded.

use std::{
    env,
    io::{self, BufWriter, Write},
    path::Path,
};

use ak_changes::{Order, apply, list, patch};
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
        _ => {
            eprintln!("usage: ak-changes list|patch|apply STATE (order on descriptor 0)");
            MISUSED
        }
    };
    std::process::exit(status);
}

/// A failure is one line of JSON on standard error.
fn obey(verb: &str, state: &Path) -> i32 {
    let done = Order::read(io::stdin()).and_then(|order| with_all_ids(|| serve(verb, state, &order)));
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
