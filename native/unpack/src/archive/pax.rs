//! Extended headers: records of any length, each with its length before it.

use super::{header::Time, malformed, sparse::SparseHeader};
use crate::refused::Refused;

const XATTR: &[u8] = b"SCHILY.xattr.";
const SPARSE: &[u8] = b"GNU.sparse.";

#[derive(Default)]
pub struct Pax {
    pub path: Option<Vec<u8>>,
    pub link: Option<Vec<u8>>,
    pub size: Option<u64>,
    pub uid: Option<u64>,
    pub gid: Option<u64>,
    pub time: Option<Time>,
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
    pub sparse: SparseHeader,
}

impl Pax {
    pub fn parse(mut text: &[u8]) -> Result<Self, Refused> {
        let mut pax = Self::default();
        while !text.is_empty() {
            let (record, rest) = split_record(text).ok_or_else(|| malformed("an extended header's records"))?;
            let equals = record.iter().position(|&b| b == b'=').ok_or_else(|| malformed("a record without a name"))?;
            pax.take(&record[..equals], &record[equals + 1..])?;
            text = rest;
        }
        Ok(pax)
    }

    fn take(&mut self, key: &[u8], value: &[u8]) -> Result<(), Refused> {
        if let Some(name) = key.strip_prefix(XATTR) {
            self.attributes.push((name.to_vec(), value.to_vec()));
            return Ok(());
        }
        if let Some(name) = key.strip_prefix(SPARSE) {
            return self.sparse.take(name, value);
        }
        // An empty value leaves it to the plain header.
        if value.is_empty() {
            return Ok(());
        }
        match key {
            b"path" => self.path = Some(value.to_vec()),
            b"linkpath" => self.link = Some(value.to_vec()),
            b"size" => self.size = Some(count(value)?),
            b"uid" => self.uid = Some(count(value)?),
            b"gid" => self.gid = Some(count(value)?),
            b"mtime" => self.time = Some(time(value).ok_or_else(|| malformed("a time that is no number"))?),
            _ => {}
        }
        Ok(())
    }
}

/// The record without its length and line end, and what follows it.
fn split_record(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = text.iter().take(8).position(|&byte| byte == b' ')?;
    let length = usize::try_from(digits(&text[..space])?).ok()?;
    let record = text.get(space + 1..length)?;
    Some((record.strip_suffix(b"\n")?, &text[length..]))
}

pub fn count(text: &[u8]) -> Result<u64, Refused> {
    digits(text).ok_or_else(|| malformed("an extended header has no number where one must be"))
}

fn digits(text: &[u8]) -> Option<u64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(text).ok()?.parse().ok())?
}

fn time(text: &[u8]) -> Option<Time> {
    let (is_negative, text) = text.strip_prefix(b"-").map_or((false, text), |rest| (true, rest));
    let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
    let seconds = i64::try_from(digits(&text[..point])?).ok()?;
    let fraction = text.get(point + 1..).unwrap_or_default();
    if !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |place: usize| fraction.get(place).map_or(0, |&byte| u32::from(byte - b'0'));
    let nanoseconds = (0..9).fold(0, |sum, place| sum * 10 + digit(place));
    Some(match (is_negative, nanoseconds) {
        (false, _) => Time { seconds, nanoseconds },
        (true, 0) => Time { seconds: -seconds, nanoseconds },
        (true, _) => Time { seconds: -seconds - 1, nanoseconds: 1_000_000_000 - nanoseconds },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_as_long_as_they_say() {
        let pax = Pax::parse(b"27 SCHILY.xattr.user.a=\n1\n\n12 path=a\nb\n").expect("well-formed");
        assert_eq!(pax.attributes, [(b"user.a".to_vec(), b"\n1\n".to_vec())]);
        assert_eq!(pax.path.as_deref(), Some(&b"a\nb"[..]));
    }

    #[test]
    fn other_records_are_refused() {
        for wrong in [
            &b"8 path=a\n"[..],
            b"11 path=a\n",
            b"10 path=ab",
            b"path=a\n",
            b"9 nothing\n",
            b"0 \n",
            b"3 \n",
            b"8 uid=x\n",
        ] {
            assert!(Pax::parse(wrong).is_err(), "{:?}", String::from_utf8_lossy(wrong));
        }
    }

    #[test]
    fn times_have_fractions_and_may_lie_before_1970() {
        let at = |seconds, nanoseconds| Some(Time { seconds, nanoseconds });
        assert_eq!(time(b"1700000000.5"), at(1_700_000_000, 500_000_000));
        assert_eq!(time(b"1.0000000019"), at(1, 1));
        assert_eq!(time(b"-1"), at(-1, 0));
        assert_eq!(time(b"-1.25"), at(-2, 750_000_000));
        for wrong in [&b""[..], b"x", b".5", b"1.x", b"--1"] {
            assert_eq!(time(wrong), None);
        }
    }
}
