//! Captures the network namespace of the calling process: every TCP connection, whatever its destination, arrives at
//! one of our listeners with that destination known, every DNS query at our stub resolver, and everything else is
//! refused at once.
//!
//! It needs CAP_NET_ADMIN and CAP_NET_BIND_SERVICE over that namespace, and keeps working after they are dropped. It
//! must only be called in a new network namespace, never in the host's. It carries no bytes and decides nothing: the
//! holder of the listeners does.

pub mod address;
mod listeners;
mod original;
mod rules;

use std::fmt;
use std::io;

use crate::netlink::route;

pub use listeners::{FIRST_FD, Listeners, Role};
pub use original::original_destination;

/// Which step failed. Nothing leads out of the namespace in any case.
#[derive(Debug)]
pub struct Failure {
    pub step: &'static str,
    pub cause: io::Error,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.cause)
    }
}

impl std::error::Error for Failure {}

/// Raises loopback and captures everything. Without IPv6 in the kernel there is none to capture.
pub fn set_up() -> Result<Listeners, Failure> {
    let during = |step| move |cause| Failure { step, cause };
    // The rules first: they load as a whole or not at all, and without them no route may lead anywhere.
    rules::load().map_err(during("load the nf_tables rules"))?;
    let mut changes = route::Changes::default();
    changes.raise_loopback().route_everything_to_loopback(address::OWN_IPV4.into());
    changes.apply().map_err(during("route everything to loopback"))?;
    let mut changes = route::Changes::default();
    changes.route_everything_to_loopback(address::OWN_IPV6.into());
    let ipv6 = match changes.apply() {
        Ok(()) => true,
        Err(error) if is_without_ipv6(&error) => false,
        Err(error) => return Err(during("route all IPv6 to loopback")(error)),
    };
    Listeners::open(ipv6).map_err(during("listen in the sandbox"))
}

/// IPv6 that is not in the kernel, or switched off for new namespaces.
fn is_without_ipv6(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP | libc::EACCES | libc::ENODEV))
}
