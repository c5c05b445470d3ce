//! As much of a file as decides about it: all of a usual one, the two ends of a huge one.

use std::{io, os::fd::BorrowedFd};

use rustix::{
    fs::{FileType, fstat},
    io::{Errno, pread},
};

/// Configuration and bundles of certificates are smaller.
const WHOLE_BYTES: u64 = 1 << 20;
const END_BYTES: usize = 64 << 10;

pub struct Sample {
    parts: Vec<Vec<u8>>,
    /// What is between the parts was not read.
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
            return Ok(Some(Self { parts: vec![part(file, 0, size as usize)?], is_whole: true }));
        }
        let parts = vec![part(file, 0, END_BYTES)?, part(file, size - END_BYTES as u64, END_BYTES)?];
        Ok(Some(Self { parts, is_whole: false }))
    }

    pub fn head(&self) -> &[u8] {
        self.parts.first().map_or(&[], Vec::as_slice)
    }

    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().map(Vec::as_slice)
    }

    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.parts().flat_map(|part| part.split(|&byte| byte == b'\n')).map(<[u8]>::trim_ascii)
    }

    /// Whether it could be text; a zero byte says no.
    pub fn is_text(&self) -> bool {
        !self.head().iter().take(4096).any(|&byte| byte == 0)
    }
}

impl From<&[u8]> for Sample {
    fn from(text: &[u8]) -> Self {
        Self { parts: vec![text.to_vec()], is_whole: true }
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
