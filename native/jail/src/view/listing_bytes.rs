//! Listings of folders as bytes, and back. Several may write them to one place at once, so what is read is believed
//! only as a whole: a sum over everything comes first.

use rustix::fs::FileType;

use super::{
    memory::{Remembered, Stamp},
    walk::Listings,
};

const WORD: usize = 8;

pub fn encode(stamps: &[(Vec<u8>, Stamp)], listings: &Listings) -> Vec<u8> {
    let mut bytes = vec![0; 2 * WORD];
    for (folder, stamp) in stamps {
        let Some(Some(entries)) = listings.get(folder) else { continue };
        put(&mut bytes, folder);
        for number in [stamp.device, stamp.inode, stamp.changed_s.cast_unsigned(), stamp.changed_ns] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend((entries.len() as u64).to_le_bytes());
        for (name, kind) in entries {
            put(&mut bytes, name);
            bytes.extend(kind.as_raw_mode().to_le_bytes());
        }
    }
    let length = (bytes.len() - 2 * WORD) as u64;
    bytes[WORD..2 * WORD].copy_from_slice(&length.to_le_bytes());
    let sum = sum_of(&bytes[WORD..]);
    bytes[..WORD].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// None where it is not whole.
pub fn decode(bytes: &[u8]) -> Option<Remembered> {
    let mut all = Bytes(bytes);
    let sum = all.number()?;
    let summed = all.0;
    let length = all.number()? as usize;
    if length > all.0.len() || sum_of(&summed[..WORD + length]) != sum {
        return None;
    }
    let mut rest = Bytes(&all.0[..length]);
    let mut found = Remembered::new();
    while !rest.0.is_empty() {
        let folder = rest.piece()?.to_vec();
        let stamp = Stamp {
            device: rest.number()?,
            inode: rest.number()?,
            changed_s: rest.number()?.cast_signed(),
            changed_ns: rest.number()?,
        };
        let count = rest.number()?;
        let entry = |rest: &mut Bytes<'_>| {
            let name = rest.piece()?.to_vec();
            Some((name, FileType::from_raw_mode(u32::from_le_bytes(rest.take(4)?.try_into().ok()?))))
        };
        let entries = (0..count).map(|_| entry(&mut rest)).collect::<Option<Vec<_>>>()?;
        found.insert(folder, (stamp, entries));
    }
    Some(found)
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(WORD)?.try_into().ok()?))
    }

    fn piece(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(self.take(4)?.try_into().ok()?);
        self.take(length as usize)
    }
}

fn put(bytes: &mut Vec<u8>, piece: &[u8]) {
    bytes.extend((piece.len() as u32).to_le_bytes());
    bytes.extend(piece);
}

/// Against halves of two, not against anybody's intent.
fn sum_of(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = bytes.len() as u64;
    let mut words = bytes.chunks_exact(WORD);
    for word in &mut words {
        let number = word.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        sum = (sum.rotate_left(5) ^ number).wrapping_mul(PRIME);
    }
    words.remainder().iter().fold(sum, |sum, byte| (sum.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(PRIME))
}
