//! Pseudo-terminals of the sandbox's own devpts.

use std::os::fd::{AsFd, OwnedFd};

use ak_wire::payload::WindowSize;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, ptsname, unlockpt};
use rustix::termios::{SpecialCodeIndex, Winsize, tcgetattr, tcsetwinsize};

pub struct Pty {
    /// Non-blocking.
    pub master: OwnedFd,
    pub slave: OwnedFd,
}

pub fn open(size: WindowSize) -> io::Result<Pty> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let master = openat(CWD, c"/dev/ptmx", flags, Mode::empty())?;
    unlockpt(&master)?;
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let slave = match ioctl_tiocgptpeer(&master, flags) {
        // gVisor's kernel does not know that question; the devpts that it is asked about is the only one there.
        Err(io::Errno::NOTTY | io::Errno::INVAL) => open_by_name(&master)?,
        result => result?,
    };
    resize(&master, size)?;
    Ok(Pty { master, slave })
}

fn open_by_name(master: &OwnedFd) -> io::Result<OwnedFd> {
    let name = ptsname(master, Vec::new())?;
    openat(CWD, name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())
}

pub fn resize(master: impl AsFd, size: WindowSize) -> io::Result<()> {
    let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(master, size)
}

/// Returns the end-of-file character (VEOF) of the terminal's current settings: control-D unless the command chose
/// another.
pub fn eof_character(master: impl AsFd) -> u8 {
    const CONTROL_D: u8 = 4;
    tcgetattr(master).map_or(CONTROL_D, |t| t.special_codes[SpecialCodeIndex::VEOF])
}
