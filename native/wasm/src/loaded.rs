//! A compiled module, ready to be instantiated, with all that calls of it may use.

use std::path::Path;

use wasmtime::{Engine, ExternType, InstancePre, Linker, Module, Result};

use crate::compile::Refusal;
use crate::engine;
use crate::js;
use crate::limits::Limits;
use crate::requests::{Directory, Interface, OpenLoad};
use crate::wasi::{self, Wasi};

/// The state of an instance's host functions.
pub struct State {
    pub wasi: Wasi,
    pub limits: Limits,
    pub js: js::Program,
}

pub struct Loaded {
    pub engine: Engine,
    pub ready: InstancePre<State>,
    pub directories: Vec<Directory>,
    pub interface: Interface,
    pub memory_bytes: usize,
}

pub fn load(asked: &OpenLoad) -> Result<Loaded, Refusal> {
    let memory_bytes = asked.memory_mib << 20;
    let io = |error: wasmtime::Error| Refusal::new("io", format!("{error:#}"));
    let engine = engine::running(memory_bytes).map_err(io)?;
    let module = deserialize(&engine, Path::new(&asked.path))?;
    let mut linker = Linker::new(&engine);
    wasi::add_to_linker(&mut linker).map_err(io)?;
    let entry = match asked.interface {
        Interface::Wasi => "_start",
        Interface::Js => {
            js::add_to_linker(&mut linker).map_err(io)?;
            "_initialize"
        }
    };
    if !is_plain_function(&module, entry) {
        let message = format!("it is no command: it exports no function {entry} without arguments and results");
        return Err(Refusal::new("invalid", message));
    }
    let ready = linker.instantiate_pre(&module).map_err(|error| Refusal::new("invalid", format!("{error:#}")))?;
    Ok(Loaded { engine, ready, directories: asked.directories.clone(), interface: asked.interface, memory_bytes })
}

fn deserialize(engine: &Engine, path: &Path) -> Result<Module, Refusal> {
    if !path.is_file() {
        return Err(Refusal::new("io", "the compiled module is not there"));
    }
    // SAFETY: what is loaded must have been made by this engine. The host shows a directory of its own cache here, read
    // only, whose files come from `compile` alone; and whatever the code does, it does inside the jail, in a process
    // that serves this module and no other.
    let module = unsafe { Module::deserialize_file(engine, path) };
    module.map_err(|error| {
        let message = format!("{error:#}");
        // Another version of the engine, or another processor; anything else is the module's own doing.
        let is_stale = message.contains("compiled with") || message.contains("incompatible");
        Refusal::new(if is_stale { "stale" } else { "invalid" }, message)
    })
}

fn is_plain_function(module: &Module, name: &str) -> bool {
    matches!(module.get_export(name), Some(ExternType::Func(f)) if f.params().len() == 0 && f.results().len() == 0)
}
