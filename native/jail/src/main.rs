//! ak-jail: the linux backend's launcher. `ak-jail run` reads one spec on descriptor 3, builds the sandbox, hands
//! descriptor 4 to its guest, and stays outside as the sandbox's supervisor; at its end it removes what killed
//! supervisors left behind. `ak-jail launch` forks such supervisors for an owner that is too large to fork often.
//! `ak-jail sweep <journal> <pid>` removes what killed supervisors left behind, that one among them. `ak-jail keep`
//! starts a sandbox that outlives whoever started it; `ak-jail sweep-kept <folder>` clears up after one whose
//! supervisor was killed, `ak-jail remove-kept <folder>` removes one for good, `ak-jail copy-kept <folder> <into>` makes
//! another of what it has written. `ak-jail hold` searches folders for a sandbox that an engine builds, and holds names
//! in them. It decides nothing: the spec says what to build.

// Rust's own start-up looks for its stack in /proc and sets handlers that this program does not use; that takes longer
// than anything it does before the sandbox is forked.
#![cfg_attr(not(test), no_main)]

use std::{
    ffi::{c_char, c_int},
    path::Path,
};

use ak_jail::{
    cgroup, claim,
    control::Control,
    fault::Outcome,
    gvisor, keep, launcher,
    supervisor::{self, Chores},
    sys, view,
};
use ak_sys::args::Word;
use ak_sys::heap::Heap;

#[global_allocator]
static HEAP: Heap = Heap;

const DONE: i32 = 0;
const FAILED: i32 = 1;
const MISUSED: i32 = 2;

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn main(count: c_int, words: *const *const c_char) -> i32 {
    // SAFETY: they come from the C library as they are, and nobody else has looked at them.
    let (given, word) = (unsafe { ak_sys::args::of_main(count, words) }, |index| {
        // SAFETY: as above; what was read of them are copies.
        unsafe { Word::of_main(count, words, index) }
    });
    // A reader that is gone is an error to look at, not the end of the one who cleans up.
    sys::ignore_broken_pipes();
    match given.iter().map(|word| word.to_str().unwrap_or_default()).collect::<Vec<_>>()[..] {
        ["run", ..] => run(word(2)),
        ["keep"] => keep(),
        ["launch", socket, ..] => launch(socket, launcher::Labels { order: word(1), mark: word(3) }),
        ["inside", ref words @ ..] => {
            // The supervisor reads it, and tells it with the end.
            eprintln!("{}", gvisor::inside::become_guest(words));
            FAILED
        }
        ["hold"] => hold(),
        ["sweep-kept", state] => answer(keep::sweep(Path::new(state))),
        ["remove-kept", state] => answer(keep::remove(Path::new(state))),
        ["copy-kept", from, into] => answer(keep::copy(Path::new(from), Path::new(into))),
        ["sweep", journal, killed] => sweep_after(Path::new(journal), killed),
        _ => {
            eprintln!(
                "usage: ak-jail run [MARK] (spec and control on descriptor 3, guest stream on 4)\n       ak-jail keep (spec and control on descriptor 3)\n       ak-jail launch SOCKET [MARK] (answers on descriptor 1, until 0 ends)\n       ak-jail hold (what to hold on descriptor 0, what was found on 1)\n       ak-jail sweep JOURNAL PID\n       ak-jail sweep-kept FOLDER\n       ak-jail remove-kept FOLDER\n       ak-jail copy-kept FOLDER INTO"
            );
            MISUSED
        }
    }
}

/// The sandbox of a supervisor that was killed dies with it, but not in the same moment: until then its group has
/// processes and its claims have a holder.
fn sweep_after(journal: &Path, killed: &str) -> i32 {
    for _ in 0..2000 {
        cgroup::sweep();
        view::placeholder::Placeholders::sweep(journal);
        if !cgroup::has_of(killed) && !claim::has_of(journal, killed) {
            return DONE;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    FAILED
}

fn hold() -> i32 {
    match view::hold::run(&mut std::io::stdin().lock(), &mut std::io::stdout().lock()) {
        Ok(()) => DONE,
        Err(_) => FAILED,
    }
}

fn launch(socket: &str, labels: launcher::Labels) -> i32 {
    match launcher::run(socket, labels) {
        Ok(()) => DONE,
        Err(error) => {
            eprintln!("ak-jail: the launcher failed: {error}");
            FAILED
        }
    }
}

fn run(mark: Option<Word>) -> i32 {
    let (Ok(control), Ok(stream)) = (sys::inherited(3), sys::inherited(4)) else {
        eprintln!("ak-jail: descriptors 3 and 4 must be open; this program is started by agentkernel");
        return MISUSED;
    };
    let is_done = supervisor::run(control, stream, Chores { sweeps: true, memory: None, mark });
    if is_done { DONE } else { FAILED }
}

fn keep() -> i32 {
    let Ok(control) = sys::inherited(3) else {
        eprintln!("ak-jail: descriptor 3 must be open; this program is started by agentkernel");
        return MISUSED;
    };
    match keep::run(Control::new(control)) {
        Ok(()) => DONE,
        Err(_) => FAILED,
    }
}

/// One line of JSON on stdout, for whoever asked.
fn answer<T: serde::Serialize>(outcome: Outcome<T>) -> i32 {
    let (line, status) = match &outcome {
        Ok(done) => (serde_json::to_string(done), DONE),
        Err(fault) => (serde_json::to_string(fault), FAILED),
    };
    println!("{}", line.unwrap_or_default());
    status
}
