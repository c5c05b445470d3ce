//! The bytes of a regular file.

use std::{
    ffi::OsStr,
    io::{Read, Seek, SeekFrom, Write},
    os::{fd::BorrowedFd, unix::ffi::OsStrExt},
};

use rustix::fs::{Mode, OFlags, openat};

use crate::refused::Refused;

/// For the caller's buffer.
pub const CHUNK: usize = 256 << 10;

/// Makes the file anew. Of a sparse file the empty parts stay empty.
pub fn write(
    source: &mut impl Read,
    folder: BorrowedFd<'_>,
    name: &[u8],
    sparse: bool,
    buffer: &mut [u8],
) -> Result<(), Refused> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let failed = || Refused::during(format!("write {:?}", String::from_utf8_lossy(name)));
    let fd =
        openat(folder, OsStr::from_bytes(name), flags, Mode::from_raw_mode(0o600)).map_err(|e| failed()(e.into()))?;
    let mut file = std::fs::File::from(fd);
    let mut size = 0u64;
    loop {
        let n = fill(source, buffer).map_err(failed())?;
        if n == 0 {
            break;
        }
        size += n as u64;
        if sparse && buffer[..n].iter().all(|&b| b == 0) {
            file.seek(SeekFrom::Current(n as i64)).map_err(failed())?;
        } else {
            file.write_all(&buffer[..n]).map_err(failed())?;
        }
    }
    if sparse { file.set_len(size).map_err(failed()) } else { Ok(()) }
}

fn fill(source: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}
