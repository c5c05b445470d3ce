//! One inet table whose nat output chain redirects all TCP to a local port.

use std::io;

use rustix::net::netlink;

use super::{ACK, Batch, Body, CREATE, Socket};

/// Attribute kinds of linux/netfilter/nf_tables.h, without their prefix.
mod attribute {
    pub const TABLE_NAME: u16 = 1;
    pub const CHAIN_TABLE: u16 = 1;
    pub const CHAIN_NAME: u16 = 3;
    pub const CHAIN_HOOK: u16 = 4;
    pub const CHAIN_TYPE: u16 = 7;
    pub const HOOK_HOOKNUM: u16 = 1;
    pub const HOOK_PRIORITY: u16 = 2;
    pub const RULE_TABLE: u16 = 1;
    pub const RULE_CHAIN: u16 = 2;
    pub const RULE_EXPRESSIONS: u16 = 4;
    pub const LIST_ELEM: u16 = 1;
    pub const EXPR_NAME: u16 = 1;
    pub const EXPR_DATA: u16 = 2;
    pub const META_DREG: u16 = 1;
    pub const META_KEY: u16 = 2;
    pub const CMP_SREG: u16 = 1;
    pub const CMP_OP: u16 = 2;
    pub const CMP_DATA: u16 = 3;
    pub const DATA_VALUE: u16 = 1;
    pub const IMMEDIATE_DREG: u16 = 1;
    pub const IMMEDIATE_DATA: u16 = 2;
    pub const REDIR_REG_PROTO_MIN: u16 = 1;
}

const TABLE: &str = "probe";
const CHAIN: &str = "out";
/// Where iptables and nft put destination nat of local output.
const PRIORITY: i32 = -100;

pub fn redirect_tcp_to(port: u16) -> io::Result<()> {
    let mut batch = Batch::default();
    let subsystem = libc::NFNL_SUBSYS_NFTABLES as u16;
    batch.message(libc::NFNL_MSG_BATCH_BEGIN as u16, 0, |body| {
        family(body, libc::AF_UNSPEC, subsystem);
    });
    message(&mut batch, libc::NFT_MSG_NEWTABLE, |body| {
        body.text(attribute::TABLE_NAME, TABLE);
    });
    message(&mut batch, libc::NFT_MSG_NEWCHAIN, |body| {
        body.text(attribute::CHAIN_TABLE, TABLE)
            .text(attribute::CHAIN_NAME, CHAIN)
            .text(attribute::CHAIN_TYPE, "nat")
            .nested(attribute::CHAIN_HOOK, |hook| {
                number(hook, attribute::HOOK_HOOKNUM, libc::NF_INET_LOCAL_OUT);
                number(hook, attribute::HOOK_PRIORITY, PRIORITY);
            });
    });
    message(&mut batch, libc::NFT_MSG_NEWRULE, |body| {
        body.text(attribute::RULE_TABLE, TABLE).text(attribute::RULE_CHAIN, CHAIN).nested(
            attribute::RULE_EXPRESSIONS,
            |list| {
                redirect_rule(list, port);
            },
        );
    });
    batch.message(libc::NFNL_MSG_BATCH_END as u16, 0, |body| {
        family(body, libc::AF_UNSPEC, subsystem);
    });
    Socket::open(Some(netlink::NETFILTER))?.apply(&batch)
}

/// `meta l4proto tcp redirect to :port`
fn redirect_rule(list: &mut Body, port: u16) {
    expression(list, "meta", |data| {
        number(data, attribute::META_KEY, libc::NFT_META_L4PROTO);
        number(data, attribute::META_DREG, libc::NFT_REG_1);
    });
    expression(list, "cmp", |data| {
        number(data, attribute::CMP_SREG, libc::NFT_REG_1);
        number(data, attribute::CMP_OP, libc::NFT_CMP_EQ);
        data.nested(attribute::CMP_DATA, |value| {
            value.attribute(attribute::DATA_VALUE, &[libc::IPPROTO_TCP as u8]);
        });
    });
    expression(list, "immediate", |data| {
        number(data, attribute::IMMEDIATE_DREG, libc::NFT_REG_1);
        data.nested(attribute::IMMEDIATE_DATA, |value| {
            value.attribute(attribute::DATA_VALUE, &port.to_be_bytes());
        });
    });
    expression(list, "redir", |data| {
        number(data, attribute::REDIR_REG_PROTO_MIN, libc::NFT_REG_1);
    });
}

fn expression(list: &mut Body, name: &str, fill: impl FnOnce(&mut Body)) {
    list.nested(attribute::LIST_ELEM, |element| {
        element.text(attribute::EXPR_NAME, name).nested(attribute::EXPR_DATA, fill);
    });
}

fn message(batch: &mut Batch, kind: i32, fill: impl FnOnce(&mut Body)) {
    let kind = (libc::NFNL_SUBSYS_NFTABLES << 8 | kind) as u16;
    batch.message(kind, ACK | CREATE, |body| {
        family(body, libc::NFPROTO_INET, 0);
        fill(body);
    });
}

fn family(body: &mut Body, family: i32, resource: u16) {
    body.raw(&[family as u8, libc::NFNETLINK_V0 as u8]).raw(&resource.to_be_bytes());
}

/// nf_tables speaks network byte order.
fn number(body: &mut Body, kind: u16, value: i32) {
    body.attribute(kind, &value.to_be_bytes());
}
