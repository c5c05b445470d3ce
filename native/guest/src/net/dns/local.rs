//! Names and addresses that need no question to the host: the sandbox's own.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ak_net::capture::address::{Meaning, meaning};

use super::message::{Code, Data, Query, kind};
use crate::net::names::Names;

/// Whether a name is the sandbox itself, whatever the host knows.
pub fn is_own(name: &str, hostname: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost") || (!hostname.is_empty() && name == hostname)
}

/// The own addresses of the family that is asked for.
pub fn own_address(kind: u16) -> Option<Data> {
    match kind {
        kind::A => Some(Data::Ipv4(Ipv4Addr::LOCALHOST)),
        kind::AAAA => Some(Data::Ipv6(Ipv6Addr::LOCALHOST)),
        _ => None,
    }
}

/// The answer about an address: the name that it stands for.
pub fn pointer(query: &Query, names: &Names) -> Vec<u8> {
    let found = query.name.as_deref().and_then(reversed).and_then(|address| match meaning(address) {
        Meaning::Own => Some("localhost".to_owned()),
        Meaning::Synthetic(index) => names.name(index).map(str::to_owned),
        Meaning::Other(_) => None,
    });
    match found {
        Some(name) => query.answer(Code::Fine, Some(&Data::Name(name))),
        None => query.answer(Code::NoSuchName, None),
    }
}

/// `1.0.18.198.in-addr.arpa` and its IPv6 form as an address.
fn reversed(name: &str) -> Option<IpAddr> {
    if let Some(text) = name.strip_suffix(".in-addr.arpa") {
        let mut octets: Vec<&str> = text.split('.').collect();
        octets.reverse();
        return octets.join(".").parse::<Ipv4Addr>().ok().map(IpAddr::V4);
    }
    let digits: Vec<&str> = name.strip_suffix(".ip6.arpa")?.split('.').collect();
    if digits.len() != 32 || digits.iter().any(|digit| digit.len() != 1) {
        return None;
    }
    let text: String = digits.iter().rev().copied().collect();
    u128::from_str_radix(&text, 16).ok().map(|bits| IpAddr::V6(Ipv6Addr::from(bits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reversed_address_is_read_in_both_families() {
        assert_eq!(reversed("9.0.18.198.in-addr.arpa"), Some("198.18.0.9".parse().expect("an address")));
        let nibbles = "9.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.c.6.e.6.b.6.1.6.d.f.ip6.arpa";
        assert_eq!(reversed(nibbles), Some("fd61:6b6e:6c00::9".parse().expect("an address")));
        for bad in ["in-addr.arpa", "x.in-addr.arpa", "1.2.3.in-addr.arpa", "1.ip6.arpa", "example.com"] {
            assert_eq!(reversed(bad), None, "{bad}");
        }
    }

    #[test]
    fn localhost_and_the_own_name_are_the_sandbox() {
        for own in ["localhost", "a.localhost", "run-1"] {
            assert!(is_own(own, "run-1"), "{own}");
        }
        for other in ["localhost.example", "notlocalhost", "run-2", ""] {
            assert!(!is_own(other, "run-1"), "{other}");
        }
        assert!(!is_own("", ""));
    }
}
