//! Where a captured connection was going.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use rustix::net::sockopt;

/// For a connection that was not redirected this is the listener's own address, or an error.
pub fn original_destination(accepted: impl AsFd, is_ipv6: bool) -> io::Result<SocketAddr> {
    Ok(if is_ipv6 { sockopt::ipv6_original_dst(accepted)?.into() } else { sockopt::ip_original_dst(accepted)?.into() })
}
