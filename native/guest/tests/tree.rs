//! Nothing that a command starts gets away from its keeper.

mod harness;

use std::time::{Duration, Instant};

use ak_wire::FrameType;
use harness::{Guest, wait_alone, wait_gone};
use serde_json::json;

/// A shell that starts processes which leave its session, its group and its
/// parent and ignore SIGTERM, prints their ids, and stays.
const ESCAPE_ARTISTS: &str = r#"
    trap '' TERM HUP INT
    setsid sh -c 'trap "" TERM HUP INT; echo $$; while :; do sleep 1000; done' &
    (setsid sh -c '(trap "" TERM; echo $(exec sh -c "echo \$PPID"); exec sleep 1001) & ' &)
    sh -c 'kill -STOP $$' &
    echo $!
    while :; do sleep 1002; done
"#;

fn read_pids(guest: &mut Guest, id: u32, count: usize) -> Vec<i32> {
    let mut text = String::new();
    while text.lines().count() < count {
        text.push_str(&guest.read_line(id));
        text.push('\n');
    }
    text.lines().map(|l| l.trim().parse().expect("a pid")).collect()
}

#[test]
fn close_kills_double_forked_detached_stopped_and_deaf_processes() {
    let mut guest = Guest::start();
    let id = guest.open_shell(ESCAPE_ARTISTS);
    let pids = read_pids(&mut guest, id, 3);
    guest.close(id);
    let exit = guest.finish(id).exit.expect("EXIT");
    assert_eq!(exit.signal, Some(9));
    for pid in pids {
        wait_gone(pid);
    }
}

#[test]
fn a_tree_kill_leaves_only_the_guest_and_other_commands() {
    let mut guest = Guest::start_as_init();
    let id = guest.open_shell(ESCAPE_ARTISTS);
    read_pids(&mut guest, id, 3);
    guest.signal(id, libc::SIGKILL, "tree");
    assert_eq!(guest.finish(id).exit.expect("EXIT").signal, Some(9));
    // Those that reparented to the keeper vanish when it has reaped them.
    wait_alone(&mut guest);
}

#[test]
fn after_the_last_signal_nothing_outlives_the_command() {
    let mut guest = Guest::start_as_init();
    let deaf = "setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1000; done'";
    let id = guest.open_shell(&format!("{deaf} & trap 'exit 7' TERM; while :; do wait; done"));
    read_pids(&mut guest, id, 1);
    guest.send_json(FrameType::Signal, id, &json!({"signal": libc::SIGTERM, "scope": "tree", "last": true}));
    assert_eq!(guest.finish(id).code(), Some(7));
    wait_alone(&mut guest);
}

#[test]
fn a_tree_signal_reaches_processes_outside_the_group() {
    let mut guest = Guest::start();
    let id = guest.open_shell("setsid sh -c 'echo $$; exec sleep 1000' & wait; wait; echo end");
    let pids = read_pids(&mut guest, id, 1);
    guest.signal(id, libc::SIGTERM, "tree");
    guest.finish(id);
    wait_gone(pids[0]);
}

#[test]
fn output_held_open_by_a_background_process_does_not_hold_the_exit() {
    let mut guest = Guest::start();
    let id = guest.open_shell("sleep 1000 & echo $!; exit 5");
    let pid: i32 = guest.read_line(id).parse().expect("a pid");
    let start = Instant::now();
    let done = guest.finish(id);
    assert_eq!(done.code(), Some(5));
    assert_eq!(done.ended_streams.len(), 2);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    // The exec is over but its process lives on, until the guest ends.
    assert!(std::path::Path::new(&format!("/proc/{pid}")).exists());
    guest.hang_up();
    wait_gone(pid);
}

#[test]
fn a_background_process_that_writes_without_end_does_not_hold_the_exit() {
    let mut guest = Guest::start();
    let id = guest.open_shell("cat /dev/zero & echo $! >&2; exit 6");
    let done = guest.finish(id);
    assert_eq!(done.code(), Some(6));
    guest.hang_up();
    wait_gone(String::from_utf8_lossy(&done.stderr).trim().parse().expect("a pid"));
}

#[test]
fn a_late_word_of_a_background_process_is_still_heard() {
    let mut guest = Guest::start();
    let done = guest.shell("(sleep 0.05; echo late) & exit 0");
    assert_eq!(done.text(), "late\n");
}

#[test]
fn a_killed_keeper_neither_hides_the_command_nor_its_end() {
    let mut guest = Guest::start_as_init();
    for _ in 0..20 {
        let script = "kill -KILL $PPID; echo alive; read x; exit 7";
        let id = guest.open_exec(&["sh", "-c", script], json!({"stdin": true}));
        assert_eq!(guest.read_line(id), "alive");
        guest.send(FrameType::Eof, id, 0, &[]);
        let done = guest.finish(id);
        assert_eq!(done.code(), Some(7), "{done:?}");
    }
    let id = guest.open_shell("kill -KILL $PPID; setsid sleep 1000 & echo ready; sleep 1000");
    assert_eq!(guest.read_line(id), "ready");
    guest.close(id);
    assert_eq!(guest.finish(id).exit.expect("EXIT").signal, Some(9));
    wait_alone(&mut guest);
}

#[test]
fn a_stopped_keeper_does_not_hold_the_close() {
    let mut guest = Guest::start_as_init();
    let script = "read x; kill -STOP $PPID; echo stopped; sleep 1000";
    let id = guest.open_exec(&["sh", "-c", script], json!({"stdin": true}));
    guest.wait_for(id, FrameType::Opened);
    guest.send(FrameType::Data, id, 0, b"go\n");
    assert_eq!(guest.read_line(id), "stopped");
    guest.close(id);
    assert_eq!(guest.finish(id).exit.expect("EXIT").signal, Some(9));
    wait_alone(&mut guest);
}

#[test]
fn signals_of_a_command_do_not_end_the_guest() {
    let mut guest = Guest::start_as_init();
    let done = guest.shell("for s in KILL STOP TERM INT HUP SEGV; do kill -$s 1; done; echo tried");
    assert_eq!(done.text(), "tried\n");
    let done = guest.shell("trap '' TERM; kill -TERM -1; echo here");
    assert_eq!(done.text(), "here\n");
    assert_eq!(guest.shell("exit 4").code(), Some(4));
}

#[test]
fn a_command_cannot_look_into_the_guest_or_its_keeper() {
    let mut guest = Guest::start_unprivileged(None);
    let pid = guest.child.id();
    let script = format!(
        "for p in {pid} $PPID; do test -d /proc/$p || echo missing; \
         for f in mem environ maps; do cat /proc/$p/$f; done; ls /proc/$p/fd; \
         done 2>/dev/null; wc -c < /proc/$$/environ"
    );
    // Its own environment it can read: the check itself works.
    assert_ne!(guest.shell(&script).text(), "0\n");
    assert_eq!(guest.shell(&script).text().lines().count(), 1);
}
