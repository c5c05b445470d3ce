//! Links, addresses and routes of the own network namespace.

use std::io;
use std::net::IpAddr;

use rustix::net::Protocol;

use super::{Batch, CREATE, DUMP, Socket, attributes, read_i32};

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

/// Changes that are sent together.
#[derive(Default)]
pub struct Changes(Batch);

impl Changes {
    pub fn raise_loopback(&mut self) -> &mut Self {
        self.0.message(libc::RTM_NEWLINK, 0, |body| {
            body.raw(&link_header(LOOPBACK_INDEX, UP, UP));
        });
        self
    }

    /// Makes every destination of that family a local one, reached from `own`: a rule that redirects needs a route to
    /// look at, and the preferred source keeps answers on loopback.
    pub fn route_everything_to_loopback(&mut self, own: IpAddr) -> &mut Self {
        let (family, octets) = match own {
            IpAddr::V4(address) => (libc::AF_INET as u8, address.octets().to_vec()),
            IpAddr::V6(address) => (libc::AF_INET6 as u8, address.octets().to_vec()),
        };
        let whole = (octets.len() * 8) as u8;
        self.0.message(libc::RTM_NEWADDR, CREATE, |body| {
            body.raw(&[family, whole, libc::IFA_F_NODAD as u8, 0])
                .raw(&LOOPBACK_INDEX.to_ne_bytes())
                .attribute(libc::IFA_LOCAL, &octets)
                .attribute(libc::IFA_ADDRESS, &octets);
        });
        self.0.message(libc::RTM_NEWROUTE, CREATE, |body| {
            body.raw(&[family, 0, 0, 0])
                .raw(&[libc::RT_TABLE_LOCAL, libc::RTPROT_STATIC, libc::RT_SCOPE_HOST, libc::RTN_LOCAL])
                .raw(&[0; 4])
                .attribute(libc::RTA_OIF, &LOOPBACK_INDEX.to_ne_bytes())
                .attribute(libc::RTA_PREFSRC, &octets);
        });
        self
    }

    pub fn apply(&mut self) -> io::Result<()> {
        self.0.ask_for_an_answer();
        Socket::open(ROUTE)?.apply(&self.0)
    }
}

pub fn raise_loopback() -> io::Result<()> {
    Changes::default().raise_loopback().apply()
}

fn link_header(index: i32, flags: i32, change: i32) -> Vec<u8> {
    let mut header = vec![0; 4];
    for field in [index, flags, change] {
        header.extend_from_slice(&field.to_ne_bytes());
    }
    header
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv6Addr};

    use super::super::{attributes, messages};
    use super::Changes;

    #[test]
    fn an_address_comes_whole_and_its_route_prefers_it_as_source() {
        let own = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 9);
        let mut changes = Changes::default();
        changes.route_everything_to_loopback(IpAddr::V6(own));
        let read: Vec<(u16, &[u8])> = messages(&changes.0.bytes).collect();
        assert_eq!((read[0].0, read[1].0), (libc::RTM_NEWADDR, libc::RTM_NEWROUTE));
        assert_eq!(read[0].1[..2], [libc::AF_INET6 as u8, 128]);
        let mut of_route = attributes(&read[1].1[12..]);
        assert!(of_route.any(|(kind, value)| kind == libc::RTA_PREFSRC && value == own.octets()));
    }
}
