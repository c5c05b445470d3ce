//! The sockets at which a captured namespace's traffic arrives. They are opened before privileges are given up, and
//! handed to the guest at fixed descriptor numbers.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{OwnedFd, RawFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};

use super::address::{CAPTURE_PORT, DNS_PORT, PROXY_PORT};

/// The first descriptor number; behind it each role has its own, in the order of [`Role::ALL`].
pub const FIRST_FD: RawFd = 4;
/// A burst of connections waits here until the guest gets to it.
const BACKLOG: i32 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Capture,
    DnsStream,
    DnsDatagram,
    Proxy,
}

impl Role {
    pub const ALL: [(Role, bool); 8] = [
        (Role::Capture, false),
        (Role::Capture, true),
        (Role::DnsStream, false),
        (Role::DnsStream, true),
        (Role::DnsDatagram, false),
        (Role::DnsDatagram, true),
        (Role::Proxy, false),
        (Role::Proxy, true),
    ];

    fn port(self) -> u16 {
        match self {
            Self::Capture => CAPTURE_PORT,
            Self::DnsStream | Self::DnsDatagram => DNS_PORT,
            Self::Proxy => PROXY_PORT,
        }
    }
}

/// One socket of each role and family, in the order of [`Role::ALL`]; none for a family that the kernel lacks.
pub struct Listeners {
    pub sockets: [Option<OwnedFd>; Role::ALL.len()],
}

impl Listeners {
    pub(crate) fn open(ipv6: bool) -> io::Result<Self> {
        let mut sockets = [const { None }; Role::ALL.len()];
        for (slot, (role, is_ipv6)) in sockets.iter_mut().zip(Role::ALL) {
            if !is_ipv6 || ipv6 {
                *slot = Some(open(role, is_ipv6)?);
            }
        }
        Ok(Self { sockets })
    }

    /// Only for programs that use a proxy. Where nothing can be captured, that is the only way to a listener.
    pub fn of_proxy() -> io::Result<Self> {
        let mut sockets = [const { None }; Role::ALL.len()];
        for (slot, (role, is_ipv6)) in sockets.iter_mut().zip(Role::ALL) {
            if role == Role::Proxy && !is_ipv6 {
                *slot = Some(open(role, is_ipv6)?);
            }
        }
        Ok(Self { sockets })
    }

    pub fn has_ipv6(&self) -> bool {
        self.sockets.iter().zip(Role::ALL).any(|(socket, (_, is_ipv6))| is_ipv6 && socket.is_some())
    }
}

/// Redirected packets go to loopback, so nothing listens on any other address.
fn open(role: Role, is_ipv6: bool) -> io::Result<OwnedFd> {
    let (family, address) = if is_ipv6 {
        (AddressFamily::INET6, IpAddr::V6(Ipv6Addr::LOCALHOST))
    } else {
        (AddressFamily::INET, IpAddr::V4(Ipv4Addr::LOCALHOST))
    };
    let is_stream = role != Role::DnsDatagram;
    let kind = if is_stream { SocketType::STREAM } else { SocketType::DGRAM };
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    if is_ipv6 {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    bind(&socket, &SocketAddr::new(address, role.port()))?;
    if is_stream {
        listen(&socket, BACKLOG)?;
    }
    Ok(socket)
}
