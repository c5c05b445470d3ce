//! DNS messages: a query read with every length checked, and the answers that
//! the stub gives. An answer always fits the smallest datagram that clients take.

use std::net::{Ipv4Addr, Ipv6Addr};

const HEADER: usize = 12;
const MAX_NAME: usize = 255;
const MAX_LABEL: usize = 63;
/// Programs that ask again soon ask the host again, which may have changed its mind.
const TTL_SECONDS: u32 = 10;
/// The EDNS payload size that we announce to clients; the customary value.
const EDNS_PAYLOAD: u16 = 1232;
const CLASS_IN: u16 = 1;
const OPT: u16 = 41;

pub mod kind {
    pub const A: u16 = 1;
    pub const PTR: u16 = 12;
    pub const AAAA: u16 = 28;
    /// From here on come questions about servers and zones, not about records.
    pub const FIRST_META: u16 = 249;
    pub const LAST_META: u16 = 255;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Fine = 0,
    ServerFailure = 2,
    NoSuchName = 3,
    NotImplemented = 4,
    Refused = 5,
    /// Only with EDNS, where it has more bits.
    BadVersion = 16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    Ipv4(Ipv4Addr),
    Ipv6(Ipv6Addr),
    Name(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    id: u16,
    opcode: u8,
    recursion_desired: bool,
    /// As it came, for the answer: clients compare it byte by byte.
    question: Vec<u8>,
    /// In lower case and without the last dot; none where a byte is in it that no host name has.
    pub name: Option<String>,
    pub kind: u16,
    class: u16,
    edns_version: Option<u8>,
}

impl Query {
    /// None for what is no query, or not whole: it is not worth an answer.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER] = bytes.first_chunk()?;
        let count = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let is_answer = header[2] & 0x80 != 0;
        if is_answer || count(4) != 1 {
            return None;
        }
        let mut reader = Reader { bytes, at: HEADER };
        let name = reader.question_name()?;
        let (kind, class) = (reader.u16()?, reader.u16()?);
        let question = bytes[HEADER..reader.at].to_vec();
        let mut edns_version = None;
        let records = u32::from(count(6)) + u32::from(count(8)) + u32::from(count(10));
        for _ in 0..records {
            if let Some(version) = reader.record()? {
                // A second one is malformed.
                if edns_version.replace(version).is_some() {
                    return None;
                }
            }
        }
        let opcode = header[2] >> 3 & 0xf;
        let recursion_desired = header[2] & 1 != 0;
        Some(Self { id: count(0), opcode, recursion_desired, question, name, kind, class, edns_version })
    }

    /// The answer to what is no question about the records of a name.
    pub fn unserved(&self) -> Option<Code> {
        match self {
            Self { opcode: 1.., .. } => Some(Code::NotImplemented),
            Self { edns_version: Some(1..), .. } => Some(Code::BadVersion),
            Self { class, .. } if *class != CLASS_IN => Some(Code::Refused),
            Self { kind: kind::FIRST_META..=kind::LAST_META, .. } => Some(Code::NotImplemented),
            _ => None,
        }
    }

    pub fn answer(&self, code: Code, data: Option<&Data>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128);
        bytes.extend_from_slice(&self.id.to_be_bytes());
        bytes.push(0x80 | self.opcode << 3 | u8::from(self.recursion_desired));
        bytes.push(0x80 | code as u8 & 0xf);
        for count in [1, u16::from(data.is_some()), 0, u16::from(self.edns_version.is_some())] {
            bytes.extend_from_slice(&count.to_be_bytes());
        }
        bytes.extend_from_slice(&self.question);
        if let Some(data) = data {
            self.record(&mut bytes, data);
        }
        if self.edns_version.is_some() {
            bytes.push(0);
            bytes.extend_from_slice(&OPT.to_be_bytes());
            bytes.extend_from_slice(&EDNS_PAYLOAD.to_be_bytes());
            bytes.extend_from_slice(&[code as u8 >> 4, 0, 0, 0, 0, 0]);
        }
        bytes
    }

    fn record(&self, bytes: &mut Vec<u8>, data: &Data) {
        let value = match data {
            Data::Ipv4(address) => address.octets().to_vec(),
            Data::Ipv6(address) => address.octets().to_vec(),
            Data::Name(name) => encode_name(name),
        };
        // The name is the question's.
        bytes.extend_from_slice(&[0xc0, HEADER as u8]);
        bytes.extend_from_slice(&self.kind.to_be_bytes());
        bytes.extend_from_slice(&CLASS_IN.to_be_bytes());
        bytes.extend_from_slice(&TTL_SECONDS.to_be_bytes());
        bytes.extend_from_slice(&(value.len() as u16).to_be_bytes());
        bytes.extend_from_slice(&value);
    }
}

/// Precondition: a name that a query had.
fn encode_name(name: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(name.len() + 2);
    for label in name.split('.') {
        bytes.push(label.len() as u8);
        bytes.extend_from_slice(label.as_bytes());
    }
    bytes.push(0);
    bytes
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// The outer none is a malformed name, the inner one a name that no host has. Nothing that a pointer could point
    /// to comes before a question.
    fn question_name(&mut self) -> Option<Option<String>> {
        let start = self.at;
        let mut name = String::new();
        let mut plain = true;
        loop {
            let length = usize::from(self.u8()?);
            if length == 0 {
                return Some(plain.then_some(name));
            }
            if length > MAX_LABEL {
                return None;
            }
            let label = self.take(length)?;
            if self.at - start >= MAX_NAME {
                return None;
            }
            if !name.is_empty() {
                name.push('.');
            }
            for byte in label {
                plain &= byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
                name.push(char::from(byte.to_ascii_lowercase()));
            }
        }
    }

    /// Skips one record; the EDNS version if it is that one.
    fn record(&mut self) -> Option<Option<u8>> {
        loop {
            match usize::from(self.u8()?) {
                0 => break,
                // A pointer ends a name.
                0xc0..=0xff => {
                    self.u8()?;
                    break;
                }
                length if length <= MAX_LABEL => {
                    self.take(length)?;
                }
                _ => return None,
            }
        }
        let kind = self.u16()?;
        self.take(2)?;
        let ttl = self.take(4)?;
        let length = usize::from(self.u16()?);
        self.take(length)?;
        Some((kind == OPT).then_some(ttl[1]))
    }
}

#[cfg(test)]
#[path = "message_test.rs"]
mod tests;
