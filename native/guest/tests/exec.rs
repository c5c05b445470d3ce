//! Starting commands: streams, status, environment, and why it can fail.

mod harness;

use ak_wire::FrameType;
use harness::{Guest, wait_alone};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

#[test]
fn streams_stay_apart_and_the_exit_code_arrives_after_both_ends() {
    let mut guest = Guest::start();
    let done = guest.shell("echo out; echo err >&2; exit 3");
    assert_eq!(done.stdout, b"out\n");
    assert_eq!(done.stderr, b"err\n");
    assert_eq!(done.code(), Some(3));
    let mut ended = done.ended_streams.clone();
    ended.sort_unstable();
    assert_eq!(ended, [1, 2]);
    assert!(done.opened.expect("OPENED")["pid"].as_i64() > Some(1));
}

#[test]
fn a_command_killed_by_a_signal_reports_the_signal_and_its_usage() {
    let mut guest = Guest::start();
    let done = guest.shell("kill -KILL $$");
    let exit = done.exit.expect("EXIT");
    assert_eq!((exit.code, exit.signal), (None, Some(9)));
    assert!(exit.usage.max_rss_kib > 0);
}

#[test]
fn the_environment_and_the_directory_are_exactly_what_was_asked_for() {
    let mut guest = Guest::start();
    let id = guest.open(&json!({
        "kind": "exec", "argv": ["/usr/bin/env"], "env": {"A": "1", "B": "x y", "HOME": "/h"}, "cwd": "/usr"
    }));
    assert_eq!(guest.finish(id).text(), "A=1\nB=x y\nHOME=/h\n");
    let id = guest.open_exec(&["pwd"], json!({"cwd": "/usr"}));
    assert_eq!(guest.finish(id).text(), "/usr\n");
}

#[test]
fn the_default_path_is_used_without_one() {
    let mut guest = Guest::start();
    let id = guest.open(&json!({"kind": "exec", "argv": ["true"]}));
    assert_eq!(guest.finish(id).code(), Some(0));
}

#[test]
fn a_command_gets_a_session_default_signals_a_umask_and_three_descriptors() {
    let mut guest = Guest::start();
    let done = guest.shell(
        "umask; grep -E '^Sig(Ign|Blk)' /proc/self/status; ls /proc/self/fd | wc -l; \
         set -- $(cat /proc/$$/stat); [ $1 = $6 ] && echo leader",
    );
    let zero = "0000000000000000";
    // `ls` itself holds the fourth.
    let wanted = format!("0022\nSigBlk:\t{zero}\nSigIgn:\t{zero}\n4\nleader\n");
    assert_eq!(done.text(), wanted);
}

#[test]
fn what_cannot_be_started_says_why() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str, content: &[u8], mode: u32| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).expect("write");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("chmod");
        path.to_string_lossy().into_owned()
    };
    let plain = file("plain", b"echo hi\n", 0o644);
    let garbage = file("garbage", b"\x00\x01\x02\x03", 0o755);
    let script = file("script", b"echo \"no shebang $1\"\n", 0o755);
    let path = directory.path().to_string_lossy().into_owned();
    let mut guest = Guest::start();
    let mut failure = |argv: &[&str], more| {
        let id = guest.open_exec(argv, more);
        guest.finish(id).failure().to_owned()
    };
    assert_eq!(failure(&["no-such-command"], json!({})), "not_found");
    assert_eq!(failure(&["/no/such/path"], json!({})), "not_found");
    assert_eq!(failure(&[""], json!({})), "not_found");
    assert_eq!(failure(&[&plain], json!({})), "not_executable");
    assert_eq!(failure(&[&garbage], json!({})), "not_executable");
    assert_eq!(failure(&[&path], json!({})), "not_executable");
    let in_path = json!({"env": {"PATH": path}});
    assert_eq!(failure(&["plain"], in_path), "not_executable");
    assert_eq!(failure(&["true"], json!({"cwd": "/no/such"})), "bad_cwd");
    assert_eq!(failure(&["true"], json!({"cwd": plain})), "bad_cwd");
    assert_eq!(failure(&["true"], json!({"cwd": "rel"})), "invalid");
    assert_eq!(failure(&["true"], json!({"user": "no-such-user"})), "bad_user");
    assert_eq!(failure(&[], json!({})), "invalid");
    assert_eq!(failure(&["true"], json!({"env": {"A": 1}})), "invalid");
    assert_eq!(failure(&["true"], json!({"kind": "call"})), "unsupported");
    let id = guest.open_exec(&[&script, "works"], json!({}));
    assert_eq!(guest.finish(id).text(), "no shebang works\n");
}

#[test]
fn another_user_is_taken_from_the_sandbox_and_refused_without_the_right() {
    let mut guest = Guest::start();
    let id =
        guest.open_exec(&["sh", "-c", "id -u; id -g; id -G; echo again > /dev/stdout"], json!({"user": "4242:4243"}));
    let done = guest.finish(id);
    if rustix::process::geteuid().is_root() {
        assert_eq!(done.text(), "4242\n4243\n4243\nagain\n");
    } else {
        assert_eq!(done.failure(), "bad_user");
    }
    // A user namespace with a single id has no other user.
    let mut single = Guest::start_as_init();
    let id = single.open_exec(&["true"], json!({"user": "4242"}));
    assert_eq!(single.finish(id).failure(), "bad_user");
    let id = single.open_exec(&["true"], json!({"user": "0:0"}));
    assert_eq!(single.finish(id).code(), Some(0));
}

#[test]
fn input_sent_before_the_answer_reaches_the_command() {
    let mut guest = Guest::start();
    let id = guest.open_exec(&["cat"], json!({"stdin": true}));
    assert_eq!(guest.finish_with_input(id, b"early").text(), "early");
}

#[test]
fn without_stdin_the_command_reads_an_end_at_once() {
    let mut guest = Guest::start();
    let id = guest.open_exec(&["cat"], json!({}));
    assert_eq!(guest.finish_with_input(id, b"lost").text(), "");
}

#[test]
fn output_arrives_while_the_command_runs() {
    let mut guest = Guest::start();
    let id = guest.open_exec(&["sh", "-c", "echo ready; read x; echo got $x"], json!({"stdin": true}));
    assert_eq!(guest.read_line(id), "ready");
    guest.send(FrameType::Data, id, 0, b"it\n");
    assert_eq!(guest.read_line(id), "got it");
    assert_eq!(guest.finish(id).code(), Some(0));
}

#[test]
fn signals_reach_the_process_the_group_or_wait_for_the_start() {
    let mut guest = Guest::start();
    for scope in ["process", "group", "tree"] {
        let id = guest.open_exec(&["sleep", "1000"], json!({}));
        guest.signal(id, libc::SIGTERM, scope);
        let exit = guest.finish(id).exit.expect("EXIT");
        assert_eq!(exit.signal, Some(libc::SIGTERM as u8), "{scope}");
    }
}

#[test]
fn three_hundred_quick_commands_leave_no_process() {
    let mut guest = Guest::start_as_init();
    for round in 0..300u32 {
        let id = guest.open_exec(&["sh", "-c", "exit $0", &(round % 256).to_string()], json!({}));
        assert_eq!(guest.finish(id).code(), Some((round % 256) as u8));
    }
    wait_alone(&mut guest);
}

#[test]
fn many_commands_run_side_by_side() {
    let mut guest = Guest::start();
    let ids: Vec<u32> = (0..50).map(|n| guest.open_shell(&format!("echo {n}"))).collect();
    let mut exits = 0;
    while exits < ids.len() {
        if guest.receive().frame_type == FrameType::Exit {
            exits += 1;
        }
    }
}

#[test]
fn a_full_process_table_is_a_refusal_and_not_the_end() {
    // Room for the guest alone, then also for a keeper but not for its command.
    for limit in [1, 2] {
        let mut guest = Guest::start_unprivileged(Some(limit));
        for _ in 0..3 {
            let id = guest.open_exec(&["true"], json!({}));
            assert_eq!(guest.finish(id).failure(), "resource");
        }
    }
}
