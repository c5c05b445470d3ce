//! Object ids, of SHA-1 and SHA-256 repositories.

use std::fmt;

pub const SHA1: usize = 20;
pub const SHA256: usize = 32;

const EMPTY_BLOBS: [&str; 2] =
    ["e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    bytes: [u8; SHA256],
    length: u8,
}

impl Id {
    /// None unless there are exactly as many bytes as an id has.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != SHA1 && bytes.len() != SHA256 {
            return None;
        }
        let mut id = Self { bytes: [0; SHA256], length: bytes.len() as u8 };
        id.bytes[..bytes.len()].copy_from_slice(bytes);
        Some(id)
    }

    pub fn parse(hex: &[u8]) -> Option<Self> {
        let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
        let digits: Vec<u8> = hex.iter().map(digit).collect::<Option<_>>()?;
        if !digits.len().is_multiple_of(2) {
            return None;
        }
        Self::of(&digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect::<Vec<_>>())
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Whether this is the id of an empty file.
    pub fn is_empty_blob(&self) -> bool {
        let hex = self.to_string();
        EMPTY_BLOBS.contains(&hex.as_str())
    }

    pub fn is_null(&self) -> bool {
        self.bytes().iter().all(|byte| *byte == 0)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_twenty_or_thirty_two_bytes() {
        for hex in EMPTY_BLOBS {
            let id = Id::parse(hex.as_bytes()).expect("an id");
            assert!(id.is_empty_blob() && !id.is_null());
            assert_eq!(id.to_string(), hex);
        }
        for hex in
            ["", "e69de2", "z69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "e69de29bb2d1d6434b8b29ae775ad8c2e48c53915"]
        {
            assert_eq!(Id::parse(hex.as_bytes()), None, "{hex}");
        }
    }
}
