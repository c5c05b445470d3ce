//! The bytes of a regular file.

use std::{
    ffi::OsStr,
    io::{Read, Seek, SeekFrom, Write},
    os::{fd::BorrowedFd, unix::ffi::OsStrExt},
};

use rustix::fs::{Mode, OFlags, openat};

use crate::{
    archive::{Archive, Member, Segment, cut_short},
    refused::Refused,
};

/// For the caller's buffer.
pub const CHUNK: usize = 256 << 10;

/// Makes the file anew. Of a sparse file the empty parts stay empty.
pub fn write<R: Read>(
    archive: &mut Archive<R>,
    member: &Member,
    directory: BorrowedFd<'_>,
    name: &[u8],
    buffer: &mut [u8],
) -> Result<(), Refused> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let failed = || Refused::during(format!("write {:?}", String::from_utf8_lossy(name)));
    let fd = openat(directory, OsStr::from_bytes(name), flags, Mode::from_raw_mode(0o600))
        .map_err(|e| failed()(e.into()))?;
    let mut file = std::fs::File::from(fd);
    let whole = [Segment { offset: 0, length: member.size }];
    for segment in member.segments.as_deref().unwrap_or(&whole) {
        if member.segments.is_some() {
            file.seek(SeekFrom::Start(segment.offset)).map_err(failed())?;
        }
        let mut left = segment.length;
        while left > 0 {
            let most = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
            let n = archive.read(&mut buffer[..most]).map_err(Refused::during("read the archive"))?;
            if n == 0 {
                return Err(cut_short());
            }
            file.write_all(&buffer[..n]).map_err(failed())?;
            left -= n as u64;
        }
    }
    if member.segments.is_some() { file.set_len(member.size).map_err(failed()) } else { Ok(()) }
}
