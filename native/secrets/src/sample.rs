//! As much of a file as decides about it: all of a usual one, the two ends of a huge one.

use std::{io, os::fd::BorrowedFd};

use rustix::{
    fs::{FileType, fstat},
    io::{Errno, pread},
};

/// Configuration and bundles of certificates are far smaller.
const WHOLE_BYTES: u64 = 8 << 20;
const END_BYTES: usize = 64 << 10;

pub struct Sample {
    parts: Vec<Vec<u8>>,
    /// False where the middle of the file was not read.
    pub is_whole: bool,
}

impl Sample {
    /// None for what is no regular file. Opening it is the caller's part: without following links, without waiting.
    pub fn of(file: BorrowedFd<'_>) -> io::Result<Option<Self>> {
        let stat = fstat(file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(None);
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size <= WHOLE_BYTES {
            return Ok(Some(Self::of_parts(vec![part(file, 0, size as usize)?], true)));
        }
        // From an even place on, where characters of two bytes begin.
        let end = (size - END_BYTES as u64) & !1;
        Ok(Some(Self::of_parts(vec![part(file, 0, END_BYTES)?, part(file, end, END_BYTES + 1)?], false)))
    }

    fn of_parts(mut parts: Vec<Vec<u8>>, is_whole: bool) -> Self {
        if let Some(wide) = parts.first().and_then(|head| Wide::of(head)) {
            parts.iter_mut().for_each(|part| *part = wide.narrowed(part));
        }
        if let Some(head) = parts.first_mut()
            && head.starts_with(UTF8_MARK)
        {
            head.drain(..UTF8_MARK.len());
        }
        Self { parts, is_whole }
    }

    pub fn head(&self) -> &[u8] {
        self.parts.first().map_or(&[], Vec::as_slice)
    }

    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().map(Vec::as_slice)
    }

    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.parts().flat_map(|part| part.split(|&byte| byte == b'\n' || byte == b'\r')).map(<[u8]>::trim_ascii)
    }

    /// Whether it could be text; a zero byte says no.
    pub fn is_text(&self) -> bool {
        !self.head().iter().take(4096).any(|&byte| byte == 0)
    }
}

impl From<&[u8]> for Sample {
    fn from(text: &[u8]) -> Self {
        Self::of_parts(vec![text.to_vec()], true)
    }
}

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// UTF-16, which Windows' editors and shells write: which byte of two has what is written in ASCII.
enum Wide {
    Little,
    Big,
}

impl Wide {
    fn of(head: &[u8]) -> Option<Self> {
        const LOOKED_AT: usize = 64;
        let pairs = || head.chunks_exact(2).take(LOOKED_AT);
        match head {
            [0xff, 0xfe, ..] => Some(Self::Little),
            [0xfe, 0xff, ..] => Some(Self::Big),
            _ if head.len() < 8 => None,
            _ if pairs().all(|pair| pair[0] != 0 && pair[1] == 0) => Some(Self::Little),
            _ if pairs().all(|pair| pair[0] == 0 && pair[1] != 0) => Some(Self::Big),
            _ => None,
        }
    }

    /// Drops bytes that are not ASCII, which no pattern contains.
    fn narrowed(&self, text: &[u8]) -> Vec<u8> {
        let narrow = |pair: &[u8]| {
            let (low, high) = match self {
                Self::Little => (pair[0], pair[1]),
                Self::Big => (pair[1], pair[0]),
            };
            if high == 0 { low } else { b'?' }
        };
        text.chunks_exact(2).map(narrow).collect()
    }
}

fn part(file: BorrowedFd<'_>, from: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match pread(file, &mut bytes[filled..], from + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
