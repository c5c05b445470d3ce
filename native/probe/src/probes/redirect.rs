//! Capture: inside a fresh network namespace a rule sends TCP for any address to a local listener, which learns
//! the address that was asked for. Nothing leaves that namespace.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::time::Duration;

use rustix::thread::UnshareFlags;

use super::Context;
use crate::namespace::inside;
use crate::netlink::{nft, route};
use crate::report::{Explain, Verdict, expect};

const HINT: &str = "capture needs nf_tables with nat and redirect: as root run `modprobe -a nf_tables nft_chain_nat nft_redir`, and keep the names in /etc/modules-load.d; until then sandboxes have no network";
/// Both are reserved (benchmarks, documentation), and exist only inside the namespace.
const OWN: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const ASKED: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 80);
const CONNECT_LIMIT: Duration = Duration::from_millis(500);

pub fn probe(_: &Context) -> Verdict {
    inside(UnshareFlags::NEWNET, || {
        route::raise_loopback().or_fault("raising loopback", HINT)?;
        route::route_everything_to_loopback(OWN).or_fault("adding a local default route", HINT)?;
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).or_fault("listening", HINT)?;
        let port = listener.local_addr().or_fault("listening", HINT)?.port();
        nft::redirect_tcp_to(port).or_fault("loading the redirect rule", HINT)?;
        let mut client = TcpStream::connect_timeout(&ASKED.into(), CONNECT_LIMIT)
            .or_fault("connecting through the redirect rule", HINT)?;
        client.write_all(b"?").or_fault("sending through the rule", HINT)?;
        let (mut captured, _) = listener.accept().or_fault("accepting", HINT)?;
        captured.read_exact(&mut [0]).or_fault("reading what was captured", HINT)?;
        let original =
            rustix::net::sockopt::ip_original_dst(&captured).or_fault("asking for the original destination", HINT)?;
        expect(original == ASKED, &format!("the captured connection claims to be for {original}, not {ASKED}"), HINT)?;
        Ok(format!("a connection to {ASKED} arrived at the local listener, its destination known"))
    })
}
