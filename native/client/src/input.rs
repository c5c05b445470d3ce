//! Our stdin. It is read only as far as the daemon asks for it, so that unwanted input stays for the next reader.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::{Errno, read};
use rustix::stdio::stdin;

pub struct Input {
    /// Our own opening of a pipe, so that reading it never blocks; another reader may be faster.
    own: Option<OwnedFd>,
    /// How much more is wanted.
    credit: usize,
    is_over: bool,
}

pub enum Got {
    Bytes(usize),
    Nothing,
    End,
}

impl Input {
    pub fn open() -> Self {
        let is_pipe = fstat(stdin()).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Fifo);
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let own = if is_pipe { openat(CWD, "/proc/self/fd/0", flags, Mode::empty()).ok() } else { None };
        Self { own, credit: 0, is_over: false }
    }

    /// Set when something may be read.
    pub fn wanted(&self) -> Option<BorrowedFd<'_>> {
        (self.credit > 0 && !self.is_over).then(|| self.descriptor())
    }

    pub fn grant(&mut self, bytes: u32) {
        self.credit = self.credit.saturating_add(bytes as usize);
    }

    pub fn stop(&mut self) {
        self.is_over = true;
    }

    pub fn read(&mut self, into: &mut [u8]) -> Got {
        let most = into.len().min(self.credit);
        match read(self.descriptor(), &mut into[..most]) {
            Ok(0) => self.end(),
            Ok(count) => {
                self.credit -= count;
                Got::Bytes(count)
            }
            Err(Errno::AGAIN | Errno::INTR) => Got::Nothing,
            // A stdin that cannot be read is an empty one, as for a local process that ignores the error.
            Err(_) => self.end(),
        }
    }

    fn end(&mut self) -> Got {
        self.is_over = true;
        Got::End
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.own.as_ref().map_or(stdin(), AsFd::as_fd)
    }
}
