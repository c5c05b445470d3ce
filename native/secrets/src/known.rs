//! What came of the tests of one content, in a few bits: contents are remembered by the thousand.

use super::Content;

/// Of each test whether it was made, and in the upper half whether the content passed it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Known(u32);

const HELD: u32 = 16;

impl Known {
    /// What `bits` gave. Bits of no meaning are none.
    pub fn of_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub fn bits(self) -> u32 {
        self.0
    }

    pub(crate) fn holds(self, content: Content, is_source: bool) -> Option<bool> {
        let bit = bit(content, is_source);
        (self.0 & bit != 0).then_some(self.0 & bit << HELD != 0)
    }

    pub(crate) fn note(&mut self, content: Content, is_source: bool, holds: bool) {
        let bit = bit(content, is_source);
        self.0 |= if holds { bit | bit << HELD } else { bit };
    }
}

fn bit(content: Content, is_source: bool) -> u32 {
    let test = match content {
        Content::PrivateKey => 0,
        Content::Credential => 1,
        Content::Token => 2,
        Content::Login => 3,
        Content::Remote => 4,
    };
    1 << (test * 2 + u32::from(is_source))
}
