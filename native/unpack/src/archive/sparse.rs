//! Sparse files, in the four forms that GNU tar has written them in over time.

use std::io::Read;

use super::{
    Archive, cut_short,
    header::{BLOCK, push_segments},
    malformed,
    pax::count,
};
use crate::refused::Refused;

/// Far more than any honest file has.
const MAX_SEGMENTS: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub offset: u64,
    pub length: u64,
}

/// The sparse map of an extended header.
#[derive(Default)]
pub struct SparseHeader {
    pub name: Option<Vec<u8>>,
    pub size: Option<u64>,
    /// The list is at the start of the file's data.
    pub is_in_data: bool,
    numbers: Option<Vec<u64>>,
}

impl SparseHeader {
    pub fn take(&mut self, key: &[u8], value: &[u8]) -> Result<(), Refused> {
        match key {
            b"name" => self.name = Some(value.to_vec()),
            b"size" | b"realsize" => self.size = Some(count(value)?),
            b"major" => self.is_in_data = value == b"1",
            b"numblocks" => drop(self.numbers.get_or_insert_default()),
            b"offset" | b"numbytes" => self.numbers.get_or_insert_default().push(count(value)?),
            b"map" if value.is_empty() => self.numbers = Some(Vec::new()),
            b"map" => {
                let numbers = value.split(|&byte| byte == b',').map(count);
                self.numbers = Some(numbers.collect::<Result<_, _>>()?);
            }
            _ => {}
        }
        Ok(())
    }

    /// `None` where the file is not sparse.
    pub fn segments(&self) -> Result<Option<Vec<Segment>>, Refused> {
        let Some(numbers) = &self.numbers else { return Ok(None) };
        pairs(numbers).map(Some)
    }
}

fn pairs(numbers: &[u64]) -> Result<Vec<Segment>, Refused> {
    if !numbers.len().is_multiple_of(2) {
        return Err(malformed("a sparse file's parts come not in pairs"));
    }
    Ok(numbers.chunks_exact(2).map(|pair| Segment { offset: pair[0], length: pair[1] }).collect())
}

/// One more block of segments; true where yet another follows.
pub fn read_more(block: &[u8; BLOCK], segments: &mut Vec<Segment>) -> Result<bool, Refused> {
    push_segments(&block[..504], segments)?;
    if segments.len() > MAX_SEGMENTS {
        return Err(malformed("a sparse file has too many parts"));
    }
    Ok(block[504] != 0)
}

/// Lines of numbers, filled up to whole blocks: how many pairs, then the pairs.
pub fn read_from_data<R: Read>(archive: &mut Archive<R>) -> Result<Vec<Segment>, Refused> {
    let mut block = [0; BLOCK];
    let mut used = BLOCK;
    let mut line = |archive: &mut Archive<R>| {
        let mut digits = Vec::new();
        loop {
            if used == BLOCK {
                archive.read_exact(&mut block).map_err(|_| cut_short())?;
                used = 0;
            }
            let byte = block[used];
            used += 1;
            match byte {
                b'\n' => return count(&digits),
                _ if digits.len() > 20 => return Err(malformed("a sparse file's parts are no numbers")),
                _ => digits.push(byte),
            }
        }
    };
    let how_many = line(archive)?;
    if how_many > MAX_SEGMENTS as u64 {
        return Err(malformed("a sparse file has too many parts"));
    }
    let numbers = (0..how_many * 2).map(|_| line(archive)).collect::<Result<Vec<_>, _>>()?;
    pairs(&numbers)
}

/// In order, apart from each other, within the file, and together what the archive holds.
pub fn check(segments: &[Segment], stored: u64, size: u64) -> Result<(), Refused> {
    let (mut end, mut sum) = (0u64, 0u64);
    for segment in segments {
        let next = segment.offset.checked_add(segment.length).filter(|_| segment.offset >= end);
        end = next.ok_or_else(|| malformed("a sparse file's parts overlap"))?;
        sum = sum.saturating_add(segment.length);
    }
    if end > size || sum != stored { Err(malformed("a sparse file's parts do not fit it")) } else { Ok(()) }
}
