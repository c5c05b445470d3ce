//! Connections that the host asks for, to servers of the test's own.

mod harness;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};

use ak_wire::FrameType;
use harness::Guest;
use serde_json::json;

fn open(guest: &mut Guest, port: u16) -> u32 {
    guest.open(&json!({"kind": "tcp-in", "port": port}))
}

#[test]
fn either_loopback_address_is_found_and_both_directions_carry_and_end() {
    let mut guest = Guest::start();
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let listener = TcpListener::bind(address).expect("a server");
        let id = open(&mut guest, listener.local_addr().expect("an address").port());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut question = Vec::new();
            stream.read_to_end(&mut question).expect("the question and its end");
            stream.write_all(&question).expect("an answer");
            stream.shutdown(Shutdown::Both).expect("an end");
        });
        let question = vec![b'q'; 3_000_000];
        let outcome = guest.finish_with_input(id, &question);
        server.join().expect("the server ends");
        assert_eq!(outcome.opened, Some(json!({})));
        assert!(outcome.stdout == question, "{} bytes came back", outcome.stdout.len());
        assert_eq!((outcome.ended_streams, outcome.close), (vec![1], Some(json!({}))));
    }
}

#[test]
fn a_port_without_a_server_is_refused_and_no_port_is_invalid() {
    let mut guest = Guest::start();
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let id = open(&mut guest, free);
    assert_eq!(guest.finish(id).failure(), "refused");
    let id = open(&mut guest, 0);
    assert_eq!(guest.finish(id).failure(), "invalid");
    let id = guest.open(&json!({"kind": "tcp-in", "port": 70_000}));
    assert_eq!(guest.finish(id).failure(), "invalid");
}

#[test]
fn a_server_that_resets_ends_the_channel_and_a_host_that_closes_resets_the_server() {
    let mut guest = Guest::start();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a server");
    let port = listener.local_addr().expect("an address").port();
    let id = open(&mut guest, port);
    let (stream, _) = listener.accept().expect("a client");
    guest.wait_for(id, FrameType::Opened);
    rustix::net::sockopt::set_socket_linger(&stream, Some(std::time::Duration::ZERO)).expect("an option");
    drop(stream);
    assert_eq!(guest.wait_for(id, FrameType::Close).json()["code"], "reset");

    let id = open(&mut guest, port);
    let (mut stream, _) = listener.accept().expect("a client");
    guest.wait_for(id, FrameType::Opened);
    guest.close(id);
    assert_eq!(guest.wait_for(id, FrameType::Close).json(), json!({}));
    let reset = stream.read(&mut [0]).expect_err("reset");
    assert_eq!(reset.kind(), std::io::ErrorKind::ConnectionReset);
}
