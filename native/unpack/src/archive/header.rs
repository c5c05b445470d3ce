//! One header block.

use super::{malformed, sparse::Segment};
use crate::refused::Refused;

pub const BLOCK: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    pub seconds: i64,
    pub nanoseconds: u32,
}

pub struct Header {
    block: [u8; BLOCK],
}

impl Header {
    pub fn parse(block: [u8; BLOCK]) -> Result<Self, Refused> {
        let header = Self { block };
        let counted = |byte: fn(u8) -> i64| {
            let spaces = 8 * i64::from(b' ');
            block[..148].iter().chain(&block[156..]).map(|&b| byte(b)).sum::<i64>() + spaces
        };
        let said = header.number(148, 8, "checksum")?;
        // Some old programs added the bytes up as signed ones.
        if said == counted(i64::from) || said == counted(|b| i64::from(b as i8)) {
            Ok(header)
        } else {
            Err(malformed("a header's checksum is wrong"))
        }
    }

    pub fn kind(&self) -> u8 {
        self.block[156]
    }

    pub fn path(&self) -> Vec<u8> {
        let name = self.text(0, 100);
        // GNU's archives have other things where the first part of a long name would be.
        let prefix = if &self.block[257..263] == b"ustar\0" { self.text(345, 155) } else { &[] };
        if prefix.is_empty() { name.to_vec() } else { [prefix, name].join(&b'/') }
    }

    pub fn link(&self) -> Vec<u8> {
        self.text(157, 100).to_vec()
    }

    pub fn mode(&self) -> Result<u32, Refused> {
        Ok((self.number(100, 8, "mode")? & 0o7777) as u32)
    }

    pub fn uid(&self) -> Result<u64, Refused> {
        self.count(108, 8, "owner")
    }

    pub fn gid(&self) -> Result<u64, Refused> {
        self.count(116, 8, "group")
    }

    pub fn size(&self) -> Result<u64, Refused> {
        self.count(124, 12, "size")
    }

    pub fn time(&self) -> Result<Time, Refused> {
        Ok(Time { seconds: self.number(136, 12, "time")?, nanoseconds: 0 })
    }

    /// Returns the segments of an old GNU sparse file that fit in the header, and whether an extension block follows.
    pub fn segments(&self) -> Result<(Vec<Segment>, bool), Refused> {
        let mut segments = Vec::new();
        push_segments(&self.block[386..482], &mut segments)?;
        Ok((segments, self.block[482] != 0))
    }

    pub fn real_size(&self) -> Result<u64, Refused> {
        self.count(483, 12, "size")
    }

    fn text(&self, at: usize, length: usize) -> &[u8] {
        let field = &self.block[at..at + length];
        &field[..field.iter().position(|&byte| byte == 0).unwrap_or(length)]
    }

    fn number(&self, at: usize, length: usize, what: &str) -> Result<i64, Refused> {
        number(&self.block[at..at + length]).ok_or_else(|| malformed(&format!("a header has no number as {what}")))
    }

    fn count(&self, at: usize, length: usize, what: &str) -> Result<u64, Refused> {
        let number = self.number(at, length, what)?;
        u64::try_from(number).map_err(|_| malformed(&format!("a header has a negative {what}")))
    }
}

/// A list of offsets and lengths, up to the first empty place.
pub fn push_segments(fields: &[u8], segments: &mut Vec<Segment>) -> Result<(), Refused> {
    for pair in fields.chunks_exact(24) {
        if pair[0] == 0 {
            break;
        }
        let read = |field| number(field).and_then(|n| u64::try_from(n).ok());
        let (Some(offset), Some(length)) = (read(&pair[..12]), read(&pair[12..])) else {
            return Err(malformed("a sparse file's parts are no numbers"));
        };
        segments.push(Segment { offset, length });
    }
    Ok(())
}

/// Octal digits, or where the first bit is set a binary number.
fn number(field: &[u8]) -> Option<i64> {
    if field[0] & 0x80 != 0 {
        let is_negative = field[0] & 0x40 != 0;
        let first = if is_negative { i128::from(field[0]) - 0x100 } else { i128::from(field[0] & 0x7f) };
        let value = field[1..].iter().fold(first, |sum, &byte| (sum << 8) | i128::from(byte));
        return i64::try_from(value).ok();
    }
    let is_filler = |byte: &u8| matches!(byte, b' ' | 0);
    let digits = &field[field.iter().position(|b| !is_filler(b)).unwrap_or(field.len())..];
    let digits = &digits[..digits.iter().position(is_filler).unwrap_or(digits.len())];
    digits.iter().try_fold(0i64, |sum, &digit| match digit {
        b'0'..=b'7' => Some((sum << 3) | i64::from(digit - b'0')),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_octal_or_binary() {
        assert_eq!(number(b"0000644\0"), Some(0o644));
        assert_eq!(number(b"   755 \0"), Some(0o755));
        assert_eq!(number(b"\0\0\0\0\0\0\0\0"), Some(0));
        assert_eq!(number(b"\x80\0\0\0\0\x01\x11\x70"), Some(70_000));
        assert_eq!(number(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe"), Some(-2));
        for wrong in [&b"0000648\0"[..], b"xyz", b"-1\0\0", b"\xbf\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"] {
            assert_eq!(number(wrong), None, "{wrong:?}");
        }
    }
}
