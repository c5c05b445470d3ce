use std::fmt;

/// Why something in a repository cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(String);

pub type Result<T> = std::result::Result<T, Malformed>;

impl Malformed {
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}
