//! One call: a fresh instance, its streams, its end. Nothing of an instance is there for the next one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ak_wire::payload::{OpenExec, Usage};
use wasmtime::{Error, Result, Store, UpdateDeadline};

use crate::bell::Bell;
use crate::ending::{Ending, ending_of};
use crate::js;
use crate::kill::{Kill, Killed};
use crate::limits::Limits;
use crate::loaded::{Loaded, State};
use crate::outbox::Outbox;
use crate::requests::Interface;
use crate::streams::{Input, Output};
use crate::sys;
use crate::wasi::{Streams, Wasi};

/// The connections of a call.
#[derive(Clone)]
pub struct Ties {
    pub stdin: Arc<Input>,
    pub stdout: Arc<Output>,
    pub stderr: Arc<Output>,
    pub kill: Arc<Kill>,
}

impl Ties {
    pub fn new(channel: u32, outbox: &Arc<Outbox>, has_input: bool, window: u32) -> Self {
        let bell = Arc::new(Bell::default());
        Self {
            stdin: Input::new(channel, outbox.clone(), has_input, bell.clone()),
            stdout: Output::new(channel, 1, outbox.clone(), window, bell.clone()),
            stderr: Output::new(channel, 2, outbox.clone(), window, bell.clone()),
            kill: Arc::new(Kill::new(bell)),
        }
    }
}

pub struct Done {
    pub ending: Ending,
    pub usage: Usage,
    /// From nothing to an instance that can be called.
    pub instantiated_in: Duration,
    /// It asked for more memory than it may have.
    pub was_refused_memory: bool,
}

pub fn run(loaded: &Loaded, asked: &OpenExec, ties: &Ties) -> Result<Done> {
    let before = sys::thread_usage();
    let started = Instant::now();
    let mut store = store_for(loaded, asked, ties)?;
    let mut instantiated_in = Duration::ZERO;
    let result = loaded.ready.instantiate(&mut store).and_then(|instance| {
        instantiated_in = started.elapsed();
        match loaded.interface {
            Interface::Wasi => instance.get_typed_func::<(), ()>(&mut store, "_start")?.call(&mut store, ()),
            Interface::Js => js::run(&mut store, &instance),
        }
    });
    let after = sys::thread_usage();
    let limits = &store.data().limits;
    let usage = Usage {
        user_us: after.user_us - before.user_us,
        system_us: after.system_us - before.system_us,
        max_rss_kib: (limits.peak_bytes >> 10) as u64,
    };
    let was_refused_memory = limits.was_refused;
    Ok(Done { ending: ending_of(result), usage, instantiated_in, was_refused_memory })
}

fn store_for(loaded: &Loaded, asked: &OpenExec, ties: &Ties) -> Result<Store<State>> {
    let (args, program) = match loaded.interface {
        Interface::Wasi => (asked.argv.clone(), js::Program::default()),
        Interface::Js => (Vec::new(), js::Program::new(asked, ties)),
    };
    let variables = asked.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let Ties { stdin, stdout, stderr, kill, .. } = ties.clone();
    let mut wasi = Wasi::new(args, variables, Streams { stdin, stdout, stderr, kill });
    for directory in &loaded.directories {
        wasi.preopen(Path::new(&directory.path), &directory.path, directory.readonly)?;
    }
    if let Some((path, readonly)) = working_directory(loaded, asked) {
        wasi.preopen(&path, ".", readonly)?;
    }
    let state = State { wasi, limits: Limits::new(loaded.memory_bytes), js: program };
    let mut store = Store::new(&loaded.engine, state);
    store.limiter(|state| &mut state.limits);
    let kill = ties.kill.clone();
    store.epoch_deadline_callback(move |_| match kill.signal() {
        Some(_) => Err(Error::new(Killed)),
        None => Ok(UpdateDeadline::Continue(1)),
    });
    // Before the check whether the call has been ended already: an end that comes now changes the epoch.
    store.set_epoch_deadline(1);
    match ties.kill.signal() {
        Some(_) => Err(Error::new(Killed)),
        None => Ok(store),
    }
}

/// WASI knows no working directory; the C library of modules takes what is opened as `.` for it. Links are followed
/// first, so that none leads out of what is shown.
fn working_directory(loaded: &Loaded, asked: &OpenExec) -> Option<(PathBuf, bool)> {
    let path = std::fs::canonicalize(asked.cwd.as_deref()?).ok()?;
    // A directory may lie in another one; the nearest counts.
    let around = loaded.directories.iter().filter(|directory| path.starts_with(&directory.path));
    let directory = around.max_by_key(|directory| directory.path.len())?;
    Some((path, directory.readonly))
}

/// Where nothing is shown, nothing is missed.
pub fn has_working_directory(loaded: &Loaded, asked: &OpenExec) -> bool {
    asked.cwd.is_none() || loaded.directories.is_empty() || working_directory(loaded, asked).is_some()
}
