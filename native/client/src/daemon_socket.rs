//! Where the daemon's socket is, and a connection to it. The rule is that of `src/daemon/socket-place.ts`.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, openat, stat};
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

const SOCKET_NAME: &str = "daemon.sock";
/// The longest path that fits into `sockaddr_un`, without its terminating zero.
const MAX_ADDRESS: usize = 107;

/// Also the directory that it lies in. None where there is no daemon of this user.
pub fn connect() -> Option<(UnixStream, PathBuf)> {
    let directory = directory()?;
    let stream = connect_in(&directory).ok()?;
    // A directory of another user's is no place to send one's environment to.
    let peer = socket_peercred(&stream).ok()?;
    (peer.uid == geteuid()).then_some((stream, directory))
}

fn connect_in(directory: &Path) -> io::Result<UnixStream> {
    let path = directory.join(SOCKET_NAME);
    if path.as_os_str().len() <= MAX_ADDRESS {
        return UnixStream::connect(path);
    }
    // The descriptor stands for the long path.
    let opened = openat(CWD, directory, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    UnixStream::connect(format!("/proc/self/fd/{}/{SOCKET_NAME}", opened.as_raw_fd()))
}

fn directory() -> Option<PathBuf> {
    if let Some(runtime) = absolute("XDG_RUNTIME_DIR")
        && is_own_directory(&runtime)
    {
        return Some(runtime.join("agentkernel"));
    }
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("agentkernel/daemon"))
}

fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| is_absolute(value)).map(PathBuf::from)
}

fn is_absolute(value: &OsStr) -> bool {
    value.as_bytes().first() == Some(&b'/')
}

fn is_own_directory(path: &Path) -> bool {
    stat(path).is_ok_and(|found| {
        FileType::from_raw_mode(found.st_mode) == FileType::Directory && found.st_uid == geteuid().as_raw()
    })
}
