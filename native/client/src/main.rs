//! The `agentkernel` that users call. Where a daemon of theirs is up, it serves the command line and this forwards
//! words, environment, streams and signals; otherwise this becomes the command line that does everything by itself.
//! It knows no verbs and no options, and decides nothing; what a release answers always alike it reads from a file.

// Rust's own start-up looks for its stack in /proc and sets handlers that this program does not use.
#![cfg_attr(not(test), no_main)]

mod daemon_socket;
mod frame;
#[cfg(test)]
mod fuzzed;
mod handshake;
mod input;
mod installation;
mod output;
mod relay;
mod session;
mod signals;
mod standard_streams;
mod start;
mod terminal;

use std::env;
use std::ffi::{OsString, c_char, c_int};
use std::process::exit;

use ak_sys::heap::Heap;
use installation::Installation;
use relay::Relay;
use session::{End, Session};
use signals::Signals;

#[global_allocator]
static HEAP: Heap = Heap;

/// The status of a failure of agentkernel's own.
const OWN_FAILURE: i32 = 125;

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn main(count: c_int, words: *const *const c_char) -> i32 {
    // SAFETY: they come from the C library as they are.
    let words = unsafe { ak_sys::args::of_main(count, words) };
    // Before anything is opened that could take their place.
    standard_streams::fill_gaps();
    // A reader that is gone is an error to tell the daemon of, not the end of this.
    signals::ignore_broken_pipes();
    let installation = match Installation::find() {
        Ok(found) => found,
        Err(error) => fail(&format!("this program's own place is not known: {error}"), "mount /proc"),
    };
    let relay = Relay::find();
    if relay.is_none() && installation.answer(&words) {
        exit(0)
    }
    let answer = match through_daemon(&installation, relay.as_ref(), &words) {
        Ok(end) => finish(end),
        Err(answer) => answer,
    };
    if let Some(relay) = relay {
        relay.decline(&answer);
        exit(OWN_FAILURE)
    }
    let why = installation.become_embedded(&words);
    fail(&why, "install Node.js, or name it with AGENTKERNEL_NODE")
}

fn finish(end: End) -> ! {
    terminal::restore();
    match end {
        End::Status(status) => exit(i32::from(status)),
        End::Signal(signal) => signals::die_by(signal),
        End::Lost { words: Some(words), .. } => {
            eprintln!("{words}");
            exit(OWN_FAILURE)
        }
        End::Lost { why, words: None } => fail(
            &format!("the daemon ended before this was over, and the command with it ({why})"),
            "run it again; agentkernel daemon status says whether a daemon is up, and where its log is",
        ),
    }
}

/// Where no daemon serves this: its answer, if there was one. Nothing has been read or written then.
fn through_daemon(installation: &Installation, relay: Option<&Relay>, words: &[OsString]) -> Result<End, Vec<u8>> {
    if relay.is_none() && env::var_os("AGENTKERNEL_DAEMON").is_some_and(|value| value == "off") {
        return Err(Vec::new());
    }
    let (mut socket, directory) = daemon_socket::connect().ok_or_else(Vec::new)?;
    // A checkout whose sources have changed has to be built anew; a daemon of the same checkout watches them, and a
    // parent has seen to it.
    if relay.is_none() && !installation.is_watched(&directory) && !installation.is_up_to_date() {
        return Err(Vec::new());
    }
    let build = installation.build().ok_or_else(Vec::new)?;
    let start = start::start_frame(words).ok_or_else(Vec::new)?;
    let passed_on = relay.map(Relay::signals).transpose().map_err(|_| Vec::new())?;
    let signals = Signals::block(passed_on).map_err(|_| Vec::new())?;
    match handshake::agree(&mut socket, &build, &start) {
        Ok(early) => {
            std::panic::set_hook(Box::new(|_| terminal::restore()));
            Ok(Session::new(socket, signals).run(&early))
        }
        Err(answer) => {
            signals.unblock();
            Err(answer)
        }
    }
}

fn fail(what: &str, hint: &str) -> ! {
    eprintln!("agentkernel: {what}\n  hint: {hint}");
    exit(OWN_FAILURE)
}
