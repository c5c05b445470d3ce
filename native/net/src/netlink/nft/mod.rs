//! One transaction of nf_tables: a table with chains and rules, loaded as a whole or not at all.

pub mod expression;

use std::io;

use rustix::net::netlink;

use super::{Batch, Body, CREATE, Socket};
use expression::Expression;

/// Attribute kinds of linux/netfilter/nf_tables.h, without their prefix.
mod attribute {
    pub const TABLE_NAME: u16 = 1;
    pub const CHAIN_TABLE: u16 = 1;
    pub const CHAIN_NAME: u16 = 3;
    pub const CHAIN_HOOK: u16 = 4;
    pub const CHAIN_POLICY: u16 = 5;
    pub const CHAIN_TYPE: u16 = 7;
    pub const HOOK_HOOKNUM: u16 = 1;
    pub const HOOK_PRIORITY: u16 = 2;
    pub const RULE_TABLE: u16 = 1;
    pub const RULE_CHAIN: u16 = 2;
    pub const RULE_EXPRESSIONS: u16 = 4;
}

const APPEND: u16 = libc::NLM_F_APPEND as u16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    Accept,
    Drop,
}

/// A chain at the hook that every locally made packet passes.
pub struct OutputChain<'a> {
    pub name: &'a str,
    /// `nat` or `filter`.
    pub kind: &'a str,
    pub priority: i32,
    pub policy: Policy,
}

/// A table of the inet family, for IPv4 and IPv6.
pub struct Transaction<'a> {
    table: &'a str,
    batch: Batch,
}

impl<'a> Transaction<'a> {
    pub fn new(table: &'a str) -> Self {
        let mut batch = Batch::default();
        mark(&mut batch, libc::NFNL_MSG_BATCH_BEGIN);
        message(&mut batch, libc::NFT_MSG_NEWTABLE, 0, |body| {
            body.text(attribute::TABLE_NAME, table);
        });
        Self { table, batch }
    }

    pub fn chain(&mut self, chain: &OutputChain) -> &mut Self {
        let table = self.table;
        message(&mut self.batch, libc::NFT_MSG_NEWCHAIN, 0, |body| {
            body.text(attribute::CHAIN_TABLE, table)
                .text(attribute::CHAIN_NAME, chain.name)
                .text(attribute::CHAIN_TYPE, chain.kind)
                .nested(attribute::CHAIN_HOOK, |hook| {
                    hook.number(attribute::HOOK_HOOKNUM, libc::NF_INET_LOCAL_OUT);
                    hook.number(attribute::HOOK_PRIORITY, chain.priority);
                })
                .number(
                    attribute::CHAIN_POLICY,
                    match chain.policy {
                        Policy::Accept => libc::NF_ACCEPT,
                        Policy::Drop => libc::NF_DROP,
                    },
                );
        });
        self
    }

    /// Behind the rules that the chain has already.
    pub fn rule(&mut self, chain: &str, expressions: &[Expression]) -> &mut Self {
        let table = self.table;
        message(&mut self.batch, libc::NFT_MSG_NEWRULE, APPEND, |body| {
            body.text(attribute::RULE_TABLE, table).text(attribute::RULE_CHAIN, chain).nested(
                attribute::RULE_EXPRESSIONS,
                |list| {
                    for expression in expressions {
                        expression.encode(list);
                    }
                },
            );
        });
        self
    }

    /// Loads all of it.
    pub fn commit(mut self) -> io::Result<()> {
        // Only the newest kernels would acknowledge the end of the batch; errors of the whole batch arrive before this.
        self.batch.ask_for_an_answer();
        mark(&mut self.batch, libc::NFNL_MSG_BATCH_END);
        Socket::open(Some(netlink::NETFILTER))?.apply(&self.batch)
    }
}

fn mark(batch: &mut Batch, kind: i32) {
    batch.message(kind as u16, 0, |body| family(body, libc::AF_UNSPEC, libc::NFNL_SUBSYS_NFTABLES as u16));
}

fn message(batch: &mut Batch, kind: i32, flags: u16, fill: impl FnOnce(&mut Body)) {
    let kind = (libc::NFNL_SUBSYS_NFTABLES << 8 | kind) as u16;
    batch.message(kind, CREATE | flags, |body| {
        family(body, libc::NFPROTO_INET, 0);
        fill(body);
    });
}

fn family(body: &mut Body, family: i32, resource: u16) {
    body.raw(&[family as u8, libc::NFNETLINK_V0 as u8]).raw(&resource.to_be_bytes());
}

impl Body {
    /// nf_tables speaks network byte order.
    fn number(&mut self, kind: u16, value: i32) -> &mut Self {
        self.attribute(kind, &value.to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{attributes, messages};
    use super::{Expression, OutputChain, Policy, Transaction};

    #[test]
    fn a_rule_names_its_table_and_chain_and_lists_its_expressions_in_order() {
        let mut load = Transaction::new("t");
        load.chain(&OutputChain { name: "c", kind: "filter", priority: -7, policy: Policy::Drop });
        load.rule("c", &[Expression::Protocol(6), Expression::Accept]);
        let read: Vec<(u16, Vec<u8>)> = messages(&load.batch.bytes).map(|(kind, body)| (kind, body.to_vec())).collect();
        let kinds: Vec<u16> = read.iter().map(|(kind, _)| *kind).collect();
        let of_nft = |kind: i32| (libc::NFNL_SUBSYS_NFTABLES << 8 | kind) as u16;
        assert_eq!(
            kinds,
            [
                libc::NFNL_MSG_BATCH_BEGIN as u16,
                of_nft(libc::NFT_MSG_NEWTABLE),
                of_nft(libc::NFT_MSG_NEWCHAIN),
                of_nft(libc::NFT_MSG_NEWRULE)
            ]
        );
        let chain: Vec<(u16, &[u8])> = attributes(&read[2].1[4..]).collect();
        assert_eq!(chain[0], (1, &b"t\0"[..]));
        assert_eq!(chain[1], (3, &b"c\0"[..]));
        assert_eq!(chain[4], (5, &[0, 0, 0, 0][..]), "the policy is to drop");
        let hook: Vec<(u16, &[u8])> = attributes(chain[3].1).collect();
        assert_eq!(hook[1], (2, &(-7i32).to_be_bytes()[..]));
        let rule: Vec<(u16, &[u8])> = attributes(&read[3].1[4..]).collect();
        let names: Vec<&[u8]> =
            attributes(rule[2].1).filter_map(|(_, element)| attributes(element).next().map(|(_, name)| name)).collect();
        assert_eq!(names, [&b"meta\0"[..], b"cmp\0", b"immediate\0"]);
    }
}
