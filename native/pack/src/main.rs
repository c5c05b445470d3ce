//! `ak-pack -- DIRECTORY` writes a directory to standard output as the one layer of an image: a tar archive that is the same
//! for the same files, with owners, modes, links and the extended attributes that an image may carry. What an image
//! cannot carry is left out and named on standard error, one line each: `skipped KIND PATH`. It follows no link and
//! leaves no filesystem, so it reads nothing but the directory.

mod walk;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let [dashes, directory] = words.as_slice() else {
        eprintln!("usage: ak-pack -- DIRECTORY");
        return ExitCode::from(2);
    };
    if dashes != "--" {
        eprintln!("usage: ak-pack -- DIRECTORY");
        return ExitCode::from(2);
    }
    let out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let skip = |kind: &str, path: &[u8]| eprintln!("skipped {kind} {}", walk::shown(path));
    match walk::pack(directory, out, skip).and_then(|mut out| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
