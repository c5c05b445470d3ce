//! The addresses and ports that exist in every captured namespace, and nowhere else.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The sandbox's own addresses, on loopback. Some programs ask for a family only when the machine has an address of
/// it that is not loopback.
pub const OWN_IPV4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
pub const OWN_IPV6: Ipv6Addr = Ipv6Addr::new(0xfd61, 0x6b6e, 0x6c00, 0, 0, 0, 0, 1);

/// Where captured TCP arrives. A port that no server is likely to want.
pub const CAPTURE_PORT: u16 = 1;
pub const DNS_PORT: u16 = 53;
/// For programs that use proxy variables (src/core/proxy-address.ts has the same number).
pub const PROXY_PORT: u16 = 3128;

/// Stand-ins for names: index `n` is address `n` of both ranges. The IPv4 range is the one reserved for benchmarks
/// (198.18.0.0/15), the IPv6 one the same 64 bits as the own address.
const SYNTHETIC_IPV4: u32 = u32::from_be_bytes([198, 18, 0, 0]);
/// The first two are the network and the own address, the last is a broadcast address to some programs.
pub const SYNTHETIC_INDEXES: std::ops::Range<u32> = 2..(1 << 17) - 1;

pub fn synthetic_ipv4(index: u32) -> Ipv4Addr {
    Ipv4Addr::from(SYNTHETIC_IPV4 | index)
}

pub fn synthetic_ipv6(index: u32) -> Ipv6Addr {
    Ipv6Addr::from(u128::from(OWN_IPV6) & !u128::from(u64::MAX) | u128::from(index))
}

/// The meaning of an address that a program connects to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Loopback or the own address: nothing of the outside.
    Own,
    /// In a synthetic range, whether or not a name has it.
    Synthetic(u32),
    Other(IpAddr),
}

/// An IPv4 address that is written as an IPv6 one is the IPv4 address.
pub fn meaning(address: IpAddr) -> Meaning {
    match address.to_canonical() {
        IpAddr::V4(v4) if v4.is_loopback() || v4.is_unspecified() || v4 == OWN_IPV4 => Meaning::Own,
        IpAddr::V4(v4) if u32::from(v4) & !((1 << 17) - 1) == SYNTHETIC_IPV4 => {
            Meaning::Synthetic(u32::from(v4) - SYNTHETIC_IPV4)
        }
        IpAddr::V6(v6) if v6.is_loopback() || v6.is_unspecified() || v6 == OWN_IPV6 => Meaning::Own,
        IpAddr::V6(v6) if u128::from(v6) >> 64 == u128::from(OWN_IPV6) >> 64 => {
            // An index that does not fit belongs to no name.
            Meaning::Synthetic(u32::try_from(u128::from(v6) & u128::from(u64::MAX)).unwrap_or(u32::MAX))
        }
        other => Meaning::Other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_found_again_in_both_families() {
        for index in [2, 77, 65_536, SYNTHETIC_INDEXES.end - 1] {
            assert_eq!(meaning(synthetic_ipv4(index).into()), Meaning::Synthetic(index));
            assert_eq!(meaning(synthetic_ipv6(index).into()), Meaning::Synthetic(index));
            assert_eq!(meaning(synthetic_ipv4(index).to_ipv6_mapped().into()), Meaning::Synthetic(index));
        }
        assert_eq!(synthetic_ipv4(SYNTHETIC_INDEXES.end), Ipv4Addr::new(198, 19, 255, 255));
    }

    #[test]
    fn own_addresses_are_nothing_of_the_outside() {
        for own in
            ["127.0.0.1", "127.9.9.9", "0.0.0.0", "198.18.0.1", "::1", "::", "::ffff:127.0.0.1", "fd61:6b6e:6c00::1"]
        {
            assert_eq!(meaning(own.parse().expect("an address")), Meaning::Own, "{own}");
        }
        for other in ["198.17.255.255", "198.20.0.0", "fd61:6b6e:6c00:1::2", "192.0.2.1"] {
            let address: IpAddr = other.parse().expect("an address");
            assert_eq!(meaning(address), Meaning::Other(address));
        }
    }
}
