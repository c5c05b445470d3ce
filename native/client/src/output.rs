//! One of our own output streams. Whatever reads it, writing never holds this process up, except to a file.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::{Errno, write};
use rustix::net::{SendFlags, send};
use rustix::stdio::{stderr, stdout};
use rustix::termios::isatty;

/// A pipe that says that it can be written takes this much without blocking.
const ONE_PAGE: usize = 4096;

enum Target {
    /// Our own opening of the same pipe or terminal: making the inherited one non-blocking would do so for everyone who
    /// shares it.
    Own(OwnedFd),
    Socket(BorrowedFd<'static>),
    /// A pipe or terminal that could not be opened once more.
    Shared(BorrowedFd<'static>),
    /// A file or device: it is never full in a way that waiting would change.
    File(BorrowedFd<'static>),
}

pub struct Output {
    target: Target,
    pending: Vec<u8>,
    /// Where what is pending begins.
    at: usize,
    /// Bytes written and not yet acknowledged.
    written: u32,
    failure: Option<Errno>,
    is_failure_told: bool,
}

impl Output {
    pub fn open(stream: u8) -> Self {
        let inherited: BorrowedFd<'static> = if stream == 1 { stdout() } else { stderr() };
        Self {
            target: target_of(inherited),
            pending: Vec::new(),
            at: 0,
            written: 0,
            failure: None,
            is_failure_told: false,
        }
    }

    /// Set when there is something that waits for its reader.
    pub fn waits(&self) -> Option<BorrowedFd<'_>> {
        (self.at < self.pending.len()).then(|| match &self.target {
            Target::Own(own) => own.as_fd(),
            Target::Socket(fd) | Target::Shared(fd) | Target::File(fd) => *fd,
        })
    }

    pub fn push(&mut self, piece: &[u8]) {
        let mut rest = piece;
        if self.at == self.pending.len() {
            self.pending.clear();
            self.at = 0;
            rest = &piece[self.write_some(piece)..];
        }
        self.pending.extend_from_slice(rest);
    }

    pub fn flush(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.at += self.write_some(&pending[self.at..]);
        self.pending = pending;
    }

    /// How much was written since the last time that this was asked.
    pub fn take_written(&mut self) -> u32 {
        std::mem::take(&mut self.written)
    }

    /// Why nothing can be written any more; once.
    pub fn take_failure(&mut self) -> Option<Errno> {
        let failure = self.failure.filter(|_| !self.is_failure_told)?;
        self.is_failure_told = true;
        Some(failure)
    }

    /// How much could be written now. What cannot be written ever is gone.
    fn write_some(&mut self, bytes: &[u8]) -> usize {
        let mut done = 0;
        while done < bytes.len() {
            if self.failure.is_some() {
                done = bytes.len();
                break;
            }
            match self.write_once(&bytes[done..]) {
                Ok(count) => done += count,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => self.failure = Some(error),
            }
        }
        self.written += done as u32;
        done
    }

    fn write_once(&self, bytes: &[u8]) -> Result<usize, Errno> {
        match &self.target {
            Target::Own(own) => write(own, bytes),
            Target::Socket(fd) => send(fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL),
            Target::File(fd) => write(fd, bytes),
            Target::Shared(fd) => {
                let mut polled = [PollFd::new(fd, PollFlags::OUT)];
                poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
                if polled[0].revents().is_empty() {
                    return Err(Errno::AGAIN);
                }
                write(fd, &bytes[..bytes.len().min(ONE_PAGE)])
            }
        }
    }
}

fn target_of(inherited: BorrowedFd<'static>) -> Target {
    let kind = fstat(inherited).map(|found| FileType::from_raw_mode(found.st_mode));
    match kind {
        Ok(FileType::Socket) => Target::Socket(inherited),
        Ok(FileType::Fifo) => reopened(inherited),
        Ok(FileType::CharacterDevice) if isatty(inherited) => reopened(inherited),
        _ => Target::File(inherited),
    }
}

fn reopened(inherited: BorrowedFd<'static>) -> Target {
    let path = format!("/proc/self/fd/{}", inherited.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).map_or(Target::Shared(inherited), Target::Own)
}
