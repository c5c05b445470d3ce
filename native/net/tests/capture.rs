//! The rules, tried in a network namespace of the test's own. Nothing leaves it: every destination here is a reserved
//! address, and without a rule there would be no route at all.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use ak_net::capture::{Listeners, Role, original_destination};
use rustix::net::{RecvFlags, SendFlags, SocketFlags, accept_with, recvfrom, sendto};

#[path = "../../guest/tests/harness/namespace.rs"]
mod namespace;
use namespace::in_own_network;

fn captured() -> Listeners {
    ak_net::capture::set_up().expect("capture works here")
}

fn socket(listeners: &Listeners, wanted: (Role, bool)) -> &OwnedFd {
    let index = Role::ALL.iter().position(|role| *role == wanted).expect("a role");
    listeners.sockets[index].as_ref().expect("a socket")
}

/// Connects, and gives back both ends and the destination that capture tells.
fn connect(listeners: &Listeners, to: SocketAddr) -> (TcpStream, TcpStream, SocketAddr) {
    let client = TcpStream::connect_timeout(&to, Duration::from_secs(2)).expect("captured");
    let arrives_as_ipv6 = to.ip().to_canonical().is_ipv6();
    let accepted = accept_with(socket(listeners, (Role::Capture, arrives_as_ipv6)), SocketFlags::CLOEXEC);
    let accepted = accepted.expect("it arrives");
    let original = original_destination(&accepted, arrives_as_ipv6).expect("a destination");
    (client, accepted.into(), original)
}

#[test]
fn tcp_to_any_address_arrives_with_its_destination_known() {
    in_own_network("tcp_to_any_address_arrives_with_its_destination_known", || {
        let listeners = captured();
        for to in ["192.0.2.1:80", "169.254.169.254:80", "10.1.2.3:65535", "[2001:db8::1]:443", "[fd00:ec2::254]:80"] {
            let to: SocketAddr = to.parse().expect("an address");
            let (mut client, mut accepted, original) = connect(&listeners, to);
            assert_eq!(original, to);
            client.write_all(b"ping").expect("sent");
            let mut read = [0; 4];
            accepted.read_exact(&mut read).expect("received");
            assert_eq!(&read, b"ping");
            assert_eq!(client.peer_addr().expect("a peer"), to);
        }
    });
}

#[test]
fn an_ipv4_address_written_as_ipv6_arrives_as_ipv4() {
    in_own_network("an_ipv4_address_written_as_ipv6_arrives_as_ipv4", || {
        let listeners = captured();
        let (_client, _accepted, original) = connect(&listeners, "[::ffff:192.0.2.7]:443".parse().expect("an address"));
        assert_eq!(original, "192.0.2.7:443".parse().expect("an address"));
    });
}

#[test]
fn a_direct_connection_to_the_listener_names_the_listener() {
    in_own_network("a_direct_connection_to_the_listener_names_the_listener", || {
        let listeners = captured();
        let (_client, _accepted, original) = connect(&listeners, "127.0.0.1:1".parse().expect("an address"));
        assert_eq!(ak_net::capture::address::meaning(original.ip()), ak_net::capture::address::Meaning::Own);
    });
}

#[test]
fn a_query_to_any_resolver_reaches_the_stub_and_is_answered_in_its_name() {
    in_own_network("a_query_to_any_resolver_reaches_the_stub_and_is_answered_in_its_name", || {
        let listeners = captured();
        for (to, from) in
            [("192.0.2.53:53", "0.0.0.0:0"), ("[2001:db8::53]:53", "[::]:0"), ("127.0.0.1:53", "0.0.0.0:0")]
        {
            let resolver: SocketAddr = to.parse().expect("an address");
            let client = UdpSocket::bind(from).expect("a socket");
            client.set_read_timeout(Some(Duration::from_secs(2))).expect("a timeout");
            client.send_to(b"query", resolver).expect("sent");
            let stub = socket(&listeners, (Role::DnsDatagram, resolver.is_ipv6()));
            let mut buffer = [0; 64];
            let (_, length, peer) = recvfrom(stub, &mut buffer, RecvFlags::empty()).expect("it arrives");
            assert_eq!(&buffer[..length], b"query");
            sendto(stub, b"answer", SendFlags::empty(), &peer.expect("a sender")).expect("answered");
            let (length, sender) = client.recv_from(&mut buffer).expect("an answer");
            assert_eq!((&buffer[..length], sender), (&b"answer"[..], resolver));
        }
    });
}

#[test]
fn any_other_datagram_fails_at_once() {
    in_own_network("any_other_datagram_fails_at_once", || {
        captured();
        for (to, from) in
            [("192.0.2.1:123", "0.0.0.0:0"), ("[2001:db8::1]:443", "[::]:0"), ("239.1.1.1:5353", "0.0.0.0:0")]
        {
            let to: SocketAddr = to.parse().expect("an address");
            let client = UdpSocket::bind(from).expect("a socket");
            let started = Instant::now();
            let refused = client.send_to(b"x", to).expect_err("refused");
            assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{to}");
            assert!(started.elapsed() < Duration::from_millis(500));
        }
    });
}

#[test]
fn loopback_and_the_own_address_stay_the_sandboxes_own() {
    in_own_network("loopback_and_the_own_address_stay_the_sandboxes_own", || {
        captured();
        for own in ["127.0.0.1", "127.3.3.3", "::1", "198.18.0.1", "fd61:6b6e:6c00::1"] {
            let address: IpAddr = own.parse().expect("an address");
            let server = std::net::TcpListener::bind((address, 0)).expect("a server");
            let to = server.local_addr().expect("an address");
            TcpStream::connect_timeout(&to, Duration::from_secs(2)).expect("connected");
            let (_, peer) = server.accept().expect("it is the own server that answers");
            assert_eq!(peer.ip().is_ipv4(), address.is_ipv4());
            let refused = TcpStream::connect_timeout(&SocketAddr::new(address, 9), Duration::from_secs(2));
            assert_eq!(refused.expect_err("nothing listens").kind(), ErrorKind::ConnectionRefused);
        }
    });
}

#[test]
fn without_ipv6_the_rest_is_captured_all_the_same() {
    in_own_network("without_ipv6_the_rest_is_captured_all_the_same", || {
        std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1").expect("IPv6 is switched off");
        let listeners = captured();
        assert!(!listeners.has_ipv6());
        let (_client, _accepted, original) = connect(&listeners, "192.0.2.1:80".parse().expect("an address"));
        assert_eq!(original, "192.0.2.1:80".parse().expect("an address"));
        let refused =
            TcpStream::connect_timeout(&"[2001:db8::1]:80".parse().expect("an address"), Duration::from_secs(2));
        refused.expect_err("there is no IPv6");
    });
}

#[test]
fn a_second_set_up_fails_and_names_the_step() {
    in_own_network("a_second_set_up_fails_and_names_the_step", || {
        let _first = captured();
        let failure = ak_net::capture::set_up().err().expect("the ports are taken");
        assert!(failure.to_string().contains(failure.step));
    });
}
