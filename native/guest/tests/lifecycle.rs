//! The connection: handshake, shutdown, and every way it can end.

mod harness;

use std::time::{Duration, Instant};

use ak_wire::FrameType;
use harness::{Guest, wait_gone};
use serde_json::json;

const VIOLATION: Option<i32> = Some(2);

#[test]
fn a_ping_is_answered_with_its_bytes() {
    let mut guest = Guest::start();
    guest.send(FrameType::Ping, 0, 0, b"\x00\xff bytes");
    let pong = guest.receive();
    assert_eq!(pong.frame_type, FrameType::Pong);
    assert_eq!(pong.payload, b"\x00\xff bytes");
}

#[test]
fn the_end_of_the_stream_ends_everything() {
    for mut guest in [Guest::start(), Guest::start_as_init()] {
        let id = guest.open_shell("trap '' TERM HUP; setsid sleep 1000 & echo $!; sleep 1000");
        let inside: i32 = guest.read_line(id).parse().expect("a pid");
        let is_init = guest.child.id() as i32 > 0 && inside < 100;
        guest.hang_up();
        if !is_init {
            wait_gone(inside);
        }
    }
}

#[test]
fn a_guest_that_is_killed_takes_its_commands_along() {
    let mut guest = Guest::start();
    let id = guest.open_shell("echo $$; exec sleep 1000");
    let command: i32 = guest.read_line(id).parse().expect("a pid");
    guest.child.kill().expect("kill");
    guest.child.wait().expect("wait");
    wait_gone(command);
}

#[test]
fn every_breach_of_the_protocol_ends_the_guest() {
    let hello = br#"{"protocol":1,"window":262144}"#;
    // It never ends by itself: frames for a channel that is over are no breach.
    let open = br#"{"kind":"exec","argv":["sleep","1000"],"stdin":true}"#;
    type Breach = fn(&mut Guest, &[u8], &[u8]);
    let breaches: [(&str, Breach); 9] = [
        ("second hello", |g, hello, _| g.send(FrameType::Hello, 0, 0, hello)),
        ("even id", |g, _, open| g.send(FrameType::Open, 2, 0, open)),
        ("id used again", |g, _, open| {
            g.send(FrameType::Open, 5, 0, open);
            g.send(FrameType::Open, 5, 0, open);
        }),
        ("lower id", |g, _, open| {
            g.send(FrameType::Open, 5, 0, open);
            g.send(FrameType::Open, 3, 0, open);
        }),
        ("never opened", |g, _, _| g.send(FrameType::Data, 9, 0, b"x")),
        ("data after the end", |g, _, open| {
            g.send(FrameType::Open, 1, 0, open);
            g.send(FrameType::Eof, 1, 0, b"");
            g.send(FrameType::Data, 1, 0, b"x");
        }),
        ("more than the window", |g, _, open| {
            g.send(FrameType::Open, 1, 0, open);
            g.send(FrameType::Data, 1, 0, &[0; 262_144]);
            g.send(FrameType::Data, 1, 0, &[0; 100_000]);
        }),
        ("too much credit", |g, _, open| {
            g.send(FrameType::Open, 1, 0, open);
            g.send(FrameType::Credit, 1, 1, &0x7fff_ffffu32.to_le_bytes());
        }),
        ("no frame at all", |g, _, _| g.send_raw(&[0xff; 12])),
    ];
    for (name, breach) in breaches {
        let mut guest = Guest::start();
        breach(&mut guest, hello, open);
        let (_, status) = guest.wait_end();
        assert_eq!(status.code(), VIOLATION, "{name}");
    }
}

#[test]
fn frames_for_a_channel_that_is_over_are_ignored() {
    let mut guest = Guest::start();
    let id = guest.open_shell("exit 0");
    guest.finish(id);
    guest.send(FrameType::Data, id, 0, b"late");
    guest.send(FrameType::Eof, id, 0, b"");
    guest.grant(id, 1, 100);
    guest.signal(id, 9, "tree");
    guest.close(id);
    assert_eq!(guest.shell("exit 9").code(), Some(9));
}

#[test]
fn more_channels_than_allowed_are_refused() {
    let mut guest = Guest::start();
    let directory = tempfile::tempdir().expect("a directory");
    let mut last = 0;
    for n in 0..257 {
        let path = directory.path().join(n.to_string());
        last = guest.open(&json!({"kind": "file-write", "path": path}));
    }
    loop {
        let frame = guest.receive();
        if frame.channel == last {
            assert_eq!(frame.frame_type, FrameType::Failed);
            assert_eq!(frame.json()["code"], "resource");
            return;
        }
        assert_eq!(frame.frame_type, FrameType::Opened);
    }
}

#[test]
fn running_out_of_descriptors_is_a_refusal_and_killing_still_works() {
    let mut guest = Guest::start();
    let few = rustix::process::Rlimit { current: Some(40), maximum: Some(40) };
    let pid = rustix::process::Pid::from_child(&guest.child);
    let resource = rustix::process::Resource::Nofile;
    rustix::process::prlimit(Some(pid), resource, few).expect("prlimit");
    let mut running = Vec::new();
    loop {
        let id = guest.open_exec(&["sleep", "1000"], json!({"stdin": true}));
        let answer = guest.receive();
        assert_eq!(answer.channel, id);
        if answer.frame_type == FrameType::Failed {
            assert_eq!(answer.json()["code"], "resource");
            break;
        }
        running.push(id);
    }
    assert!(!running.is_empty());
    for id in running {
        guest.close(id);
        assert_eq!(guest.finish(id).exit.expect("EXIT").signal, Some(9));
    }
    assert_eq!(guest.shell("exit 2").code(), Some(2));
}

#[test]
fn a_shutdown_lets_commands_end_and_sends_their_terminal_frames() {
    for mut guest in [Guest::start(), Guest::start_as_init()] {
        let script = "trap 'echo bye; exit 8' TERM; echo up; read x";
        let id = guest.open_exec(&["sh", "-c", script], json!({"stdin": true}));
        assert_eq!(guest.read_line(id), "up");
        guest.send_json(FrameType::Shutdown, 0, &json!({"grace_ms": 30_000}));
        let start = Instant::now();
        let (frames, status) = guest.wait_end();
        assert!(start.elapsed() < Duration::from_secs(10));
        assert_eq!(status.code(), Some(0));
        let said: Vec<u8> =
            frames.iter().filter(|f| f.frame_type == FrameType::Data).flat_map(|f| f.payload.clone()).collect();
        assert!(said.ends_with(b"bye\n"), "{said:?}");
        let last = frames.last().expect("frames");
        assert_eq!((last.frame_type, last.channel), (FrameType::Exit, id));
        assert_eq!(last.json()["code"], 8);
    }
}

#[test]
fn a_shutdown_kills_what_does_not_end_in_time() {
    for mut guest in [Guest::start(), Guest::start_as_init()] {
        let id = guest.open_shell("trap '' TERM; echo up; while :; do sleep 1000; done");
        assert_eq!(guest.read_line(id), "up");
        guest.send_json(FrameType::Shutdown, 0, &json!({"grace_ms": 50}));
        let (frames, status) = guest.wait_end();
        assert_eq!(status.code(), Some(0));
        let last = frames.last().expect("frames");
        assert_eq!(last.frame_type, FrameType::Exit);
        assert_eq!(last.json()["signal"], 9);
    }
}

#[test]
fn an_idle_guest_is_small_also_after_work() {
    let mut guest = Guest::start();
    let id = guest.open_exec(&["head", "-c", "5000000", "/dev/zero"], json!({}));
    guest.finish(id);
    let path = format!("/proc/{}/smaps_rollup", guest.child.id());
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        // Without privilege a process that cannot be dumped cannot be looked into.
        let Ok(rollup) = std::fs::read_to_string(&path) else {
            assert!(!rustix::process::geteuid().is_root());
            return;
        };
        let pss = rollup.lines().find_map(|l| l.strip_prefix("Pss:")).expect("Pss");
        let pss_kib: u64 = pss.trim().trim_end_matches(" kB").parse().expect("a number");
        if pss_kib < 700 {
            return;
        }
        assert!(Instant::now() < deadline, "{pss_kib} KiB");
        std::thread::yield_now();
    }
}
