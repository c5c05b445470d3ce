//! `ak-wasm`, process 1 of a sandbox that runs WebAssembly and nothing else.
//!
//! It serves the guest protocol on descriptor 3, as `ak-guest` does, and either compiles one module, or loads one
//! compiled module and calls it as often as it is asked, each time in a fresh instance. It starts no process, decides
//! nothing about policy, and holds nothing that the module must not have: it stands inside the jail's walls.

mod bell;
mod call;
mod compile;
mod ending;
mod engine;
mod js;
mod kill;
mod limits;
mod loaded;
mod measure;
mod outbox;
mod requests;
mod server;
mod streams;
mod sys;
mod wasi;
mod work;

use std::io;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, WaitOptions, set_dumpable_behavior, wait};

use server::{End, Server};

fn main() {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some("measure") {
        std::process::exit(measure::main(words));
    }
    let code = match serve() {
        Ok(End::StreamEnded) => 1,
        Ok(End::Violation) => 2,
        Err(_) => 3,
    };
    // Whatever is still being computed ends with the process.
    sys::exit_now(code)
}

fn serve() -> io::Result<End> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let mut stream = sys::take_inherited()?;
    if std::env::args_os().skip(1).any(|word| word == "warm") {
        stream = ak_wire::host_socket::await_host(stream)?;
        // The process that put the caller's directories in place is about to end, and has rights that no other process
        // in here has.
        reap_all();
    }
    fcntl_setfl(&stream, fcntl_getfl(&stream)? - OFlags::NONBLOCK)?;
    Ok(Server::new(stream)?.run())
}

/// Waits until there is no child any more.
fn reap_all() {
    while matches!(wait(WaitOptions::empty()), Ok(_) | Err(Errno::INTR)) {}
}
