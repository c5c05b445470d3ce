//! The keeper that is forked ahead: when there is one, what it serves, and what becomes of an unused one.

mod harness;

use std::time::{Duration, Instant};

use ak_wire::FrameType;
use harness::{Guest, wait_gone};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

/// After two more commands: the only child that the idle guest has, once the last command's own keeper is gone.
fn await_spare(guest: &mut Guest) -> String {
    guest.shell("true");
    let keeper = guest.shell("echo $PPID").text();
    let pid = guest.child.id();
    loop {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("a guest that lives");
        match children.split_whitespace().collect::<Vec<_>>()[..] {
            [spare] if spare != keeper.trim() => return spare.to_owned(),
            _ => std::thread::yield_now(),
        }
    }
}

#[test]
fn a_guest_that_is_used_again_has_a_keeper_waiting() {
    let mut guest = Guest::start();
    let spare = await_spare(&mut guest);
    assert_eq!(guest.shell("echo $PPID").text().trim(), spare);
}

#[test]
fn streams_words_and_directories_are_those_of_any_command() {
    let mut guest = Guest::start_as_init();
    for round in 0..4 {
        let more = json!({"cwd": "/tmp", "stdin": true, "env": {"PATH": harness::PATH, "A": format!("{round}")}});
        let id = guest.open_exec(&["sh", "-c", "cat; echo $A $1 $PWD; echo err >&2; exit 3", "sh", ""], more);
        guest.send(FrameType::Data, id, 0, b"in ");
        guest.send(FrameType::Eof, id, 0, b"");
        let outcome = guest.finish(id);
        assert_eq!((outcome.text(), outcome.code()), (format!("in {round} /tmp\n"), Some(3)));
        assert_eq!(outcome.stderr, b"err\n");
        let missing = guest.open_exec(&["no-such-program"], json!({}));
        assert_eq!(guest.finish(missing).failure(), "not_found");
    }
}

#[test]
fn one_that_was_killed_or_stopped_costs_no_command() {
    let mut guest = Guest::start();
    for signal in [Signal::STOP, Signal::KILL, Signal::STOP] {
        let spare = await_spare(&mut guest).parse().expect("a process id");
        kill_process(Pid::from_raw(spare).expect("a process id"), signal).expect("a keeper that waits");
        if signal == Signal::KILL {
            wait_gone(spare);
        }
        assert_eq!(guest.shell("echo here").text(), "here\n");
    }
}

#[test]
fn a_shutdown_does_not_wait_for_it() {
    let mut guest = Guest::start_as_init();
    for _ in 0..3 {
        guest.shell("true");
    }
    let started = Instant::now();
    guest.send_json(FrameType::Shutdown, 0, &json!({"grace_ms": 60_000}));
    guest.wait_end();
    assert!(started.elapsed() < Duration::from_secs(30));
}
