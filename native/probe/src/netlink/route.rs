//! Links, addresses and routes of the own network namespace.

use std::io;
use std::net::Ipv4Addr;

use rustix::net::Protocol;

use super::{ACK, Batch, CREATE, DUMP, Socket, attributes, read_i32};

/// The protocol numbered zero, which the socket call takes as none.
const ROUTE: Option<Protocol> = None;
/// A new network namespace gives loopback its first index.
const LOOPBACK_INDEX: i32 = 1;
const UP: i32 = libc::IFF_UP;

pub struct Link {
    pub name: String,
    pub up: bool,
}

pub fn links() -> io::Result<Vec<Link>> {
    let mut batch = Batch::default();
    batch.message(libc::RTM_GETLINK, DUMP, |body| {
        body.raw(&link_header(0, 0, 0));
    });
    let bodies = Socket::open(ROUTE)?.dump(&batch)?;
    bodies.iter().map(|body| read_link(body)).collect()
}

fn read_link(body: &[u8]) -> io::Result<Link> {
    let short = || io::Error::other("the kernel sent a short link message");
    let flags = body.get(8..).and_then(read_i32).ok_or_else(short)?;
    let name = attributes(body.get(16..).ok_or_else(short)?)
        .find(|(kind, _)| *kind == libc::IFLA_IFNAME)
        .map(|(_, value)| String::from_utf8_lossy(value).trim_end_matches('\0').to_owned());
    Ok(Link { name: name.ok_or_else(short)?, up: flags & UP != 0 })
}

pub fn raise_loopback() -> io::Result<()> {
    let mut batch = Batch::default();
    batch.message(libc::RTM_NEWLINK, ACK, |body| {
        body.raw(&link_header(LOOPBACK_INDEX, UP, UP));
    });
    Socket::open(ROUTE)?.apply(&batch)
}

/// Makes every destination a local one, reached from `own`: the redirect rule needs a route to look at, and
/// the preferred source keeps answers on loopback.
pub fn route_everything_to_loopback(own: Ipv4Addr) -> io::Result<()> {
    let mut batch = Batch::default();
    let inet = libc::AF_INET as u8;
    batch.message(libc::RTM_NEWADDR, ACK | CREATE, |body| {
        body.raw(&[inet, 32, 0, 0])
            .raw(&LOOPBACK_INDEX.to_ne_bytes())
            .attribute(libc::IFA_LOCAL, &own.octets())
            .attribute(libc::IFA_ADDRESS, &own.octets());
    });
    batch.message(libc::RTM_NEWROUTE, ACK | CREATE, |body| {
        body.raw(&[inet, 0, 0, 0])
            .raw(&[libc::RT_TABLE_LOCAL, libc::RTPROT_STATIC, libc::RT_SCOPE_HOST, libc::RTN_LOCAL])
            .raw(&[0; 4])
            .attribute(libc::RTA_OIF, &LOOPBACK_INDEX.to_ne_bytes())
            .attribute(libc::RTA_PREFSRC, &own.octets());
    });
    Socket::open(ROUTE)?.apply(&batch)
}

fn link_header(index: i32, flags: i32, change: i32) -> Vec<u8> {
    let mut header = vec![0; 4];
    for field in [index, flags, change] {
        header.extend_from_slice(&field.to_ne_bytes());
    }
    header
}
