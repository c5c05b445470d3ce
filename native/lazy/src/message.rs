//! What goes over the stream. A message is a length of four bytes, and so many bytes: its kind (1), the number of the
//! request that it belongs to (4), and what is told. Numbers are little-endian. Answers come in the order of the
//! requests, which the host holds no more than one of at a time.

use std::io;

use rustix::fs::FileType;

/// The longest path that can be asked for, as the kernel has it.
pub const MAX_PATH: usize = 4096;
/// The most bytes of a file, or of entries, that one answer has.
pub const MAX_PART: usize = 128 << 10;
const LENGTH_BYTES: usize = 4;
const HEAD_BYTES: usize = 5;
const MAX_REQUEST: usize = HEAD_BYTES + MAX_PATH + 64;
/// An entry with the longest name and target may follow where a part was full already.
const MAX_ANSWER: usize = HEAD_BYTES + 2 * MAX_PART;

const LIST: u8 = 1;
const READ: u8 = 2;
const ENTRIES: u8 = 3;
const DATA: u8 = 4;
const CHANGED: u8 = 5;
const FAILED: u8 = 6;

/// Paths are relative to the root, which is the empty one.
#[derive(Debug, PartialEq, Eq)]
pub enum Request<'a> {
    List {
        path: &'a [u8],
    },
    /// Of the file as it was when it was listed.
    Read {
        path: &'a [u8],
        version: u64,
        offset: u64,
        length: u32,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// Entries, one after the other; more follow unless these are the last.
    Entries {
        are_last: bool,
        entries: &'a [u8],
    },
    Data(&'a [u8]),
    /// The file is another than it was when it was listed.
    Changed(Attributes),
    /// By the number of an error of the kernel's.
    Failed(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    pub kind: FileType,
    /// The lowest nine bits of a mode.
    pub mode: u16,
    pub inode: u64,
    pub size: u64,
    pub modified: (i64, u32),
    pub changed: (i64, u32),
    /// Another one for another content.
    pub version: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    pub name: &'a [u8],
    pub attributes: Attributes,
    /// Of a link.
    pub target: &'a [u8],
}

pub fn request(id: u32, what: &Request<'_>, out: &mut Vec<u8>) {
    match what {
        Request::List { path } => message(LIST, id, out, |out| out.extend_from_slice(path)),
        Request::Read { path, version, offset, length } => message(READ, id, out, |out| {
            out.extend(version.to_le_bytes());
            out.extend(offset.to_le_bytes());
            out.extend(length.to_le_bytes());
            out.extend_from_slice(path);
        }),
    }
}

pub fn answer(id: u32, what: &Answer<'_>, out: &mut Vec<u8>) {
    match what {
        Answer::Entries { are_last, entries } => message(ENTRIES, id, out, |out| {
            out.push(u8::from(*are_last));
            out.extend_from_slice(entries);
        }),
        Answer::Data(bytes) => message(DATA, id, out, |out| out.extend_from_slice(bytes)),
        Answer::Changed(attributes) => message(CHANGED, id, out, |out| attributes.write(out)),
        Answer::Failed(errno) => message(FAILED, id, out, |out| out.extend(errno.to_le_bytes())),
    }
}

fn message(kind: u8, id: u32, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([0; LENGTH_BYTES]);
    out.push(kind);
    out.extend(id.to_le_bytes());
    body(out);
    let length = (out.len() - start - LENGTH_BYTES) as u32;
    out[start..start + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
}

/// The first message of what came, and how many bytes it has. None where it is not whole yet.
type Taken<T> = io::Result<Option<(u32, T, usize)>>;
/// With its body, and its kind before all else.
type Message<'a> = (u8, u32, &'a [u8], usize);

pub fn take_request(bytes: &[u8]) -> Taken<Request<'_>> {
    let Some((kind, id, mut body, length)) = take_message(bytes, MAX_REQUEST)? else { return Ok(None) };
    let what = match kind {
        LIST => Request::List { path: body },
        READ => {
            let (version, offset, length) =
                (number(&mut body)?, number(&mut body)?, u32::from_le_bytes(take(&mut body)?));
            Request::Read { version, offset, length, path: body }
        }
        _ => return Err(wrong("its kind is none")),
    };
    Ok(Some((id, what, length)))
}

pub fn take_answer(bytes: &[u8]) -> Taken<Answer<'_>> {
    let Some((kind, id, mut body, length)) = take_message(bytes, MAX_ANSWER)? else { return Ok(None) };
    let what = match kind {
        ENTRIES => {
            let [are_last] = take(&mut body)?;
            Answer::Entries { are_last: are_last != 0, entries: body }
        }
        DATA => Answer::Data(body),
        CHANGED => Answer::Changed(Attributes::take(&mut body)?),
        FAILED => Answer::Failed(u32::from_le_bytes(take(&mut body)?)),
        _ => return Err(wrong("its kind is none")),
    };
    Ok(Some((id, what, length)))
}

fn take_message(bytes: &[u8], most: usize) -> io::Result<Option<Message<'_>>> {
    let mut rest = bytes;
    let Ok(length) = take(&mut rest).map(u32::from_le_bytes) else { return Ok(None) };
    let length = length as usize;
    if !(HEAD_BYTES..=most).contains(&length) {
        return Err(wrong("its length is beyond the limits"));
    }
    let Some(mut body) = rest.get(..length) else { return Ok(None) };
    let ([kind], id) = (take(&mut body)?, take(&mut body)?);
    Ok(Some((kind, u32::from_le_bytes(id), body, LENGTH_BYTES + length)))
}

impl Entry<'_> {
    pub fn write(&self, out: &mut Vec<u8>) {
        self.attributes.write(out);
        for text in [self.name, self.target] {
            // No file system has longer ones.
            out.extend((text.len() as u16).to_le_bytes());
            out.extend_from_slice(text);
        }
    }

    pub fn take<'a>(bytes: &mut &'a [u8]) -> io::Result<Entry<'a>> {
        let attributes = Attributes::take(bytes)?;
        Ok(Entry { attributes, name: text(bytes)?, target: text(bytes)? })
    }
}

/// Kinds are the upper bits of a mode.
const KIND_SHIFT: u32 = 12;

impl Attributes {
    fn write(&self, out: &mut Vec<u8>) {
        out.push((self.kind.as_raw_mode() >> KIND_SHIFT) as u8);
        out.extend(self.mode.to_le_bytes());
        for number in [self.inode, self.size, self.version] {
            out.extend(number.to_le_bytes());
        }
        for (seconds, nanoseconds) in [self.modified, self.changed] {
            out.extend(seconds.to_le_bytes());
            out.extend(nanoseconds.to_le_bytes());
        }
    }

    fn take(bytes: &mut &[u8]) -> io::Result<Self> {
        let [kind] = take(bytes)?;
        let mode = u16::from_le_bytes(take(bytes)?);
        let (inode, size, version) = (number(bytes)?, number(bytes)?, number(bytes)?);
        let mut time = || -> io::Result<_> { Ok((i64::from_le_bytes(take(bytes)?), u32::from_le_bytes(take(bytes)?))) };
        let (modified, changed) = (time()?, time()?);
        let kind = FileType::from_raw_mode(u32::from(kind) << KIND_SHIFT);
        Ok(Self { kind, mode, inode, size, modified, changed, version })
    }
}

fn text<'a>(bytes: &mut &'a [u8]) -> io::Result<&'a [u8]> {
    let length = u16::from_le_bytes(take(bytes)?);
    let (text, rest) = bytes.split_at_checked(length.into()).ok_or_else(|| wrong("it is cut off"))?;
    *bytes = rest;
    Ok(text)
}

fn number(bytes: &mut &[u8]) -> io::Result<u64> {
    take(bytes).map(u64::from_le_bytes)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> io::Result<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk().ok_or_else(|| wrong("it is cut off"))?;
    *bytes = rest;
    Ok(*taken)
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a message of the lazy view: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Attributes = Attributes {
        kind: FileType::RegularFile,
        mode: 0o644,
        inode: 7,
        size: 1 << 40,
        modified: (-1, 2),
        changed: (3, 4),
        version: u64::MAX,
    };

    #[test]
    fn messages_come_back_and_are_never_taken_in_part() {
        let mut bytes = Vec::new();
        let read = Request::Read { path: b"a/b", version: 1, offset: 2, length: 3 };
        request(9, &read, &mut bytes);
        for length in 0..bytes.len() {
            assert!(take_request(&bytes[..length]).expect("no breach").is_none(), "{length}");
        }
        let length = bytes.len();
        request(10, &Request::List { path: b"" }, &mut bytes);
        assert_eq!(take_request(&bytes).expect("a message"), Some((9, read, length)));
        let mut bytes = Vec::new();
        answer(4, &Answer::Changed(FILE), &mut bytes);
        let length = bytes.len();
        assert_eq!(take_answer(&bytes).expect("a message"), Some((4, Answer::Changed(FILE), length)));
        let mut entries = Vec::new();
        let entry = Entry { name: b"\xffn", attributes: FILE, target: b"there" };
        entry.write(&mut entries);
        assert_eq!(Entry::take(&mut &entries[..]).expect("an entry"), entry);
        for length in 0..entries.len() {
            assert!(Entry::take(&mut &entries[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn what_is_too_long_or_of_no_kind_is_a_breach_before_it_is_there() {
        assert!(take_request(&u32::MAX.to_le_bytes()).is_err());
        assert!(take_request(&0_u32.to_le_bytes()).is_err());
        assert!(take_request(&[5, 0, 0, 0, 99, 1, 0, 0, 0]).is_err());
        assert!(take_request(&[6, 0, 0, 0, READ, 1, 0, 0, 0, 0]).is_err());
    }
}
