//! Messages as clients send them, and malformed ones.

use super::*;

/// A query with this name (labels), kind and class.
pub fn query(labels: &[&[u8]], kind: u16, class: u16) -> Vec<u8> {
    let mut bytes = vec![0xab, 0xcd, 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in labels {
        bytes.push(label.len() as u8);
        bytes.extend_from_slice(label);
    }
    bytes.push(0);
    bytes.extend_from_slice(&kind.to_be_bytes());
    bytes.extend_from_slice(&class.to_be_bytes());
    bytes
}

fn with_edns(mut bytes: Vec<u8>, version: u8) -> Vec<u8> {
    bytes[11] += 1;
    bytes.extend_from_slice(&[0, 0, 41, 0x10, 0, 0, version, 0, 0, 0, 0]);
    bytes
}

#[test]
fn a_name_is_read_in_lower_case_and_echoed_as_it_came() {
    let bytes = query(&[b"WWW", b"eXample", b"com"], kind::A, 1);
    let read = Query::parse(&bytes).expect("a query");
    assert_eq!((read.name.as_deref(), read.kind, read.unserved()), (Some("www.example.com"), kind::A, None));
    let answer = read.answer(Code::Fine, Some(&Data::Ipv4(Ipv4Addr::new(198, 18, 0, 9))));
    assert_eq!(answer[..4], [0xab, 0xcd, 0x81, 0x80], "the same id, recursion as asked and on offer, no error");
    assert_eq!(answer[4..12], [0, 1, 0, 1, 0, 0, 0, 0]);
    assert_eq!(answer[12..bytes.len()], bytes[12..]);
    let record = &answer[bytes.len()..];
    assert_eq!(record, [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 10, 0, 4, 198, 18, 0, 9]);
}

#[test]
fn who_speaks_edns_is_answered_with_it_and_nobody_else() {
    let plain = Query::parse(&query(&[b"a"], kind::A, 1)).expect("a query").answer(Code::NoSuchName, None);
    assert_eq!(plain[10..12], [0, 0]);
    assert_eq!(plain[3] & 0xf, 3);
    let read = Query::parse(&with_edns(query(&[b"a"], kind::A, 1), 0)).expect("a query");
    let answer = read.answer(Code::NoSuchName, None);
    assert_eq!(answer[10..12], [0, 1]);
    assert!(answer.ends_with(&[0, 0, 41, 0x04, 0xd0, 0, 0, 0, 0, 0, 0]));
}

#[test]
fn a_later_edns_version_is_told_which_one_there_is() {
    let read = Query::parse(&with_edns(query(&[b"a"], kind::A, 1), 1)).expect("a query");
    assert_eq!(read.unserved(), Some(Code::BadVersion));
    let answer = read.answer(Code::BadVersion, None);
    assert_eq!(answer[3] & 0xf, 0);
    assert!(answer.ends_with(&[0, 0, 41, 0x04, 0xd0, 1, 0, 0, 0, 0, 0]), "the upper bits of the code are in EDNS");
}

#[test]
fn what_is_no_question_about_records_is_not_served() {
    let mut update = query(&[b"a"], kind::A, 1);
    update[2] = 5 << 3;
    assert_eq!(Query::parse(&update).expect("whole").unserved(), Some(Code::NotImplemented));
    for kind in [251, 252, 255] {
        let read = Query::parse(&query(&[b"a"], kind, 1)).expect("whole");
        assert_eq!(read.unserved(), Some(Code::NotImplemented));
    }
    let chaos = Query::parse(&query(&[b"version", b"bind"], 16, 3)).expect("whole");
    assert_eq!(chaos.unserved(), Some(Code::Refused));
}

#[test]
fn a_name_that_no_host_has_is_read_and_not_shown() {
    for label in [&b"a b"[..], b"a.b", b"\0", b"\xc3\xa4", b"a/b"] {
        let read = Query::parse(&query(&[label, b"com"], kind::A, 1)).expect("whole");
        assert_eq!(read.name, None);
    }
    assert_eq!(Query::parse(&query(&[], kind::A, 1)).expect("the root").name.as_deref(), Some(""));
}

#[test]
fn what_is_cut_anywhere_or_claims_too_much_is_ignored() {
    let whole = with_edns(query(&[b"www", b"example", b"com"], kind::A, 1), 0);
    for length in 0..whole.len() {
        assert_eq!(Query::parse(&whole[..length]), None, "{length} bytes");
    }
    let long = [&[b'a'; 63][..]; 4];
    assert_eq!(Query::parse(&query(&long, kind::A, 1)), None, "257 bytes of name");
    let mut pointer = query(&[b"a"], kind::A, 1);
    pointer.splice(12..13, [0xc0, 12]);
    assert_eq!(Query::parse(&pointer), None, "a pointer in a question");
    let mut answer = query(&[b"a"], kind::A, 1);
    answer[2] |= 0x80;
    assert_eq!(Query::parse(&answer), None, "an answer");
    let mut two = query(&[b"a"], kind::A, 1);
    two[5] = 2;
    assert_eq!(Query::parse(&two), None, "two questions");
    let mut twice = with_edns(with_edns(query(&[b"a"], kind::A, 1), 0), 0);
    assert_eq!(Query::parse(&twice), None, "EDNS twice");
    twice[11] = 1;
    assert!(Query::parse(&twice).is_some(), "what follows a whole message is none of it");
}

#[test]
fn no_bytes_make_it_panic_and_every_answer_fits_the_smallest_datagram() {
    // xorshift: any bytes will do, as long as they are the same ones each time.
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let longest = query(&[&[b'a'; 63], &[b'b'; 63], &[b'c'; 63], &[b'd'; 61]], kind::PTR, 1);
    for _ in 0..200_000 {
        let mut bytes = with_edns(longest.clone(), 0);
        for _ in 0..random() % 8 {
            let at = random() as usize % bytes.len();
            bytes[at] = random() as u8;
        }
        bytes.truncate(random() as usize % (bytes.len() + 1));
        if let Some(read) = Query::parse(&bytes) {
            let answer = read.answer(Code::Fine, Some(&Data::Name("e".repeat(63))));
            assert!(answer.len() <= 512, "{}", answer.len());
        }
    }
}
