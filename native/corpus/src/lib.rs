//! Replays what the fuzzers keep (`test/fuzz/corpus`): seeds, and inputs that once went wrong. Only tests use it. A replay
//! is bounded by number and size, so that each takes moments in a debug build on a busy machine.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
};

pub const MOST_INPUTS: usize = 200;
pub const MOST_BYTES: usize = 16 << 10;

/// Hands every kept input of a target to `run`, which panics where one goes wrong.
pub fn replay(target: &str, run: impl Fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test/fuzz/corpus").join(target);
    for (path, input) in inputs(&directory) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(&input))) {
            eprintln!("the input that goes wrong: {}", path.display());
            resume_unwind(panic);
        }
    }
}

fn inputs(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let listed = fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let mut paths: Vec<PathBuf> = listed.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} has no inputs", directory.display());
    assert!(paths.len() <= MOST_INPUTS, "{} has more than {MOST_INPUTS} inputs", directory.display());
    let read = |path: PathBuf| {
        let input = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(input.len() <= MOST_BYTES, "{} has more than {MOST_BYTES} bytes", path.display());
        (path, input)
    };
    paths.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn every_input_is_handed_on_and_a_panic_is_passed_on() {
        let seen = Cell::new(0);
        replay("wire-frames", |_| seen.set(seen.get() + 1));
        assert!(seen.get() > 0);
        assert!(catch_unwind(|| replay("wire-frames", |_| panic!("wrong"))).is_err());
        assert!(catch_unwind(|| replay("no-such-target", |_| {})).is_err());
    }
}
