//! Target of `npm run fuzz -- dns-queries`: queries from programs in a sandbox to its resolver.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::message::{Code, Data, Query};

const LONGEST_NAME: usize = 253;

pub fn query(data: &[u8]) {
    let Some(query) = Query::parse(data) else { return };
    let _ = query.unserved();
    let name = query.name.clone().unwrap_or_default();
    assert!(name.len() <= LONGEST_NAME && !name.ends_with('.') && name == name.to_lowercase(), "{name:?}");
    let answers = [
        query.answer(Code::NoSuchName, None),
        query.answer(Code::Fine, Some(&Data::Ipv4(Ipv4Addr::LOCALHOST))),
        query.answer(Code::Fine, Some(&Data::Ipv6(Ipv6Addr::LOCALHOST))),
    ];
    for answer in &answers {
        assert!(answer.len() <= 512, "an answer that no client takes");
        assert_eq!(answer[..2], data[..2], "another question's answer");
        assert!(Query::parse(answer).is_none(), "an answer is taken for a query");
    }
    if !name.is_empty() {
        assert!(query.answer(Code::Fine, Some(&Data::Name(name))).len() <= 1024);
    }
}

#[cfg(test)]
#[test]
fn kept_queries_pass() {
    ak_corpus::replay("dns-queries", query);
}
