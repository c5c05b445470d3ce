//! What one folder held: kinds and names, one after the other in memory that all folders of a project share. A project
//! has thousands of names, and an allocation for each would take longer than asking its folders whether they changed.

use std::{ops::Range, sync::Arc};

use rustix::fs::FileType;

/// Of each entry: its kind, the length of its name, its name.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    all: Arc<Vec<u8>>,
    part: Range<usize>,
}

const HEAD_BYTES: usize = 3;
/// Above the bits of a mode that say what kind of file it is.
const KIND_SHIFT: u32 = 12;

impl Entries {
    /// None where these bytes are not entries as a whole.
    pub fn part_of(all: &Arc<Vec<u8>>, part: Range<usize>) -> Option<Self> {
        let mut rest = all.get(part.clone())?;
        while !rest.is_empty() {
            rest = split_first(rest)?.1;
        }
        Some(Self { all: Arc::clone(all), part })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.all[self.part.clone()]
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], FileType)> {
        let mut rest = self.bytes();
        std::iter::from_fn(move || {
            let (entry, behind) = split_first(rest)?;
            rest = behind;
            Some(entry)
        })
    }
}

impl<'a> FromIterator<(&'a [u8], FileType)> for Entries {
    fn from_iter<I: IntoIterator<Item = (&'a [u8], FileType)>>(entries: I) -> Self {
        let mut made = Gathered::default();
        entries.into_iter().for_each(|(name, kind)| made.add(name, kind));
        made.done()
    }
}

/// Entries while they are being read.
#[derive(Default)]
pub struct Gathered(Vec<u8>);

impl Gathered {
    pub fn add(&mut self, name: &[u8], kind: FileType) {
        self.0.push((kind.as_raw_mode() >> KIND_SHIFT) as u8);
        // No filesystem has names that are longer.
        self.0.extend((name.len() as u16).to_le_bytes());
        self.0.extend_from_slice(name);
    }

    pub fn done(self) -> Entries {
        let part = 0..self.0.len();
        Entries { all: Arc::new(self.0), part }
    }
}

type Entry<'a> = (&'a [u8], FileType);

fn split_first(bytes: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let (&[kind, low, high], rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    let (name, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes([low, high])))?;
    Some(((name, FileType::from_raw_mode(u32::from(kind) << KIND_SHIFT)), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [FileType; 4] = [FileType::RegularFile, FileType::Directory, FileType::Symlink, FileType::Socket];

    #[test]
    fn names_and_kinds_come_back_in_their_order() {
        let long = [b'x'; 300];
        let given: Vec<Entry<'_>> = [&b"a"[..], b"b.ts", &long, b"\xff\n"].into_iter().zip(KINDS).collect();
        let entries: Entries = given.iter().copied().collect();
        assert_eq!(entries.iter().collect::<Vec<_>>(), given);
    }

    #[test]
    fn a_part_is_taken_whole_or_not_at_all() {
        let entries: Entries = [&b"one"[..], b"two"].into_iter().zip(KINDS).collect();
        let all = Arc::new(entries.bytes().to_vec());
        let first = Entries::part_of(&all, 0..6).expect("one entry");
        assert_eq!(first.iter().count(), 1);
        for end in (1..12).filter(|end| *end != 6) {
            assert!(Entries::part_of(&all, 0..end).is_none(), "up to {end}");
        }
        assert!(Entries::part_of(&all, 6..13).is_none());
    }
}
