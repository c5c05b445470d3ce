//! One call: a fresh instance, its streams, its end. Nothing of an instance is there for the next one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ak_wire::payload::{OpenExec, Usage};
use wasmtime::{Error, Result, Store, UpdateDeadline};
use wasmtime_wasi::{DirPerms, FilePerms, WasiCtxBuilder};

use crate::ending::{Ending, ending_of};
use crate::js;
use crate::kill::{Kill, Killed};
use crate::limits::Limits;
use crate::loaded::{Loaded, State};
use crate::requests::Interface;
use crate::streams::{Input, Output, Reader, Writer};
use crate::sys;

/// What a call is connected to.
#[derive(Clone)]
pub struct Ties {
    pub stdin: Arc<Input>,
    pub stdout: Arc<Output>,
    pub stderr: Arc<Output>,
    pub kill: Arc<Kill>,
}

pub struct Done {
    pub ending: Ending,
    pub usage: Usage,
    /// From nothing to an instance that can be called.
    pub instantiated_in: Duration,
    /// It asked for more memory than it may have.
    pub was_refused_memory: bool,
}

pub async fn run(loaded: &Loaded, asked: &OpenExec, ties: &Ties) -> Result<Done> {
    let before = sys::thread_usage();
    let started = Instant::now();
    let mut store = store_for(loaded, asked, ties)?;
    let mut instantiated_in = Duration::ZERO;
    let work = async {
        let instance = loaded.ready.instantiate_async(&mut store).await?;
        instantiated_in = started.elapsed();
        match loaded.interface {
            Interface::Wasi => {
                instance.get_typed_func::<(), ()>(&mut store, "_start")?.call_async(&mut store, ()).await
            }
            Interface::Js => js::run(&mut store, &instance).await,
        }
    };
    // What waits in one of our functions is dropped there; what computes finds the epoch changed.
    let result = tokio::select! {
        biased;
        result = work => result,
        () = ties.kill.wait() => Err(Error::new(Killed)),
    };
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
    let mut wasi = WasiCtxBuilder::new();
    wasi.stdin(Reader(ties.stdin.clone()))
        .stdout(Writer(ties.stdout.clone()))
        .stderr(Writer(ties.stderr.clone()))
        .allow_blocking_current_thread(true);
    let mut program = js::Program::default();
    match loaded.interface {
        Interface::Wasi => {
            wasi.args(&asked.argv);
        }
        Interface::Js => program = js::Program::new(asked, ties),
    }
    for (name, value) in &asked.env {
        wasi.env(name, value);
    }
    for folder in &loaded.folders {
        let (dirs, files) = permissions(folder.readonly);
        wasi.preopened_dir(&folder.path, &folder.path, dirs, files)?;
    }
    if let Some((path, readonly)) = working_folder(loaded, asked) {
        let (dirs, files) = permissions(readonly);
        wasi.preopened_dir(path, ".", dirs, files)?;
    }
    let state = State { wasi: wasi.build_p1(), limits: Limits::new(loaded.memory_bytes), js: program };
    let mut store = Store::new(&loaded.engine, state);
    store.limiter(|state| &mut state.limits);
    let kill = ties.kill.clone();
    store.epoch_deadline_callback(move |_| match kill.signal() {
        Some(_) => Err(Error::new(Killed)),
        None => Ok(UpdateDeadline::Continue(1)),
    });
    // Before anybody looks whether the call has been ended already: an end that comes now changes the epoch.
    store.set_epoch_deadline(1);
    match ties.kill.signal() {
        Some(_) => Err(Error::new(Killed)),
        None => Ok(store),
    }
}

/// WASI knows no working folder; the C library of modules takes what is opened as `.` for it. Links are followed
/// first, so that none leads out of what is shown.
fn working_folder(loaded: &Loaded, asked: &OpenExec) -> Option<(PathBuf, bool)> {
    let path = std::fs::canonicalize(asked.cwd.as_deref()?).ok()?;
    let folder = loaded.folders.iter().find(|folder| path.starts_with(&folder.path))?;
    Some((path, folder.readonly))
}

/// Where nothing is shown, nothing is missed.
pub fn has_working_folder(loaded: &Loaded, asked: &OpenExec) -> bool {
    asked.cwd.is_none() || loaded.folders.is_empty() || working_folder(loaded, asked).is_some()
}

fn permissions(readonly: bool) -> (DirPerms, FilePerms) {
    if readonly { (DirPerms::READ, FilePerms::READ) } else { (DirPerms::all(), FilePerms::all()) }
}
