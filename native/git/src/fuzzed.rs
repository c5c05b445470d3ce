//! Targets of `npm run fuzz -- git-index` and `git-objects`: files of a repository that a sandbox may have written.

use std::{
    io::Write,
    os::fd::{AsFd, OwnedFd},
};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::{
    Index,
    commit::Commit,
    delta,
    id::{Id, SHA1, SHA256},
    loose::{Kind, Object},
    pack::Pack,
    references, tree,
};

/// Far below what the parsers allow, so that one input is soon over.
const SMALL: usize = 1 << 20;

pub fn index(data: &[u8]) {
    let Ok(mut index) = Index::parse(data) else { return };
    let readings = [SHA1, SHA256].map(|hash| Index::with_hash(data, hash).is_ok());
    assert_ne!(readings[0], readings[1], "git may read it otherwise");
    let held: usize = index.entries().iter().map(|entry| entry.path.len()).sum();
    assert!(held <= 16 * data.len() + (1 << 16), "{held} bytes of paths from {} bytes", data.len());
    let paths: Vec<Vec<u8>> = index.entries().iter().map(|entry| entry.path.to_vec()).collect();
    let hidden = paths.iter().take(2).cloned().chain([b"a".to_vec()]).collect();
    index.skip(&hidden);
    let written = index.to_bytes();
    let again = Index::with_hash(&written, index.hash).expect("what is written can be read");
    assert!(again.entries().iter().map(|entry| &*entry.path).eq(paths.iter().map(Vec::as_slice)));
    assert!(again.entries().iter().zip(index.entries()).all(|(one, other)| one.skips() == other.skips()));
    let before = Index::parse(data).ok();
    index.take_marks_of(before.as_ref());
    assert_eq!(index.take_marks_of(before.as_ref()), 0, "marks are taken at once");
}

/// The first byte says what the rest is.
pub fn objects(data: &[u8]) {
    let Some((what, bytes)) = data.split_first() else { return };
    match what % 6 {
        0 => drop(Commit::parse(bytes)),
        1 => drop(tree::parse(bytes, SHA1)),
        2 => drop(references::packed(bytes)),
        3 => {
            let (base, delta) = bytes.split_at(bytes.len() / 2);
            if let Ok(made) = delta::apply(base, delta, SMALL) {
                assert!(made.len() <= SMALL);
            }
        }
        4 => read_pack(&names_of_three(bytes.len()), bytes),
        // The index of a pack as it comes, and a pack with one object.
        _ => read_pack(bytes, b"\x30x\x9c\x03\0\0\0\0\x01"),
    }
}

/// The index of a pack with objects at its beginning and further on.
fn names_of_three(length: usize) -> Vec<u8> {
    let mut index = vec![0xff, b't', b'O', b'c', 0, 0, 0, 2];
    (0..256u32).for_each(|first| index.extend((first + 1).min(3).to_be_bytes()));
    (0..3u8).for_each(|name| index.extend([name; SHA1]));
    index.extend([0; 3 * 4]);
    for at in [0, length / 3, length / 2] {
        index.extend((at as u32).to_be_bytes());
    }
    index
}

fn read_pack(index: &[u8], pack: &[u8]) {
    let Ok(Some(pack)) = Pack::of(in_memory(index), in_memory(pack), "pack", SHA1) else { return };
    let other = |_: Id| Ok(Some(Object { kind: Kind::Blob, data: b"base".to_vec() }));
    for name in 0..3u8 {
        let Some(id) = Id::of(&[name; SHA1]) else { continue };
        if let Ok(Some(at)) = pack.find(id) {
            drop(pack.read(at, &other));
        }
    }
}

fn in_memory(bytes: &[u8]) -> OwnedFd {
    let file = memfd_create(c"fuzzed", MemfdFlags::CLOEXEC).expect("memory");
    std::fs::File::from(file.as_fd().try_clone_to_owned().expect("a descriptor")).write_all(bytes).expect("write");
    file
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::{Compression, read::ZlibEncoder};

    use super::*;
    use crate::loose::LARGEST;

    /// A number in parts of seven bits, the lowest first; the first byte has room for fewer.
    fn number(mut first: u8, bits: u32, mut number: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        first |= (number & ((1 << bits) - 1)) as u8;
        number >>= bits;
        while number > 0 {
            bytes.push(first | 0x80);
            first = (number & 0x7f) as u8;
            number >>= 7;
        }
        bytes.push(first);
        bytes
    }

    fn packed(kind: u8, before: &[u8], data: &[u8]) -> Vec<u8> {
        let mut bytes = [&number(kind << 4, 4, data.len())[..], before].concat();
        ZlibEncoder::new(data, Compression::fast()).read_to_end(&mut bytes).expect("compress");
        bytes
    }

    /// Back to the base: in one byte, or in two from 128 on.
    fn distance(back: usize) -> Vec<u8> {
        assert!(back < 1 << 14);
        match back.checked_sub(128) {
            None => vec![back as u8],
            Some(more) => vec![0x80 | (more >> 7) as u8, (more & 0x7f) as u8],
        }
    }

    /// Makes `size` bytes of a base by taking its beginning again and again.
    fn growing(base: usize, size: usize) -> Vec<u8> {
        let mut delta = [number(0, 7, base), number(0, 7, size)].concat();
        let mut left = size;
        while left > 0 {
            let length = left.min(base).min(0xff_ffff);
            delta.push(0xf0);
            delta.extend(&length.to_le_bytes()[..3]);
            left -= length;
        }
        delta
    }

    #[test]
    fn a_chain_whose_every_difference_is_huge_is_refused() {
        let mut pack = packed(3, &[], &vec![0; 1 << 20]);
        let mut places = vec![(0, 1 << 20)];
        for _ in 0..10 {
            let (at, (base, size)) = (pack.len(), places[places.len() - 1]);
            pack.extend(packed(6, &distance(at - base), &growing(size, LARGEST)));
            places.push((at, LARGEST));
        }
        let pack = Pack::of(in_memory(&names_of_three(0)), in_memory(&pack), "pack", SHA1);
        let pack = pack.expect("a pack").expect("a whole one");
        let read = |nth: usize| pack.read(places[nth].0 as u64, &|_| Ok(None)).map(|object| object.data.len());
        assert_eq!(read(3).ok(), Some(LARGEST));
        assert!(read(10).is_err());
    }

    #[test]
    fn kept_indexes_pass() {
        ak_corpus::replay("git-index", index);
    }

    #[test]
    fn kept_objects_pass() {
        ak_corpus::replay("git-objects", objects);
    }
}
