//! Why a byte string is no frame. The slugs are part of the shared vectors.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    UnknownType,
    Reserved,
    BadDirection,
    BadChannel,
    BadStream,
    Oversize,
    BadLength,
    BadCredit,
    BadJson,
}

impl Violation {
    pub fn slug(self) -> &'static str {
        match self {
            Self::UnknownType => "unknown-type",
            Self::Reserved => "reserved",
            Self::BadDirection => "bad-direction",
            Self::BadChannel => "bad-channel",
            Self::BadStream => "bad-stream",
            Self::Oversize => "oversize",
            Self::BadLength => "bad-length",
            Self::BadCredit => "bad-credit",
            Self::BadJson => "bad-json",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}

impl std::error::Error for Violation {}
