//! Records of the stream. Integers are little-endian.

use crate::Failure;

/// Names in a header are at most as long as a path may be.
const MAX_TEXT: usize = 4096;
pub const MAX_CHUNK: usize = 262_144;

#[derive(Debug, PartialEq, Eq)]
pub enum Record<'a> {
    Directory {
        path: &'a [u8],
        mode: u32,
        mtime_ms: i64,
    },
    /// Its content follows, as chunks.
    File {
        path: &'a [u8],
        mode: u32,
        mtime_ms: i64,
        size: u64,
    },
    Link {
        path: &'a [u8],
        target: &'a [u8],
    },
    /// So many bytes of the last file follow.
    Chunk {
        length: usize,
    },
    /// So many bytes of the last file are holes, which read as zeros and take no room.
    Hole {
        length: u64,
    },
    EndOfFile,
    /// The last file could not be read to its end.
    Broken {
        reason: &'a [u8],
    },
    /// Something that is not sent, and why.
    Note {
        path: &'a [u8],
        reason: &'a [u8],
    },
    End,
}

impl<'a> Record<'a> {
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Directory { path, mode, mtime_ms } => {
                out.push(b'D');
                text(out, path);
                out.extend(mode.to_le_bytes());
                out.extend(mtime_ms.to_le_bytes());
            }
            Self::File { path, mode, mtime_ms, size } => {
                out.push(b'F');
                text(out, path);
                out.extend(mode.to_le_bytes());
                out.extend(mtime_ms.to_le_bytes());
                out.extend(size.to_le_bytes());
            }
            Self::Link { path, target } => {
                out.push(b'L');
                text(out, path);
                text(out, target);
            }
            Self::Chunk { length } => {
                out.push(b'C');
                out.extend((*length as u32).to_le_bytes());
            }
            Self::Hole { length } => {
                out.push(b'H');
                out.extend(length.to_le_bytes());
            }
            Self::EndOfFile => out.push(b'E'),
            Self::Broken { reason } => {
                out.push(b'X');
                text(out, reason);
            }
            Self::Note { path, reason } => {
                out.push(b'N');
                text(out, path);
                text(out, reason);
            }
            Self::End => out.push(b'Z'),
        }
    }

    /// The next record and its length, or None where more bytes are needed.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, Failure> {
        let mut cursor = Cursor { bytes, at: 0 };
        match cursor.record() {
            Ok(record) => Ok(Some((record, cursor.at))),
            Err(Stop::Short) => Ok(None),
            Err(Stop::Bad(what)) => Err(Failure::malformed(what)),
        }
    }
}

fn text(out: &mut Vec<u8>, text: &[u8]) {
    let text = &text[..text.len().min(MAX_TEXT)];
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text);
}

enum Stop {
    Short,
    Bad(&'static str),
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn record(&mut self) -> Result<Record<'a>, Stop> {
        let [kind] = self.array()?;
        Ok(match kind {
            b'D' => Record::Directory { path: self.text()?, mode: self.u32()?, mtime_ms: self.i64()? },
            b'F' => {
                Record::File { path: self.text()?, mode: self.u32()?, mtime_ms: self.i64()?, size: self.i64()? as u64 }
            }
            b'L' => Record::Link { path: self.text()?, target: self.text()? },
            b'C' => match self.u32()? as usize {
                length @ 1..=MAX_CHUNK => Record::Chunk { length },
                _ => return Err(Stop::Bad("a chunk of no or too much length")),
            },
            b'H' => match self.i64()? {
                length @ 1.. => Record::Hole { length: length as u64 },
                _ => return Err(Stop::Bad("a hole of no or too much length")),
            },
            b'E' => Record::EndOfFile,
            b'X' => Record::Broken { reason: self.text()? },
            b'N' => Record::Note { path: self.text()?, reason: self.text()? },
            b'Z' => Record::End,
            _ => return Err(Stop::Bad("an unknown record")),
        })
    }

    fn text(&mut self) -> Result<&'a [u8], Stop> {
        let length = u16::from_le_bytes(self.array()?) as usize;
        if length > MAX_TEXT {
            return Err(Stop::Bad("a name that is too long"));
        }
        let text = self.bytes.get(self.at..self.at + length).ok_or(Stop::Short)?;
        self.at += length;
        Ok(text)
    }

    fn u32(&mut self) -> Result<u32, Stop> {
        self.array().map(u32::from_le_bytes)
    }

    fn i64(&mut self) -> Result<i64, Stop> {
        self.array().map(i64::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let array = self.bytes[self.at..].first_chunk().copied().ok_or(Stop::Short)?;
        self.at += N;
        Ok(array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_also_in_pieces() {
        let records = [
            Record::Directory { path: b"", mode: 0o755, mtime_ms: -1 },
            Record::File { path: b"a/\xff", mode: 0o644, mtime_ms: 5, size: u64::MAX },
            Record::Chunk { length: 7 },
            Record::Hole { length: 1 << 40 },
            Record::EndOfFile,
            Record::Link { path: b"l", target: b"../x" },
            Record::Note { path: b"p", reason: b"a pipe" },
            Record::Broken { reason: b"gone" },
            Record::End,
        ];
        for record in &records {
            let mut bytes = Vec::new();
            record.write(&mut bytes);
            for cut in 0..bytes.len() {
                assert_eq!(Record::parse(&bytes[..cut]), Ok(None), "{record:?} at {cut}");
            }
            assert_eq!(Record::parse(&bytes), Ok(Some((Record::parse(&bytes).unwrap().unwrap().0, bytes.len()))));
            assert_eq!(&Record::parse(&bytes).unwrap().unwrap().0, record);
        }
    }

    #[test]
    fn what_is_no_record_is_refused_at_once() {
        for bytes in [
            &b"?"[..],
            b"D\xff\xff",
            b"C\0\0\0\0",
            b"C\xff\xff\xff\xff",
            b"H\0\0\0\0\0\0\0\0",
            &[b'H', 0, 0, 0, 0, 0, 0, 0, 0x80],
        ] {
            assert!(Record::parse(bytes).is_err(), "{bytes:?}");
        }
    }
}
