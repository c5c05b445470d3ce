//! Capture, as every sandbox with a network sets it up: in a fresh network namespace TCP for any address arrives at a
//! local listener, which learns the address that was asked for. Nothing leaves that namespace.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::time::Duration;

use ak_net::capture::original_destination;
use rustix::net::{SocketFlags, accept_with};
use rustix::thread::UnshareFlags;

use super::Context;
use crate::namespace::inside;
use crate::report::{Explain, Fault, Verdict, expect};

const HINT: &str = "capture needs nf_tables with nat, redirect and reject: as root run `modprobe -a nf_tables nft_chain_nat nft_redir nft_reject_inet`, and keep the names in /etc/modules-load.d; until then sandboxes have no network";
/// Reserved for documentation, and local to the namespace.
const ASKED: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 80));
const CONNECT_LIMIT: Duration = Duration::from_millis(500);

pub fn probe(_: &Context) -> Verdict {
    inside(UnshareFlags::NEWNET, || {
        let listeners = ak_net::capture::set_up().or_fault("setting capture up", HINT)?;
        let [Some(listener), ..] = &listeners.sockets else { return Err(Fault::new("no listener was opened", HINT)) };
        let mut client =
            TcpStream::connect_timeout(&ASKED, CONNECT_LIMIT).or_fault("connecting through the redirect rule", HINT)?;
        client.write_all(b"?").or_fault("sending through the rule", HINT)?;
        let accepted = accept_with(listener, SocketFlags::CLOEXEC).or_fault("accepting", HINT)?;
        let original = original_destination(&accepted, false).or_fault("asking for the original destination", HINT)?;
        TcpStream::from(accepted).read_exact(&mut [0]).or_fault("reading what was captured", HINT)?;
        expect(original == ASKED, &format!("the captured connection claims to be for {original}, not {ASKED}"), HINT)?;
        Ok(format!("a connection to {ASKED} arrived at the local listener, its destination known"))
    })
}
