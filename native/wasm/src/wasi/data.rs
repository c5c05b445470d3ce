//! Bytes in and out: of streams, which may have to wait, and of files, which do not.

use std::os::fd::AsFd;

use rustix::fs::{Advice, FallocateFlags, SeekFrom, fadvise, fallocate, fdatasync, fsync, ftruncate, seek};
use rustix::io::{pread, pwrite, read, write};

use crate::kill::Kill;
use crate::streams::Stopped;
use crate::wasi::Iovec;
use crate::wasi::descriptors::Open;
use crate::wasi::errno::{Answer, Errno, Fault};
use crate::wasi::guest::Guest;

impl From<Stopped> for Fault {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Unread => Errno::PIPE.into(),
            Stopped::Killed => crate::kill::Killed.into(),
        }
    }
}

impl Guest<'_> {
    pub fn fd_read(&mut self, fd: u32, pieces: u32, count: u32, at: u32) -> Answer {
        let pieces = self.pieces(pieces, count)?;
        let total = match self.wasi.descriptors.get(fd)? {
            Open::Stdin { is_nonblocking } => {
                let is_nonblocking = *is_nonblocking;
                self.read_stdin(&pieces, is_nonblocking)?
            }
            Open::Stdout | Open::Stderr => return Err(Errno::BADF.into()),
            Open::Directory(_) => return Err(Errno::ISDIR.into()),
            Open::File(file) if !file.can_read => return Err(Errno::BADF.into()),
            Open::File(file) => {
                let fd = file.fd.as_fd();
                each_piece(self.memory, &pieces, &self.wasi.kill, |piece, _| Ok(read(fd, piece)?))?
            }
        };
        self.put_u32(at, total)
    }

    /// Reads available bytes into as many pieces as they fill; waits where there are none.
    fn read_stdin(&mut self, pieces: &[Iovec], is_nonblocking: bool) -> Answer<u32> {
        let Some(first) = pieces.iter().find(|piece| !piece.is_empty()) else { return Ok(0) };
        if is_nonblocking && !self.wasi.stdin.is_ready() {
            return Err(Errno::AGAIN.into());
        }
        Ok(self.wasi.stdin.read(&mut self.memory[first.clone()], &self.wasi.kill)? as u32)
    }

    pub fn fd_pread(&mut self, fd: u32, pieces: u32, count: u32, offset: u64, at: u32) -> Answer {
        let pieces = self.pieces(pieces, count)?;
        let file = self.wasi.descriptors.file(fd)?;
        if !file.can_read {
            return Err(Errno::BADF.into());
        }
        let fd = file.fd.as_fd();
        let at_once = |piece: &mut [u8], before| Ok(pread(fd, piece, offset_after(offset, before)?)?);
        let total = each_piece(self.memory, &pieces, &self.wasi.kill, at_once)?;
        self.put_u32(at, total)
    }

    pub fn fd_write(&mut self, fd: u32, pieces: u32, count: u32, at: u32) -> Answer {
        let pieces = self.pieces(pieces, count)?;
        let total = match self.wasi.descriptors.get(fd)? {
            Open::Stdout => self.write_stream(&pieces, true)?,
            Open::Stderr => self.write_stream(&pieces, false)?,
            Open::Stdin { .. } => return Err(Errno::BADF.into()),
            Open::Directory(_) => return Err(Errno::ISDIR.into()),
            Open::File(file) if !file.can_write => return Err(Errno::BADF.into()),
            Open::File(file) => {
                let fd = file.fd.as_fd();
                each_piece(self.memory, &pieces, &self.wasi.kill, |piece, _| Ok(write(fd, piece)?))?
            }
        };
        self.put_u32(at, total)
    }

    /// All of it, as one where the pieces are small: a line is mostly written as its text and its end.
    fn write_stream(&mut self, pieces: &[Iovec], is_stdout: bool) -> Answer<u32> {
        let output = if is_stdout { &self.wasi.stdout } else { &self.wasi.stderr };
        let total: usize = pieces.iter().map(ExactSizeIterator::len).sum();
        // Said before anything is written: what comes after is either all of it, or the end.
        let told = u32::try_from(total).map_err(|_| Errno::INVAL)?;
        if let [piece] = pieces {
            output.write_all(&self.memory[piece.clone()], &self.wasi.kill)?;
        } else if total <= SMALL_BYTES {
            let whole: Vec<u8> = pieces.iter().flat_map(|piece| &self.memory[piece.clone()]).copied().collect();
            output.write_all(&whole, &self.wasi.kill)?;
        } else {
            for piece in pieces {
                output.write_all(&self.memory[piece.clone()], &self.wasi.kill)?;
            }
        }
        Ok(told)
    }

    pub fn fd_pwrite(&mut self, fd: u32, pieces: u32, count: u32, offset: u64, at: u32) -> Answer {
        let pieces = self.pieces(pieces, count)?;
        let file = self.wasi.descriptors.file(fd)?;
        if !file.can_write {
            return Err(Errno::BADF.into());
        }
        let fd = file.fd.as_fd();
        let at_once = |piece: &mut [u8], before| Ok(pwrite(fd, piece, offset_after(offset, before)?)?);
        let total = each_piece(self.memory, &pieces, &self.wasi.kill, at_once)?;
        self.put_u32(at, total)
    }

    pub fn fd_seek(&mut self, fd: u32, offset: i64, whence: u32, at: u32) -> Answer {
        let file = self.wasi.descriptors.file(fd)?;
        let from = match whence {
            0 => SeekFrom::Start(u64::try_from(offset).map_err(|_| Errno::INVAL)?),
            1 => SeekFrom::Current(offset),
            2 => SeekFrom::End(offset),
            _ => return Err(Errno::INVAL.into()),
        };
        let position = seek(&file.fd, from)?;
        self.put_u64(at, position)
    }

    pub fn fd_tell(&mut self, fd: u32, at: u32) -> Answer {
        self.fd_seek(fd, 0, 1, at)
    }

    pub fn fd_sync(&mut self, fd: u32) -> Answer {
        match self.wasi.descriptors.get(fd)? {
            Open::File(file) => Ok(fsync(&file.fd)?),
            Open::Directory(directory) => Ok(fsync(&directory.fd)?),
            _ => Err(Errno::INVAL.into()),
        }
    }

    pub fn fd_datasync(&mut self, fd: u32) -> Answer {
        match self.wasi.descriptors.get(fd)? {
            Open::File(file) => Ok(fdatasync(&file.fd)?),
            Open::Directory(directory) => Ok(fdatasync(&directory.fd)?),
            _ => Err(Errno::INVAL.into()),
        }
    }

    pub fn fd_advise(&mut self, fd: u32, offset: u64, length: u64, advice: u32) -> Answer {
        let advice = match advice {
            0 => Advice::Normal,
            1 => Advice::Sequential,
            2 => Advice::Random,
            3 => Advice::WillNeed,
            4 => Advice::DontNeed,
            5 => Advice::NoReuse,
            _ => return Err(Errno::INVAL.into()),
        };
        let file = self.wasi.descriptors.file(fd)?;
        Ok(fadvise(&file.fd, offset, std::num::NonZeroU64::new(length), advice)?)
    }

    pub fn fd_allocate(&mut self, fd: u32, offset: u64, length: u64) -> Answer {
        let file = self.wasi.descriptors.file(fd)?;
        if !file.can_write {
            return Err(Errno::BADF.into());
        }
        Ok(fallocate(&file.fd, FallocateFlags::empty(), offset, length)?)
    }

    pub fn fd_filestat_set_size(&mut self, fd: u32, size: u64) -> Answer {
        let file = self.wasi.descriptors.file(fd)?;
        if !file.can_write {
            return Err(Errno::BADF.into());
        }
        Ok(ftruncate(&file.fd, size)?)
    }
}

const SMALL_BYTES: usize = 1 << 16;
/// The size of one read from a file; a call can be ended between two of them.
const STEP_BYTES: usize = 1 << 20;

fn offset_after(offset: u64, done: u32) -> Answer<u64> {
    Ok(offset.checked_add(u64::from(done)).ok_or(Errno::OVERFLOW)?)
}

/// Works piece by piece, until one is not done whole; `work` gets the number of bytes done before. An error after the
/// first byte counts as a short result.
fn each_piece(
    memory: &mut [u8],
    pieces: &[Iovec],
    kill: &Kill,
    mut work: impl FnMut(&mut [u8], u32) -> Answer<usize>,
) -> Answer<u32> {
    let mut total: u32 = 0;
    for piece in pieces {
        for step in memory[piece.clone()].chunks_mut(STEP_BYTES) {
            kill.refuse_if_asked()?;
            // A u32 holds the total, so the count is capped: pieces may be the same memory many times over.
            let room = step.len().min((u32::MAX - total) as usize);
            if room == 0 {
                return Ok(total);
            }
            let done = match work(&mut step[..room], total) {
                Ok(done) => done,
                Err(Fault::Told(_)) if total > 0 => return Ok(total),
                Err(fault) => return Err(fault),
            };
            total += done as u32;
            if done < room {
                return Ok(total);
            }
        }
    }
    Ok(total)
}
