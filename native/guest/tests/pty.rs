//! Commands on a terminal.

mod harness;

use ak_wire::FrameType;
use harness::Guest;
use serde_json::{Value, json};

fn tty(cols: u16, rows: u16) -> Value {
    json!({"tty": {"cols": cols, "rows": rows}})
}

fn read_until(guest: &mut Guest, id: u32, wanted: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(wanted) {
        let data = guest.wait_for(id, FrameType::Data);
        assert_eq!(data.stream, 1);
        seen.push_str(&String::from_utf8_lossy(&data.payload));
    }
    seen
}

#[test]
fn a_terminal_echoes_has_its_size_and_controls_the_session() {
    let mut guest = Guest::start();
    let script = "stty size; test -t 0 && test -t 1 && test -t 2 && echo tty; \
                  ps -o tty= -p $$ | grep -q pts && echo controlling; read x; echo \"<$x>\"";
    let id = guest.open_exec(&["sh", "-c", script], tty(91, 33));
    let seen = read_until(&mut guest, id, "controlling");
    assert!(seen.contains("33 91"), "{seen:?}");
    guest.send(FrameType::Data, id, 0, b"hello\n");
    let done = guest.finish(id);
    assert_eq!(done.text(), "hello\r\n<hello>\r\n");
    assert_eq!(done.ended_streams, [1]);
    assert_eq!(done.code(), Some(0));
}

#[test]
fn a_resize_is_told_to_the_command() {
    let mut guest = Guest::start();
    let script = "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.01; done";
    let id = guest.open_exec(&["sh", "-c", script], tty(80, 24));
    read_until(&mut guest, id, "ready");
    guest.send_json(FrameType::Resize, id, &json!({"cols": 132, "rows": 50}));
    let done = guest.finish(id);
    assert!(done.text().contains("50 132"), "{:?}", done.text());
}

#[test]
fn the_end_of_input_is_the_terminals_end_character() {
    let mut guest = Guest::start();
    let id = guest.open_exec(&["cat"], tty(80, 24));
    let done = guest.finish_with_input(id, b"line\n");
    assert_eq!(done.text(), "line\r\nline\r\n");
    assert_eq!(done.code(), Some(0));
}

#[test]
fn control_c_interrupts_the_command() {
    let mut guest = Guest::start();
    let id = guest.open_exec(&["sh", "-c", "echo ready; exec sleep 1000"], tty(80, 24));
    read_until(&mut guest, id, "ready");
    guest.send(FrameType::Data, id, 0, &[3]);
    let exit = guest.finish(id).exit.expect("EXIT");
    assert_eq!(exit.signal, Some(libc::SIGINT as u8));
}

#[test]
fn a_lot_of_output_arrives_whole_although_the_command_is_gone() {
    let mut guest = Guest::start();
    let id = guest.open_exec(&["seq", "1", "200000"], tty(80, 24));
    let done = guest.finish(id);
    let wanted: String = (1..=200_000).map(|n| format!("{n}\r\n")).collect();
    assert!(done.text() == wanted, "{} bytes", done.stdout.len());
}
