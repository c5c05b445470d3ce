//! Bytes through a command: whole, in order, within what was granted.

mod harness;

use ak_wire::FrameType;
use harness::Guest;
use serde_json::json;

/// Bytes without a pattern that a lost or doubled piece could hide in.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .collect()
}

#[test]
fn ten_megabytes_go_through_cat_unchanged() {
    for mut guest in [Guest::start(), Guest::start_as_init()] {
        let input = noise(10_000_000);
        let id = guest.open_exec(&["cat"], json!({"stdin": true}));
        let done = guest.finish_with_input(id, &input);
        assert_eq!(done.code(), Some(0));
        assert!(done.stdout == input, "{} bytes came back", done.stdout.len());
    }
}

#[test]
fn without_more_credit_output_stops_at_the_window() {
    const WINDOW: usize = 65_536;
    let mut guest = Guest::start_with_window(WINDOW as u32);
    let id = guest.open_exec(&["head", "-c", "3000000", "/dev/zero"], json!({}));
    let mut received = 0;
    while received < WINDOW {
        received += guest.wait_for(id, FrameType::Data).payload.len();
    }
    // The answer to a ping comes behind all that was sent before it.
    for _ in 0..3 {
        guest.send(FrameType::Ping, 0, 0, b"still?");
        assert_eq!(guest.receive().frame_type, FrameType::Pong);
    }
    guest.grant(id, 1, 1);
    assert_eq!(guest.wait_for(id, FrameType::Data).payload.len(), 1);
    guest.grant(id, 1, 4_000_000);
    let rest = guest.finish(id);
    assert_eq!(rest.stdout.len(), 3_000_000 - WINDOW - 1);
    assert_eq!(rest.code(), Some(0));
}

#[test]
fn an_end_needs_no_credit() {
    let mut guest = Guest::start_with_window(65_536);
    guest.open_exec(&["head", "-c", "65536", "/dev/zero"], json!({}));
    let mut received = 0;
    loop {
        let frame = guest.receive();
        match frame.frame_type {
            FrameType::Data => received += frame.payload.len(),
            FrameType::Exit => break,
            _ => {}
        }
    }
    assert_eq!(received, 65_536);
}

#[test]
fn what_the_command_wrote_is_delivered_however_late_the_host_reads() {
    let mut guest = Guest::start_with_window(65_536);
    // All of it fits into the pipe, so the command ends at once.
    let id = guest.open_exec(&["head", "-c", "900000", "/dev/zero"], json!({}));
    guest.wait_for(id, FrameType::Data);
    // Its end marks a time well beyond what the guest waits for held outputs.
    let watcher = guest.open_shell("sleep 0.6");
    let mut received = 0;
    loop {
        let frame = guest.receive();
        if frame.channel == watcher && frame.frame_type == FrameType::Exit {
            break;
        }
        assert!(frame.frame_type != FrameType::Exit, "ended with output unread");
        if frame.channel == id && frame.frame_type == FrameType::Data {
            received += frame.payload.len();
        }
    }
    assert!(received <= 65_536);
    guest.grant(id, 1, 10_000_000);
    let done = guest.finish(id);
    assert_eq!(done.code(), Some(0));
    assert!(done.stdout.len() >= 900_000 - 65_536);
}

#[test]
fn a_reader_that_never_reads_costs_bounded_memory() {
    let mut guest = Guest::start_with_window(16_777_216);
    let id = guest.open_exec(&["cat", "/dev/zero"], json!({}));
    guest.wait_for(id, FrameType::Opened);
    let mut granted = 0;
    // Credit for more than the socket, the queue and the pipe hold together.
    while granted < 400_000_000u32 {
        guest.grant(id, 1, 16_777_216);
        granted += 16_777_216;
    }
    // `cat` is asleep on a full pipe once everything between is full.
    let pid = guest.child.id();
    let mut calm = 0;
    while calm < 100 {
        let waiting = std::fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("alive");
        calm = if state.contains(") S ") || waiting.contains("poll") { calm + 1 } else { 0 };
        std::thread::yield_now();
    }
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("alive");
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).expect("VmHWM");
    let peak_kib: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(peak_kib < 8 * 1024, "{peak_kib} KiB");
    guest.close(id);
    let signal = loop {
        let frame = guest.receive();
        if frame.frame_type == FrameType::Exit {
            break frame.json()["signal"].clone();
        }
    };
    assert_eq!(signal, 9);
}

#[test]
fn a_command_that_closes_its_input_does_not_stop_the_host() {
    let mut guest = Guest::start();
    let id = guest.open_exec(&["sh", "-c", "exec <&-; echo closed; sleep 1000"], json!({"stdin": true}));
    assert_eq!(guest.read_line(id), "closed");
    // Four windows: credit must come back for bytes without a reader.
    let chunk = vec![1u8; 65_536];
    let mut window = 262_144usize;
    for _ in 0..16 {
        while window < chunk.len() {
            let credit = guest.wait_for(id, FrameType::Credit).payload;
            window += u32::from_le_bytes(credit[..].try_into().expect("4 bytes")) as usize;
        }
        guest.send(FrameType::Data, id, 0, &chunk);
        window -= chunk.len();
    }
    guest.close(id);
    guest.wait_for(id, FrameType::Exit);
}

#[test]
fn a_command_that_does_not_read_holds_the_host_at_the_window() {
    let mut guest = Guest::start();
    let id = guest.open_exec(&["sh", "-c", "read go; cat | wc -c"], json!({"stdin": true}));
    guest.wait_for(id, FrameType::Opened);
    guest.send(FrameType::Data, id, 0, &vec![b'x'; 262_144 - 8]);
    guest.send(FrameType::Ping, 0, 0, b"");
    loop {
        let frame = guest.receive();
        if frame.frame_type == FrameType::Pong {
            break;
        }
    }
    guest.send(FrameType::Data, id, 0, b"\n1234567");
    let done = guest.finish_with_input(id, b"");
    assert_eq!(done.text().trim(), "7");
}

#[test]
fn two_busy_commands_share_the_way_to_the_host() {
    let mut guest = Guest::start();
    let ids = [guest.open_exec(&["cat", "/dev/zero"], json!({})), guest.open_exec(&["cat", "/dev/zero"], json!({}))];
    let mut take = |received: &mut [u64; 2]| {
        let frame = guest.receive();
        if frame.frame_type == FrameType::Data {
            received[usize::from(frame.channel != ids[0])] += frame.payload.len() as u64;
            guest.grant(frame.channel, 1, frame.payload.len() as u32);
        }
    };
    // On a machine with much to do the second may be long in coming; what counts is what follows.
    let mut before = [0; 2];
    while before.contains(&0) && before.iter().sum::<u64>() < 4_000_000_000 {
        take(&mut before);
    }
    let mut received = [0; 2];
    while received.iter().sum::<u64>() < 40_000_000 {
        take(&mut received);
    }
    assert!(received.iter().all(|n| *n > 1_000_000), "{before:?}, then {received:?}");
}

#[test]
fn a_writer_whose_reader_is_gone_learns_of_it_as_with_any_pipe() {
    let mut guest = Guest::start();
    let id = guest.open_exec(&["yes"], json!({}));
    guest.wait_for(id, FrameType::Data);
    guest.send(FrameType::Eof, id, 1, b"");
    let exit = guest.finish(id).exit.expect("an EXIT");
    assert_eq!(exit.signal, Some(libc::SIGPIPE as u8));

    let script = "trap '' PIPE; yes 2>/dev/null; exit 8";
    let id = guest.open_exec(&["sh", "-c", script], json!({}));
    guest.wait_for(id, FrameType::Data);
    guest.send(FrameType::Eof, id, 1, b"");
    assert_eq!(guest.finish(id).code(), Some(8));
}
