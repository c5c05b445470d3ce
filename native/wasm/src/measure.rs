//! `ak-wasm measure COMPILED TIMES`: how long an instance of a compiled module takes to make, by the way of every call.
//! For benchmarks; not used by the product.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use ak_wire::payload::OpenExec;

use crate::call::{self, Ties};
use crate::compile::compile;
use crate::loaded::load;
use crate::outbox::Outbox;
use crate::requests::OpenLoad;

const MEMORY_MIB: usize = 1024;

pub fn main(mut words: impl Iterator<Item = String>) -> i32 {
    match (words.next(), words.next().and_then(|times| times.parse().ok())) {
        (Some(path), Some(times)) => match measure(&path, times) {
            Ok(report) => {
                println!("{report}");
                0
            }
            Err(reason) => {
                eprintln!("ak-wasm: {reason}");
                1
            }
        },
        _ => {
            eprintln!("use: ak-wasm measure MODULE.wasm TIMES");
            2
        }
    }
}

fn measure(path: &str, times: usize) -> Result<String, String> {
    let module = std::fs::read(path).map_err(|error| error.to_string())?;
    let compiled = compile(&module).map_err(|refusal| refusal.message)?;
    let directory = std::env::temp_dir().join(format!("ak-wasm-measure-{}", std::process::id()));
    std::fs::write(&directory, compiled).map_err(|error| error.to_string())?;
    let asked = OpenLoad {
        path: directory.to_string_lossy().into_owned(),
        memory_mib: MEMORY_MIB,
        directories: Vec::new(),
        interface: Default::default(),
    };
    let loaded = load(&asked).map_err(|refusal| refusal.message);
    let _ = std::fs::remove_file(&directory);
    let loaded = loaded?;
    let nowhere = File::options().write(true).open("/dev/null").map_err(|error| error.to_string())?;
    let outbox = Arc::new(Outbox::new(OwnedFd::from(nowhere)));
    let exec = OpenExec { argv: vec!["measured".to_owned()], ..OpenExec::default() };
    let mut taken: Vec<Duration> = Vec::with_capacity(times);
    for _ in 0..times {
        let ties = Ties::new(1, &outbox, false, u32::MAX >> 1);
        let done = call::run(&loaded, &exec, &ties).map_err(|error| format!("{error:#}"))?;
        taken.push(done.instantiated_in);
    }
    taken.sort();
    let at = |part: usize| taken.get(taken.len() * part / 100).map_or(0, Duration::as_nanos) as f64 / 1000.0;
    Ok(serde_json::json!({ "times": times, "median_us": at(50), "p90_us": at(90), "p99_us": at(99) }).to_string())
}
