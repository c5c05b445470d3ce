//! `ak-probe <layer>|all`: proves isolation layers by using them.
//!
//! Owns nothing beyond one run: every probe lives in a forked child with a deadline, and must leave no
//! process, mount, cgroup or file behind. It never decides by looking whether a file exists or what a
//! setting says; those are read only to explain a failure that was already seen.
//!
//! One JSON line per layer: `{"layer","ok","detail","hint","ms"}`. `hint` is there only when something can be
//! repaired: a line that is not ok and has no hint names a layer that is not needed here.
//! Exit status: 0 when every layer was decided, 1 when the answer could not be written, 2 on wrong usage.

mod namespace;
mod probes;
mod process;
mod report;
mod runner;
mod userns_hint;

use std::io::Write;
use std::process::ExitCode;

use probes::{LAYERS, Layer};

fn usage() -> ExitCode {
    let names: Vec<&str> = LAYERS.iter().map(|layer| layer.name).collect();
    eprintln!("usage: ak-probe all | {}", names.join(" | "));
    ExitCode::from(2)
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(wanted), None) = (arguments.next(), arguments.next()) else {
        return usage();
    };
    let chosen: Vec<&Layer> = match wanted.as_str() {
        "all" => LAYERS.iter().collect(),
        name => LAYERS.iter().chain(probes::TEST_HOOKS).filter(|layer| layer.name == name).collect(),
    };
    if chosen.is_empty() {
        return usage();
    }
    let mut stdout = std::io::stdout().lock();
    let mut write =
        |line: &report::Line| writeln!(stdout, "{}", serde_json::to_string(line)?).and_then(|()| stdout.flush());
    match runner::run(&chosen, &mut write) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ak-probe: {error}");
            ExitCode::FAILURE
        }
    }
}
