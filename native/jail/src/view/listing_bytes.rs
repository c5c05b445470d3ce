//! Listings of folders as bytes, and back. Several may write them to one place at once, so what is read is believed
//! only as a whole: a sum over everything comes first.

use std::{ops::Range, sync::Arc};

use super::{
    entries::Entries,
    memory::{Remembered, Stamp},
    walk::Listings,
};

const WORD: usize = 8;
/// A sum, a length, and of the first folder: its path, which is empty, and which one it is.
pub const HEAD_BYTES: usize = 5 * WORD;

pub fn encode(stamps: &[(Vec<u8>, Stamp)], listings: &Listings) -> Vec<u8> {
    let mut bytes = vec![0; 2 * WORD];
    for (folder, stamp) in stamps {
        let Some(Some(entries)) = listings.get(folder) else { continue };
        put(&mut bytes, folder);
        for number in [stamp.device, stamp.inode, stamp.changed_s.cast_unsigned(), stamp.changed_ns] {
            bytes.extend(number.to_le_bytes());
        }
        put(&mut bytes, entries.bytes());
    }
    let length = (bytes.len() - 2 * WORD) as u64;
    bytes[WORD..2 * WORD].copy_from_slice(&length.to_le_bytes());
    let sum = sum_of(&bytes[WORD..]);
    bytes[..WORD].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// None where it is not whole.
pub fn decode(bytes: Vec<u8>) -> Option<Remembered> {
    let all = Arc::new(bytes);
    let mut head = Bytes { all: &all, part: 0..all.len() };
    let sum = head.number()?;
    let length = head.number()? as usize;
    let summed = WORD..head.part.start.checked_add(length)?;
    if sum_of(all.get(summed.clone())?) != sum {
        return None;
    }
    let mut rest = Bytes { all: &all, part: head.part.start..summed.end };
    let mut found = Remembered::new();
    while !rest.part.is_empty() {
        let folder = rest.piece()?;
        let stamp = Stamp {
            device: rest.number()?,
            inode: rest.number()?,
            changed_s: rest.number()?.cast_signed(),
            changed_ns: rest.number()?,
        };
        let entries = Entries::part_of(&all, rest.piece()?)?;
        found.insert(all[folder].to_vec(), (stamp, entries));
    }
    Some(found)
}

/// Device and number of the root that such bytes are about; they need not be whole. None where there are none.
pub fn root_of(head: &[u8]) -> Option<(u64, u64)> {
    let (words, _) = head.as_chunks::<WORD>();
    let [_, length, path, device, inode, ..] = *words else { return None };
    let [length, path, device, inode] = [length, path, device, inode].map(u64::from_le_bytes);
    (length > 0 && path == 0).then_some((device, inode))
}

/// What is still to be read.
struct Bytes<'a> {
    all: &'a [u8],
    part: Range<usize>,
}

impl Bytes<'_> {
    fn take(&mut self, count: usize) -> Option<Range<usize>> {
        let end = self.part.start.checked_add(count).filter(|end| *end <= self.part.end)?;
        let taken = self.part.start..end;
        self.part.start = end;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let at = self.take(WORD)?;
        Some(u64::from_le_bytes(self.all[at].try_into().ok()?))
    }

    fn piece(&mut self) -> Option<Range<usize>> {
        let length = self.number()?;
        self.take(length.try_into().ok()?)
    }
}

fn put(bytes: &mut Vec<u8>, piece: &[u8]) {
    bytes.extend((piece.len() as u64).to_le_bytes());
    bytes.extend(piece);
}

/// Against halves of two, not against anybody's intent.
fn sum_of(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<WORD>();
    for word in words {
        sum = (sum.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME);
    }
    rest.iter().fold(sum, |sum, byte| (sum.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(PRIME))
}
