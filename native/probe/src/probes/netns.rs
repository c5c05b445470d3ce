//! A network namespace with nothing but loopback, from which a listener on the host's loopback is out of reach.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use rustix::thread::UnshareFlags;

use super::Context;
use crate::namespace::inside;
use crate::report::{Explain, Verdict, expect};
use ak_net::netlink::route;

const HINT: &str = "network namespaces need CONFIG_NET_NS in the kernel, and no security module may forbid them";
const CONNECT_LIMIT: Duration = Duration::from_millis(500);

pub fn probe(_: &Context) -> Verdict {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).or_fault("listening on the host", HINT)?;
    let address = listener.local_addr().or_fault("listening on the host", HINT)?;
    // Without this, a listener that no process can reach would look like isolation.
    TcpStream::connect_timeout(&address, CONNECT_LIMIT).or_fault(
        "connecting on the host itself",
        "loopback of this machine does not work; raise it with `ip link set lo up`",
    )?;
    inside(UnshareFlags::NEWNET, move || {
        let links = route::links().or_fault("listing links", HINT)?;
        let foreign: Vec<&str> =
            links.iter().filter(|link| link.name != "lo" && link.up).map(|link| link.name.as_str()).collect();
        expect(foreign.is_empty(), &format!("a new network namespace is born with {} up", foreign.join(", ")), HINT)?;
        expect_unreachable(address)?;
        route::raise_loopback().or_fault("raising loopback", HINT)?;
        expect_unreachable(address)?;
        Ok("only loopback in it, and the host's loopback is out of reach".to_owned())
    })
}

fn expect_unreachable(address: SocketAddr) -> Result<(), crate::report::Fault> {
    let refused = match TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
        Ok(_) => return expect(false, "the host's loopback was reached from inside", HINT),
        Err(error) => error.kind(),
    };
    let expected = matches!(
        refused,
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::AddrNotAvailable
            | io::ErrorKind::TimedOut
    );
    expect(expected, &format!("connecting from inside: {refused}"), HINT)
}
