//! The rules of a captured namespace. Nothing in them depends on a policy: they say what is captured, not what is
//! allowed.

use std::io;
use std::net::{IpAddr, Ipv6Addr};

use crate::netlink::nft::expression::Expression::{
    self, Accept, Protocol, Redirect, Reject, To, ToIpv4Loopback, ToPort,
};
use crate::netlink::nft::{OutputChain, Policy, Transaction};

use super::address::{CAPTURE_PORT, DNS_PORT, OWN_IPV4, OWN_IPV6};

const TCP: u8 = libc::IPPROTO_TCP as u8;
const UDP: u8 = libc::IPPROTO_UDP as u8;
const CAPTURE: &str = "capture";
const REFUSE: &str = "refuse";
/// Where destination nat of local output belongs; filtering sees what nat has made of a packet.
const NAT_PRIORITY: i32 = -100;
const FILTER_PRIORITY: i32 = 0;

pub fn load() -> io::Result<()> {
    let mut load = Transaction::new("agentkernel");
    load.chain(&OutputChain { name: CAPTURE, kind: "nat", priority: NAT_PRIORITY, policy: Policy::Accept });
    load.chain(&OutputChain { name: REFUSE, kind: "filter", priority: FILTER_PRIORITY, policy: Policy::Drop });
    for inside in within() {
        load.rule(CAPTURE, &[inside, Accept]);
        load.rule(REFUSE, &[inside, Accept]);
    }
    load.rule(CAPTURE, &[Protocol(UDP), ToPort(DNS_PORT), Redirect(DNS_PORT)]);
    load.rule(CAPTURE, &[Protocol(TCP), ToPort(DNS_PORT), Redirect(DNS_PORT)]);
    load.rule(CAPTURE, &[Protocol(TCP), Redirect(CAPTURE_PORT)]);
    load.rule(REFUSE, &[Reject]);
    load.commit()
}

/// Destinations within the sandbox.
fn within() -> [Expression; 4] {
    [ToIpv4Loopback, To(IpAddr::V4(OWN_IPV4)), To(IpAddr::V6(Ipv6Addr::LOCALHOST)), To(IpAddr::V6(OWN_IPV6))]
}
