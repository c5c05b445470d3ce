//! Expressions of an nf_tables rule: matches that a packet has to pass, then one verdict or action.

use std::net::IpAddr;

use crate::netlink::Body;

/// Attribute kinds of linux/netfilter/nf_tables.h, without their prefix.
mod attribute {
    pub const LIST_ELEM: u16 = 1;
    pub const EXPR_NAME: u16 = 1;
    pub const EXPR_DATA: u16 = 2;
    pub const META_DREG: u16 = 1;
    pub const META_KEY: u16 = 2;
    pub const CMP_SREG: u16 = 1;
    pub const CMP_OP: u16 = 2;
    pub const CMP_DATA: u16 = 3;
    pub const PAYLOAD_DREG: u16 = 1;
    pub const PAYLOAD_BASE: u16 = 2;
    pub const PAYLOAD_OFFSET: u16 = 3;
    pub const PAYLOAD_LEN: u16 = 4;
    pub const DATA_VALUE: u16 = 1;
    pub const DATA_VERDICT: u16 = 2;
    pub const VERDICT_CODE: u16 = 1;
    pub const IMMEDIATE_DREG: u16 = 1;
    pub const IMMEDIATE_DATA: u16 = 2;
    pub const REDIR_REG_PROTO_MIN: u16 = 1;
    pub const REJECT_TYPE: u16 = 1;
    pub const REJECT_ICMP_CODE: u16 = 2;
}

const REGISTER: i32 = libc::NFT_REG_1;
const DESTINATION_IN_IPV4: i32 = 16;
const DESTINATION_IN_IPV6: i32 = 24;
/// The same in TCP and UDP.
const DESTINATION_PORT: i32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expression {
    /// The transport protocol is this one.
    Protocol(u8),
    /// The packet goes to this address.
    To(IpAddr),
    /// The packet goes to 127.0.0.0/8.
    ToIpv4Loopback,
    /// TCP or UDP to this port. Only behind a `Protocol`.
    ToPort(u16),
    /// Nothing further is asked in this chain.
    Accept,
    /// To a local port of loopback instead, and the answers look as if they came from where it was going.
    Redirect(u16),
    /// Refused with the word that an administrator forbids it; the sender sees an error at once.
    Reject,
}

impl Expression {
    pub(super) fn encode(self, list: &mut Body) {
        match self {
            Self::Protocol(number) => meta_is(list, libc::NFT_META_L4PROTO, number),
            Self::To(IpAddr::V4(address)) => {
                meta_is(list, libc::NFT_META_NFPROTO, libc::NFPROTO_IPV4 as u8);
                payload_is(list, libc::NFT_PAYLOAD_NETWORK_HEADER, DESTINATION_IN_IPV4, &address.octets());
            }
            Self::To(IpAddr::V6(address)) => {
                meta_is(list, libc::NFT_META_NFPROTO, libc::NFPROTO_IPV6 as u8);
                payload_is(list, libc::NFT_PAYLOAD_NETWORK_HEADER, DESTINATION_IN_IPV6, &address.octets());
            }
            Self::ToIpv4Loopback => {
                meta_is(list, libc::NFT_META_NFPROTO, libc::NFPROTO_IPV4 as u8);
                payload_is(list, libc::NFT_PAYLOAD_NETWORK_HEADER, DESTINATION_IN_IPV4, &[127]);
            }
            Self::ToPort(port) => {
                payload_is(list, libc::NFT_PAYLOAD_TRANSPORT_HEADER, DESTINATION_PORT, &port.to_be_bytes());
            }
            Self::Accept => expression(list, "immediate", |data| {
                data.number(attribute::IMMEDIATE_DREG, libc::NFT_REG_VERDICT);
                data.nested(attribute::IMMEDIATE_DATA, |value| {
                    value.nested(attribute::DATA_VERDICT, |verdict| {
                        verdict.number(attribute::VERDICT_CODE, libc::NF_ACCEPT);
                    });
                });
            }),
            Self::Redirect(port) => {
                expression(list, "immediate", |data| {
                    data.number(attribute::IMMEDIATE_DREG, REGISTER);
                    data.nested(attribute::IMMEDIATE_DATA, |value| {
                        value.attribute(attribute::DATA_VALUE, &port.to_be_bytes());
                    });
                });
                expression(list, "redir", |data| {
                    data.number(attribute::REDIR_REG_PROTO_MIN, REGISTER);
                });
            }
            Self::Reject => expression(list, "reject", |data| {
                data.number(attribute::REJECT_TYPE, libc::NFT_REJECT_ICMPX_UNREACH);
                data.attribute(attribute::REJECT_ICMP_CODE, &[libc::NFT_REJECT_ICMPX_ADMIN_PROHIBITED as u8]);
            }),
        }
    }
}

fn meta_is(list: &mut Body, key: i32, value: u8) {
    expression(list, "meta", |data| {
        data.number(attribute::META_KEY, key);
        data.number(attribute::META_DREG, REGISTER);
    });
    compare(list, &[value]);
}

fn payload_is(list: &mut Body, base: i32, offset: i32, value: &[u8]) {
    expression(list, "payload", |data| {
        data.number(attribute::PAYLOAD_DREG, REGISTER);
        data.number(attribute::PAYLOAD_BASE, base);
        data.number(attribute::PAYLOAD_OFFSET, offset);
        data.number(attribute::PAYLOAD_LEN, value.len() as i32);
    });
    compare(list, value);
}

fn compare(list: &mut Body, value: &[u8]) {
    expression(list, "cmp", |data| {
        data.number(attribute::CMP_SREG, REGISTER);
        data.number(attribute::CMP_OP, libc::NFT_CMP_EQ);
        data.nested(attribute::CMP_DATA, |body| {
            body.attribute(attribute::DATA_VALUE, value);
        });
    });
}

fn expression(list: &mut Body, name: &str, fill: impl FnOnce(&mut Body)) {
    list.nested(attribute::LIST_ELEM, |element| {
        element.text(attribute::EXPR_NAME, name).nested(attribute::EXPR_DATA, fill);
    });
}
