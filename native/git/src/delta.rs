//! An object that is written as the difference from another one.

use crate::malformed::{Malformed, Result};

/// `limit` bounds the result, whatever the delta states.
pub fn apply(base: &[u8], delta: &[u8], limit: usize) -> Result<Vec<u8>> {
    let malformed = || Malformed::new("a packed object is malformed");
    let mut delta = Bytes { bytes: delta, at: 0 };
    let (base_size, size) = (delta.size().ok_or_else(malformed)?, delta.size().ok_or_else(malformed)?);
    if base_size != base.len() || size > limit {
        return Err(malformed());
    }
    let mut out = Vec::with_capacity(size);
    while let Some(command) = delta.next() {
        let part = if command & 0x80 == 0 {
            delta.take(usize::from(command)).filter(|part| !part.is_empty())
        } else {
            let start = delta.number(command, 4).ok_or_else(malformed)?;
            let length = delta.number(command >> 4, 3).ok_or_else(malformed)?;
            let length = if length == 0 { 0x10000 } else { length };
            base.get(start..start + length)
        };
        out.extend_from_slice(part.filter(|part| out.len() + part.len() <= size).ok_or_else(malformed)?);
    }
    if out.len() == size { Ok(out) } else { Err(malformed()) }
}

struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn next(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let part = self.bytes.get(self.at..self.at + count)?;
        self.at += count;
        Some(part)
    }

    fn size(&mut self) -> Option<usize> {
        let mut size = 0usize;
        for shift in (0..35).step_by(7) {
            let byte = self.next()?;
            size |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(size);
            }
        }
        None
    }

    /// Reads the little-endian number whose present bytes are named by the lowest bits of `which`.
    fn number(&mut self, which: u8, bytes: u32) -> Option<usize> {
        let mut number = 0;
        for place in 0..bytes {
            if which & 1 << place != 0 {
                number |= usize::from(self.next()?) << (8 * place);
            }
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_base_and_new_bytes_are_put_together() {
        let delta = [10, 7, 0x91, 2, 4, 3, b'x', b'y', b'z'];
        assert_eq!(apply(b"0123456789", &delta, 100).expect("apply"), b"2345xyz");
        assert!(apply(b"0123456789", &delta, 6).is_err());
        assert!(apply(b"012345678", &delta, 100).is_err());
        for length in 0..delta.len() {
            assert!(apply(b"0123456789", &delta[..length], 100).is_err(), "{length}");
        }
        assert!(apply(b"0123456789", &[10, 4, 0x91, 8, 4], 100).is_err());
    }
}
