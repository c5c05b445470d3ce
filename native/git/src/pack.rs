//! Packs: many objects in one file, found by an index beside it (version 2).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, fstat};

use crate::{
    delta,
    id::Id,
    index::offset,
    loose::{Kind, LARGEST, Object, inflate},
    malformed::{Malformed, Result},
    read,
};

const MAGIC: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const FANOUT: u64 = 8;
const NAMES: u64 = FANOUT + 256 * 4;
/// As long as git itself lets chains of differences become.
const LONGEST_CHAIN: usize = 4096;
/// Bytes that are made on the way to one object: each difference of a chain can be as large as an object may be.
const MOST_MADE: usize = 8 * LARGEST;
/// Commits and trees fit nearly always.
const FIRST_READ: usize = 16 << 10;

pub struct Pack {
    index: OwnedFd,
    data: OwnedFd,
    count: u64,
    hash: usize,
}

/// An entry of a pack, before its delta base is known.
struct Packed {
    kind: Option<Kind>,
    base: Option<Base>,
    data: Vec<u8>,
}

enum Base {
    At(u64),
    Object(Id),
}

impl Pack {
    /// `name` without its ending. None if it is not whole.
    pub fn open(objects: BorrowedFd<'_>, name: &str, hash: usize) -> Result<Option<Self>> {
        let open = |ending: &str| read::open(objects, &format!("pack/{name}.{ending}"), OFlags::empty());
        let (Some(index), Some(data)) = (open("idx")?, open("pack")?) else { return Ok(None) };
        Self::of(index, data, name, hash)
    }

    pub fn of(index: OwnedFd, data: OwnedFd, name: &str, hash: usize) -> Result<Option<Self>> {
        if read::part(index.as_fd(), 0, MAGIC.len())? != MAGIC {
            return Err(Malformed::new(format!("the index of {name} has a format that is not known")));
        }
        let mut pack = Self { index, data, count: 0, hash };
        pack.count = pack.number(FANOUT + 255 * 4)?;
        let size = fstat(&pack.index).map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(0));
        if size < NAMES + pack.count * (hash as u64 + 8) {
            return Err(Malformed::new(format!("the index of {name} is not whole")));
        }
        Ok(Some(pack))
    }

    fn number(&self, at: u64) -> Result<u64> {
        let bytes = read::part(self.index.as_fd(), at, 4)?;
        let bytes: [u8; 4] = bytes.try_into().map_err(|_| Malformed::new("the index of a pack is not whole"))?;
        Ok(u64::from(u32::from_be_bytes(bytes)))
    }

    /// Where an object is.
    pub fn find(&self, id: Id) -> Result<Option<u64>> {
        if id.bytes().len() != self.hash {
            return Ok(None);
        }
        let first = u64::from(id.bytes()[0]);
        let mut low = if first == 0 { 0 } else { self.number(FANOUT + (first - 1) * 4)? };
        let mut high = self.number(FANOUT + first * 4)?.min(self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let name = read::part(self.index.as_fd(), NAMES + middle * self.hash as u64, self.hash)?;
            match name.as_slice().cmp(id.bytes()) {
                std::cmp::Ordering::Equal => return self.offset_of(middle).map(Some),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    fn offset_of(&self, nth: u64) -> Result<u64> {
        let offsets = NAMES + self.count * (self.hash as u64 + 4);
        let small = self.number(offsets + nth * 4)?;
        if small & 0x8000_0000 == 0 {
            return Ok(small);
        }
        let large = offsets + self.count * 4 + (small & 0x7fff_ffff) * 8;
        Ok(self.number(large)? << 32 | self.number(large + 4)?)
    }

    /// `other` finds objects that are not in this pack.
    pub fn read(&self, at: u64, other: &dyn Fn(Id) -> Result<Option<Object>>) -> Result<Object> {
        let malformed = || Malformed::new("a packed object is malformed");
        let mut deltas = Vec::new();
        let mut at = at;
        let (kind, mut data) = loop {
            let packed = self.entry(at)?;
            match packed.base {
                None => break (packed.kind.ok_or_else(malformed)?, packed.data),
                Some(_) if deltas.len() == LONGEST_CHAIN => return Err(malformed()),
                Some(base) => {
                    deltas.push(packed.data);
                    if deltas.iter().map(Vec::len).sum::<usize>() > LARGEST {
                        return Err(malformed());
                    }
                    match base {
                        Base::At(base) => at = base,
                        Base::Object(id) => match self.find(id)? {
                            Some(base) => at = base,
                            None => {
                                let object = other(id)?.ok_or_else(malformed)?;
                                break (object.kind, object.data);
                            }
                        },
                    }
                }
            }
        };
        let mut room = MOST_MADE;
        while let Some(delta) = deltas.pop() {
            data = delta::apply(&data, &delta, LARGEST.min(room))?;
            room -= data.len();
        }
        Ok(Object { kind, data })
    }

    fn entry(&self, at: u64) -> Result<Packed> {
        let malformed = || Malformed::new("a packed object is malformed");
        let head = read::part(self.data.as_fd(), at, FIRST_READ)?;
        let first = *head.first().ok_or_else(malformed)?;
        let mut size = usize::from(first & 0x0f);
        let mut next = 1;
        let mut shift = 4;
        let mut byte = first;
        while byte & 0x80 != 0 {
            byte = *head.get(next).filter(|_| shift < 40).ok_or_else(malformed)?;
            size |= usize::from(byte & 0x7f) << shift;
            next += 1;
            shift += 7;
        }
        if size > LARGEST {
            return Err(Malformed::new("a packed object is too large to be looked into"));
        }
        let (kind, base) = match first >> 4 & 7 {
            1 => (Some(Kind::Commit), None),
            2 => (Some(Kind::Tree), None),
            3 => (Some(Kind::Blob), None),
            4 => (Some(Kind::Tag), None),
            6 => {
                let (distance, end) = offset(&head, next).ok_or_else(malformed)?;
                next = end;
                // Bases come first, so that no chain ends where it began.
                let base = at.checked_sub(distance as u64).filter(|base| *base < at).ok_or_else(malformed)?;
                (None, Some(Base::At(base)))
            }
            7 => {
                let id = head.get(next..next + self.hash).and_then(Id::of).ok_or_else(malformed)?;
                next += self.hash;
                (None, Some(Base::Object(id)))
            }
            _ => return Err(malformed()),
        };
        let packed = &head[next.min(head.len())..];
        let whole = inflate_exactly(packed, size);
        let data = match whole {
            Some(data) => data,
            None => {
                // Deflated data is hardly ever longer than what it says.
                let more = read::part(self.data.as_fd(), at + next as u64, size + size / 1000 + 1024)?;
                inflate_exactly(&more, size).ok_or_else(malformed)?
            }
        };
        Ok(Packed { kind, base, data })
    }
}

/// Inflates one object. Bytes behind its data belong to the next object.
fn inflate_exactly(packed: &[u8], size: usize) -> Option<Vec<u8>> {
    inflate(packed, size).filter(|data| data.len() == size)
}
