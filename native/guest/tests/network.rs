//! A captured network, with the test as the host: programs are sockets of the test's own, in the same namespace.

mod harness;
#[path = "harness/namespace.rs"]
mod namespace;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use ak_wire::{FrameType, GUEST_CHANNEL_WINDOW};
use harness::Guest;
use namespace::in_own_network;
use serde_json::{Value, json};

const VIOLATION: Option<i32> = Some(2);

fn captured() -> Guest {
    Guest::start_captured(&ak_net::capture::set_up().expect("capture works here"))
}

fn connect(to: &str) -> TcpStream {
    try_connect(to).expect("captured")
}

fn try_connect(to: &str) -> std::io::Result<TcpStream> {
    let to: SocketAddr = to.parse().expect("an address");
    let stream = TcpStream::connect_timeout(&to, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    Ok(stream)
}

/// A query for the addresses of a name, by its kind.
fn query(id: u8, name: &str, kind: u8) -> Vec<u8> {
    let mut bytes = vec![0, id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        bytes.push(label.len() as u8);
        bytes.extend_from_slice(label.as_bytes());
    }
    bytes.extend_from_slice(&[0, 0, kind, 0, 1]);
    bytes
}

fn resolver() -> UdpSocket {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket.connect("192.0.2.53:53").expect("any resolver");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
    socket
}

fn answer(socket: &UdpSocket) -> Vec<u8> {
    let mut bytes = [0; 512];
    let length = socket.recv(&mut bytes).expect("an answer");
    bytes[..length].to_vec()
}

fn next_open(guest: &mut Guest) -> (u32, Value) {
    let frame = guest.receive();
    assert_eq!(frame.frame_type, FrameType::Open, "{frame:?}");
    (frame.channel, frame.json())
}

#[test]
fn a_connection_is_a_channel_that_says_where_to_and_carries_both_ways() {
    in_own_network("a_connection_is_a_channel_that_says_where_to_and_carries_both_ways", || {
        let mut guest = captured();
        for (to, address) in [("192.0.2.1:80", "192.0.2.1"), ("[2001:db8::1]:80", "2001:db8::1")] {
            let mut program = connect(to);
            program.write_all(b"ahead").expect("sent");
            let (id, open) = next_open(&mut guest);
            assert_eq!(open, json!({"kind": "tcp-out", "address": address, "port": 80}));
            assert_eq!(guest.wait_for(id, FrameType::Data).payload, b"ahead");
            guest.send_json(FrameType::Opened, id, &json!({}));
            guest.send(FrameType::Data, id, 0, b"an answer");
            guest.send(FrameType::Eof, id, 0, &[]);
            let mut got = String::new();
            program.read_to_string(&mut got).expect("the answer and its end");
            assert_eq!(got, "an answer");
            program.write_all(b"more").expect("the other way goes on");
            program.shutdown(Shutdown::Write).expect("an end");
            assert_eq!(guest.wait_for(id, FrameType::Data).payload, b"more");
            assert_eq!(guest.wait_for(id, FrameType::Eof).stream, 1);
            guest.close(id);
        }
    });
}

#[test]
fn what_the_host_sent_before_its_last_word_still_arrives() {
    in_own_network("what_the_host_sent_before_its_last_word_still_arrives", || {
        let mut guest = captured();
        let mut program = connect("192.0.2.1:80");
        let (id, _) = next_open(&mut guest);
        guest.send_json(FrameType::Opened, id, &json!({}));
        guest.send(FrameType::Data, id, 0, &vec![7; GUEST_CHANNEL_WINDOW as usize]);
        guest.send(FrameType::Eof, id, 0, &[]);
        guest.close(id);
        let mut got = Vec::new();
        program.read_to_end(&mut got).expect("all of it");
        assert_eq!(got, vec![7; GUEST_CHANNEL_WINDOW as usize]);
    });
}

#[test]
fn a_refused_or_cut_off_connection_is_reset() {
    in_own_network("a_refused_or_cut_off_connection_is_reset", || {
        let mut guest = captured();
        let mut reset = |end: &dyn Fn(&mut Guest, u32)| {
            let mut program = connect("192.0.2.1:80");
            let (id, _) = next_open(&mut guest);
            end(&mut guest, id);
            assert_eq!(program.read(&mut [0]).expect_err("reset").kind(), ErrorKind::ConnectionReset);
        };
        reset(&|guest, id| guest.send_json(FrameType::Failed, id, &json!({"code": "denied", "message": "no"})));
        reset(&|guest, id| {
            guest.send_json(FrameType::Opened, id, &json!({}));
            guest.send_json(FrameType::Close, id, &json!({"code": "reset", "message": "gone"}));
        });
        reset(&|guest, id| {
            guest.send_json(FrameType::Opened, id, &json!({}));
            guest.close(id);
        });
    });
}

#[test]
fn a_program_that_resets_its_connection_gives_the_channel_up() {
    in_own_network("a_program_that_resets_its_connection_gives_the_channel_up", || {
        let mut guest = captured();
        let program = connect("192.0.2.1:80");
        let (id, _) = next_open(&mut guest);
        rustix::net::sockopt::set_socket_linger(&program, Some(Duration::ZERO)).expect("an option");
        drop(program);
        assert_eq!(guest.wait_for(id, FrameType::Close).json()["code"], "reset");
        guest.send_json(FrameType::Failed, id, &json!({"code": "failed", "message": "given up"}));
        // The guest goes on.
        let _next = connect("192.0.2.1:81");
        assert_eq!(next_open(&mut guest).1["port"], 81);
    });
}

#[test]
fn the_listener_itself_and_addresses_of_no_name_are_refused_without_asking() {
    in_own_network("the_listener_itself_and_addresses_of_no_name_are_refused_without_asking", || {
        let mut guest = captured();
        for to in ["127.0.0.1:1", "[::1]:1", "198.18.3.3:443", "[fd61:6b6e:6c00::99]:443"] {
            // The reset may overtake the end of the call that connects.
            let refused = try_connect(to).and_then(|mut stream| stream.read(&mut [0])).expect_err("reset");
            assert_eq!(refused.kind(), ErrorKind::ConnectionReset, "{to}");
        }
        let _proxy = connect("127.0.0.1:3128");
        assert_eq!(next_open(&mut guest), (2, json!({"kind": "tcp-out", "proxy": true})));
    });
}

#[test]
fn a_name_is_asked_for_once_and_its_address_leads_to_it() {
    in_own_network("a_name_is_asked_for_once_and_its_address_leads_to_it", || {
        let mut guest = captured();
        let socket = resolver();
        socket.send(&query(1, "service.example", 1)).expect("sent");
        socket.send(&query(2, "SERVICE.example", 28)).expect("sent");
        let (id, open) = next_open(&mut guest);
        assert_eq!(open, json!({"kind": "lookup", "name": "service.example"}));
        // Both are asked now; a third channel would come before this answer.
        guest.send(FrameType::Ping, 0, 0, b"");
        assert_eq!(guest.receive().frame_type, FrameType::Pong);
        guest.send_json(FrameType::Opened, id, &json!({"ipv4": true, "ipv6": false}));
        guest.close(id);
        let (first, second) = (answer(&socket), answer(&socket));
        assert_eq!((first[1], first[3] & 0xf, first[7]), (1, 0, 1), "an address");
        assert_eq!((second[1], second[3] & 0xf, second[7]), (2, 0, 0), "the name has none of that family");
        let octets: [u8; 4] = *first.last_chunk().expect("an address");
        let address = std::net::Ipv4Addr::from(octets);
        let _program = connect(&format!("{address}:443"));
        let (_, open) = next_open(&mut guest);
        assert_eq!(open, json!({"kind": "tcp-out", "name": "service.example", "port": 443}));
    });
}

#[test]
fn what_the_host_refuses_is_no_name_and_what_fails_is_a_failure() {
    in_own_network("what_the_host_refuses_is_no_name_and_what_fails_is_a_failure", || {
        let mut guest = captured();
        let socket = resolver();
        for (code, expected) in [("denied", 3), ("not_found", 3), ("timed_out", 2)] {
            socket.send(&query(9, "a.example", 1)).expect("sent");
            let (id, _) = next_open(&mut guest);
            guest.send_json(FrameType::Failed, id, &json!({"code": code, "message": "no"}));
            assert_eq!(answer(&socket)[3] & 0xf, expected, "{code}");
        }
        // Neither text nor mail is asked for at all.
        socket.send(&query(9, "secret.a.example", 16)).expect("sent");
        let nothing = answer(&socket);
        assert_eq!((nothing[3] & 0xf, nothing[7]), (0, 0));
    });
}

#[test]
fn questions_over_tcp_are_answered_each_with_its_length() {
    in_own_network("questions_over_tcp_are_answered_each_with_its_length", || {
        let mut guest = captured();
        let mut client = connect("192.0.2.53:53");
        for (number, name) in [(1, "localhost"), (2, "b.example")] {
            let question = query(number, name, 1);
            client.write_all(&(question.len() as u16).to_be_bytes()).expect("sent");
            // In pieces, as a slow client would.
            for part in question.chunks(5) {
                client.write_all(part).expect("sent");
            }
        }
        client.shutdown(Shutdown::Write).expect("an end");
        let (id, _) = next_open(&mut guest);
        guest.send_json(FrameType::Opened, id, &json!({"ipv4": true, "ipv6": true}));
        guest.close(id);
        let mut got = Vec::new();
        client.read_to_end(&mut got).expect("both, and the end");
        let first = usize::from(u16::from_be_bytes([got[0], got[1]]));
        assert_eq!(got[2 + first - 4..2 + first], [127, 0, 0, 1]);
        let second = &got[2 + first..];
        assert_eq!(usize::from(u16::from_be_bytes([second[0], second[1]])), second.len() - 2);
        assert_eq!((second[3], second[second.len() - 4]), (2, 198));
    });
}

#[test]
fn a_host_that_breaks_the_rules_of_these_channels_ends_the_guest() {
    in_own_network("a_host_that_breaks_the_rules_of_these_channels_ends_the_guest", || {
        type Breach = fn(&mut Guest, u32);
        let breaches: [(&str, Breach); 5] = [
            ("bytes before OPENED", |g, id| g.send(FrameType::Data, id, 0, b"x")),
            ("a channel never opened", |g, id| g.send_json(FrameType::Opened, id + 2, &json!({}))),
            ("a second OPENED", |g, id| {
                g.send_json(FrameType::Opened, id, &json!({}));
                g.send_json(FrameType::Opened, id, &json!({}));
            }),
            ("more than the window", |g, id| {
                g.send_json(FrameType::Opened, id, &json!({}));
                g.send(FrameType::Data, id, 0, &vec![0; GUEST_CHANNEL_WINDOW as usize + 1]);
            }),
            ("bytes after their end", |g, id| {
                g.send_json(FrameType::Opened, id, &json!({}));
                g.send(FrameType::Eof, id, 0, &[]);
                g.send(FrameType::Data, id, 0, b"x");
            }),
        ];
        let listeners = ak_net::capture::set_up().expect("capture works here");
        for (name, breach) in breaches {
            let mut guest = Guest::start_captured(&listeners);
            let _program = connect("192.0.2.1:80");
            let (id, _) = next_open(&mut guest);
            breach(&mut guest, id);
            assert_eq!(guest.wait_end().1.code(), VIOLATION, "{name}");
        }
    });
}
