//! Parts of files between the answer that brought them and the read that takes them; from then on the kernel's page
//! cache has them.

use std::collections::{BTreeMap, HashMap};

use crate::message::MAX_PART;

/// A file and the number of one of its parts.
pub type Part = (u64, u64);

/// What lies here and is not asked for goes, the oldest first.
const MOST_BYTES: usize = 16 << 20;

#[derive(Default)]
pub struct Contents {
    parts: HashMap<Part, Held>,
    /// In which they came.
    order: BTreeMap<u64, Part>,
    next: u64,
    bytes: usize,
}

struct Held {
    bytes: Vec<u8>,
    turn: u64,
}

pub fn part_of(offset: u64) -> u64 {
    offset / MAX_PART as u64
}

impl Contents {
    pub fn put(&mut self, part: Part, bytes: Vec<u8>) {
        self.drop(part);
        self.bytes += bytes.len();
        self.order.insert(self.next, part);
        self.parts.insert(part, Held { bytes, turn: self.next });
        self.next += 1;
        while self.bytes > MOST_BYTES {
            let Some((_, oldest)) = self.order.first_key_value() else { break };
            self.drop(*oldest);
        }
    }

    pub fn has(&self, part: Part) -> bool {
        self.parts.contains_key(&part)
    }

    /// From `offset` in the file on, and no more than `size` bytes; None where a part of it is not here. A part that is
    /// read to its end is let go.
    pub fn take(&mut self, node: u64, offset: u64, size: usize) -> Option<Vec<u8>> {
        let mut taken = Vec::with_capacity(size);
        let mut read = Vec::new();
        let mut at = offset;
        while taken.len() < size {
            let part = (node, part_of(at));
            let Held { bytes, .. } = self.parts.get(&part)?;
            let from = (at - part.1 * MAX_PART as u64) as usize;
            let Some(rest) = bytes.get(from..) else { break };
            let wanted = rest.len().min(size - taken.len());
            taken.extend_from_slice(&rest[..wanted]);
            at += wanted as u64;
            if wanted == rest.len() {
                read.push(part);
                // The file ends in a part that is not full.
                if bytes.len() < MAX_PART {
                    break;
                }
            }
        }
        read.into_iter().for_each(|part| self.drop(part));
        Some(taken)
    }

    pub fn forget(&mut self, node: u64) {
        let parts: Vec<Part> = self.parts.keys().copied().filter(|part| part.0 == node).collect();
        parts.into_iter().for_each(|part| self.drop(part));
    }

    fn drop(&mut self, part: Part) {
        if let Some(Held { bytes, turn }) = self.parts.remove(&part) {
            self.bytes -= bytes.len();
            self.order.remove(&turn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_go_over_parts_and_end_with_the_file() {
        let mut contents = Contents::default();
        contents.put((5, 0), vec![1; MAX_PART]);
        assert!(contents.take(5, MAX_PART as u64 - 2, 4).is_none(), "its second part is not here");
        contents.put((5, 1), vec![2; 10]);
        assert_eq!(contents.take(5, MAX_PART as u64 - 2, 4).expect("both parts"), [1, 1, 2, 2]);
        assert_eq!(contents.take(5, MAX_PART as u64 + 8, 100).expect("the end"), [2, 2]);
        assert!(!contents.has((5, 1)) && !contents.has((5, 0)), "what was read to its end is let go");
    }

    #[test]
    fn what_nobody_takes_makes_room() {
        let mut contents = Contents::default();
        for node in 0..500 {
            contents.put((node, 0), vec![0; MAX_PART]);
            assert!(contents.has((node, 0)), "the newest stays");
        }
        assert!(contents.bytes <= MOST_BYTES && contents.parts.len() * MAX_PART <= MOST_BYTES);
        assert_eq!(contents.order.len(), contents.parts.len());
    }
}
