//! JavaScript: QuickJS compiled to WebAssembly (the npm package quickjs-wasi), which is a library. This is the program
//! around it: it evaluates the first argument, then runs jobs and timers until there are none left. The engine is a
//! module like any other, with one function of ours more.

mod host;
mod machine;

use std::time::{Duration, Instant};

use ak_wire::payload::OpenExec;
use wasmtime::{Instance, Linker, Result, Store};

use crate::call::Ties;
use crate::loaded::State;
use machine::Machine;

const PRELUDE: &str = include_str!("prelude.js");
/// Awaiting at the top level is allowed.
const ASYNC: i32 = 1 << 7;
const PROGRAM: &str = "program.js";
/// The name of our own code in traces.
const OWN: &str = "prelude.js";
const FOLLOW: &str = "__run.follow(__outcome); delete globalThis.__outcome;";
const FAIL: &str = "__run.fail(__outcome);";
const TURN: &str = "__run.turn()";
/// The most text that a program may read at once.
const MAX_INPUT_BYTES: usize = 64 << 20;

/// Timers that are later than this are as good as none.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The state of our host functions.
#[derive(Default)]
pub struct Program {
    code: String,
    /// Arguments and variables, as JSON.
    about: String,
    ties: Option<Ties>,
}

impl Program {
    pub fn new(asked: &OpenExec, ties: &Ties) -> Self {
        let (code, rest) = asked.argv.split_first().map_or(("", [].as_slice()), |(code, rest)| (code.as_str(), rest));
        let argv: Vec<&str> = ["js", PROGRAM].into_iter().chain(rest.iter().map(String::as_str)).collect();
        let about = serde_json::json!({ "argv": argv, "env": asked.env }).to_string();
        Self { code: code.to_owned(), about, ties: Some(ties.clone()) }
    }
}

pub fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    host::add_to_linker(linker)
}

pub fn run(store: &mut Store<State>, instance: &Instance) -> Result<()> {
    let mut machine = Machine::start(store, instance)?;
    let code = std::mem::take(&mut machine.store.data_mut().js.code);
    machine.define_host_function("host", "__host")?;
    // Nothing of ours is there under a name while the program runs.
    let prelude = format!("{{ const host = __host; delete globalThis.__host; {PRELUDE}(host); }}");
    let ours = machine.eval_value(&prelude, OWN, 0)?;
    let outcome = machine.eval_value(&code, PROGRAM, ASYNC)?;
    machine.set_global("__run", ours.value)?;
    machine.set_global("__outcome", outcome.value)?;
    machine.eval(if outcome.is_exception { FAIL } else { FOLLOW }, OWN, 0)?;
    loop {
        machine.run_jobs()?;
        let idle = machine.eval_number(TURN)?;
        if machine.has_jobs()? {
            continue;
        }
        if idle < 0.0 {
            return Ok(());
        }
        let due = Instant::now() + Duration::from_millis(idle as u64).min(LONGEST);
        if let Some(Ties { kill, .. }) = &machine.store.data().js.ties {
            kill.wait_until(Some(due), || false)?;
        }
    }
}
