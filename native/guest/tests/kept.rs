//! A kept guest: hosts come and go, and execs with a key go on.

mod harness;

use std::io::Read;

use ak_wire::FrameType;
use harness::{Host, KeptGuest, wait_gone};
use serde_json::{Value, json};

fn open_kept(host: &mut Host, key: &str, script: &str) -> u32 {
    host.open_exec(&["sh", "-c", script], json!({"key": key, "stdin": true}))
}

fn attach(host: &mut Host, key: &str, more: Value) -> u32 {
    let mut payload = json!({"kind": "exec-attach", "key": key});
    if let (Some(into), Value::Object(more)) = (payload.as_object_mut(), more) {
        into.extend(more);
    }
    host.open(&payload)
}

fn forget(host: &mut Host, key: &str) -> String {
    let id = host.open(&json!({"kind": "exec-forget", "key": key}));
    let outcome = host.finish(id);
    outcome.failed.map_or_else(|| "forgotten".into(), |failed| failed.code)
}

/// Waits until a new host sees that the exec has ended.
fn host_after_end(guest: &KeptGuest, key: &str) -> Host {
    loop {
        let host = guest.connect();
        let entry = entry_of(&host, key);
        if !entry["exit"].is_null() || !entry["failed"].is_null() {
            return host;
        }
        std::thread::yield_now();
    }
}

fn entry_of(host: &Host, key: &str) -> Value {
    let execs = host.hello["execs"].as_array().cloned().unwrap_or_default();
    execs.into_iter().find(|exec| exec["key"] == key).unwrap_or(Value::Null)
}

#[test]
fn an_exec_goes_on_without_its_host_and_the_next_one_takes_it_up() {
    let guest = KeptGuest::start();
    let mut first = guest.connect();
    assert!(first.hello["features"].as_array().expect("a list").contains(&json!("kept")));
    assert!(first.hello["execs"].is_null());
    let id = open_kept(&mut first, "work", "echo before; read line; echo after $line; exit 7");
    assert_eq!(first.read_line(id), "before");
    drop(first);
    let mut second = guest.connect();
    let entry = entry_of(&second, "work");
    assert_eq!(entry["program"], "sh");
    assert_eq!(entry["stdin"], json!({"received": 0, "ended": false}));
    assert_eq!(entry["exit"], Value::Null);
    let id = attach(&mut second, "work", json!({"stdout": 7}));
    let opened = second.wait_for(id, FrameType::Opened);
    assert_eq!(opened.json()["pid"], entry["pid"]);
    second.wait_for(id, FrameType::Credit);
    second.send(FrameType::Data, id, 0, b"all\n");
    let outcome = second.finish(id);
    assert_eq!((outcome.text().as_str(), outcome.code()), ("after all\n", Some(7)));
}

#[test]
fn what_the_dead_host_had_not_acknowledged_is_sent_again() {
    let guest = KeptGuest::start();
    let mut first = guest.connect();
    let id = open_kept(&mut first, "k", "printf 0123456789; printf abc >&2; read line; printf X");
    first.wait_for(id, FrameType::Opened);
    let mut got = 0;
    while got < 13 {
        got += first.wait_for(id, FrameType::Data).payload.len();
    }
    first.grant(id, 1, 4);
    first.send(FrameType::Ping, 0, 0, b"");
    while first.receive().frame_type != FrameType::Pong {}
    drop(first);
    let mut second = guest.connect();
    let entry = entry_of(&second, "k");
    assert_eq!(entry["stdout"], json!({"acked": 4, "sent": 10}));
    assert_eq!(entry["stderr"], json!({"acked": 0, "sent": 3}));
    for impossible in [json!({"stdout": 3}), json!({"stdout": 11}), json!({"stderr": 4})] {
        let id = attach(&mut second, "k", impossible);
        assert_eq!(second.finish(id).failure(), "gone");
    }
    let id = attach(&mut second, "k", json!({"stdout": 6}));
    second.send(FrameType::Eof, id, 0, b"");
    let outcome = second.finish(id);
    assert_eq!((outcome.text().as_str(), outcome.stderr.as_slice()), ("6789X", &b"abc"[..]));
}

#[test]
fn an_end_that_no_host_has_heard_of_is_kept_until_one_has() {
    let guest = KeptGuest::start();
    let mut first = guest.connect();
    let id = open_kept(&mut first, "k", "read line; printf out; exit 3");
    first.wait_for(id, FrameType::Opened);
    first.send(FrameType::Eof, id, 0, b"");
    drop(first);
    drop(host_after_end(&guest, "k"));
    for _ in 0..2 {
        let mut host = guest.connect();
        assert_eq!(entry_of(&host, "k")["exit"]["code"], 3);
        let id = attach(&mut host, "k", json!({"stdout": 0}));
        let outcome = host.exchange_without_credit(id);
        assert_eq!((outcome.text().as_str(), outcome.code()), ("out", Some(3)));
    }
    let mut last = guest.connect();
    assert_eq!(forget(&mut last, "k"), "forgotten");
    assert_eq!(forget(&mut last, "k"), "unknown_key");
    drop(last);
    assert!(guest.connect().hello["execs"].is_null());
}

#[test]
fn an_exec_that_could_not_start_is_told_of_too() {
    let guest = KeptGuest::start();
    let mut first = guest.connect();
    let id = first.open_exec(&["/no/such/program"], json!({"key": "k"}));
    assert_eq!(first.finish(id).failure(), "not_found");
    drop(first);
    let mut second = guest.connect();
    assert_eq!(entry_of(&second, "k")["failed"]["code"], "not_found");
    let id = attach(&mut second, "k", json!({}));
    assert_eq!(second.finish(id).failure(), "not_found");
    assert_eq!(forget(&mut second, "k"), "forgotten");
}

#[test]
fn what_has_no_key_ends_with_its_host() {
    let guest = KeptGuest::start();
    let mut first = guest.connect();
    let id = first.open_shell("trap '' TERM HUP; setsid sleep 1000 & echo $!; sleep 1000");
    let inside: i32 = first.read_line(id).parse().expect("a pid");
    drop(first);
    wait_gone(inside);
    assert!(guest.connect().hello["execs"].is_null());
}

#[test]
fn the_newest_host_takes_the_place_of_the_one_before() {
    let guest = KeptGuest::start();
    let mut first = guest.connect();
    let id = open_kept(&mut first, "k", "echo started; read line");
    assert_eq!(first.read_line(id), "started");
    let mut second = guest.connect();
    assert!(first.try_receive().is_none());
    assert_eq!(entry_of(&second, "k")["key"], "k");
    assert_eq!(second.shell("echo served").text(), "served\n");
}

#[test]
fn a_host_that_breaks_the_protocol_loses_its_connection_and_nothing_else() {
    let guest = KeptGuest::start();
    let mut first = guest.connect();
    let id = open_kept(&mut first, "k", "echo started; read line; echo $line");
    assert_eq!(first.read_line(id), "started");
    first.send_raw(&[0xff; 12]);
    assert!(first.try_receive().is_none());
    let mut silent = guest.connect_silently();
    let mut second = guest.connect();
    silent.read_to_end(&mut Vec::new()).expect("closed");
    let id = attach(&mut second, "k", json!({}));
    second.wait_for(id, FrameType::Credit);
    second.send(FrameType::Data, id, 0, b"yes\n");
    assert_eq!(second.finish(id).text(), "yes\n");
}

#[test]
fn keys_are_checked() {
    let guest = KeptGuest::start();
    let mut host = guest.connect();
    for (key, code) in [("", "invalid"), ("a b", "invalid"), (&"k".repeat(65), "invalid")] {
        let id = open_kept(&mut host, key, "true");
        assert_eq!(host.finish(id).failure(), code, "{key}");
    }
    let first = open_kept(&mut host, "k", "read line");
    host.wait_for(first, FrameType::Opened);
    let second = open_kept(&mut host, "k", "true");
    assert_eq!(host.finish(second).failure(), "exists");
    let again = attach(&mut host, "k", json!({}));
    assert_eq!(host.finish(again).failure(), "busy");
    assert_eq!(forget(&mut host, "k"), "busy");
    let none = attach(&mut host, "none", json!({}));
    assert_eq!(host.finish(none).failure(), "unknown_key");
    drop(host);
    assert_eq!(forget(&mut guest.connect(), "k"), "busy");
    let mut temporary = harness::Guest::start();
    let id = temporary.open_exec(&["true"], json!({"key": "k"}));
    assert_eq!(temporary.finish(id).failure(), "unsupported");
}

#[test]
fn the_oldest_forgotten_end_makes_room_and_running_execs_never_do() {
    let guest = KeptGuest::start();
    let mut host = guest.connect();
    for index in 0..ak_wire::MAX_KEPT_EXECS + 2 {
        let id = open_kept(&mut host, &format!("k{index}"), "exit 0");
        host.finish(id);
    }
    drop(host);
    let mut host = guest.connect();
    let keys: Vec<Value> =
        host.hello["execs"].as_array().expect("a list").iter().map(|exec| exec["key"].clone()).collect();
    assert_eq!(keys.len(), ak_wire::MAX_KEPT_EXECS);
    assert_eq!(keys[0], "k2");
    for index in 0..ak_wire::MAX_KEPT_EXECS {
        let id = open_kept(&mut host, &format!("live{index}"), "exec sleep 1000");
        host.wait_for(id, FrameType::Opened);
    }
    let id = open_kept(&mut host, "one-more", "true");
    assert_eq!(host.finish(id).failure(), "resource");
}

#[test]
fn output_without_a_host_is_held_back_and_none_of_it_is_lost() {
    let guest = KeptGuest::start();
    let mut first = guest.connect_with_window(65_536);
    let id = open_kept(&mut first, "k", "head -c 3000000 /dev/zero | tr '\\0' x; echo end");
    let mut seen = 0;
    while seen < 65_536 {
        let frame = first.receive();
        assert_eq!(frame.channel, id);
        if frame.frame_type == FrameType::Data {
            seen += frame.payload.len();
        }
    }
    first.grant(id, 1, 30_000);
    drop(first);
    let mut second = guest.connect_with_window(100_000);
    let acked = entry_of(&second, "k")["stdout"]["acked"].as_u64().expect("a number");
    assert!(acked == 0 || acked == 30_000, "{acked}");
    let id = attach(&mut second, "k", json!({"stdout": acked}));
    let outcome = second.finish(id);
    assert_eq!(outcome.code(), Some(0));
    assert_eq!(outcome.stdout.len() as u64 + acked, 3_000_004);
    assert!(outcome.stdout.ends_with(b"xend\n") && outcome.stdout[..100] == [b'x'; 100]);
}

#[test]
fn a_terminal_is_taken_up_with_its_size_and_input() {
    let guest = KeptGuest::start();
    let mut first = guest.connect();
    let script = "echo ready; read a; stty size; read b; echo got $b";
    let more = json!({"key": "t", "tty": {"cols": 80, "rows": 24}});
    let id = first.open_exec(&["sh", "-c", script], more);
    first.wait_for(id, FrameType::Opened);
    first.read_line(id);
    drop(first);
    let mut second = guest.connect();
    let entry = entry_of(&second, "t");
    assert_eq!((entry["tty"].clone(), entry["stderr"].clone()), (json!(true), Value::Null));
    let id = attach(&mut second, "t", json!({"stdout": entry["stdout"]["sent"]}));
    second.wait_for(id, FrameType::Credit);
    second.send_json(FrameType::Resize, id, &json!({"cols": 100, "rows": 33}));
    second.send(FrameType::Data, id, 0, b"go\n");
    second.send(FrameType::Data, id, 0, b"it\n");
    let text = second.finish(id).text();
    assert!(text.contains("33 100") && text.contains("got it"), "{text}");
}

#[test]
fn stopping_ends_it_in_order_with_and_without_a_host() {
    for connected in [true, false] {
        let mut guest = KeptGuest::start();
        let mut host = guest.connect();
        let id = open_kept(&mut host, "k", "trap 'exit 5' TERM; echo ready; read line");
        assert_eq!(host.read_line(id), "ready");
        if connected {
            guest.stop(20_000);
            assert_eq!(host.finish(id).code(), Some(5));
        } else {
            drop(host);
            guest.stop(20_000);
        }
        assert_eq!(guest.wait_end().code(), Some(0));
    }
}

#[test]
fn without_a_supervisor_everything_ends() {
    let mut guest = KeptGuest::start();
    let mut host = guest.connect();
    let id = open_kept(&mut host, "k", "echo $$; exec sleep 1000");
    let command: i32 = host.read_line(id).parse().expect("a pid");
    guest.close_door();
    assert_eq!(guest.wait_end().code(), Some(1));
    wait_gone(command);
}

#[test]
fn an_exec_whose_host_left_before_it_started_is_there() {
    let guest = KeptGuest::start();
    for round in 0..20 {
        let mut first = guest.connect();
        open_kept(&mut first, &format!("k{round}"), "exit 4");
        first.send(FrameType::Ping, 0, 0, b"");
        while first.receive().frame_type != FrameType::Pong {}
        drop(first);
        let host = host_after_end(&guest, &format!("k{round}"));
        assert_eq!(entry_of(&host, &format!("k{round}"))["exit"]["code"], 4);
    }
}
