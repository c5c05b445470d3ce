//! The ways to start a guest.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::{Guest, Host};

impl Guest {
    pub fn start() -> Self {
        Self::start_with_window(262_144)
    }

    pub fn start_with_window(window: u32) -> Self {
        Self::launch(Command::new(env!("CARGO_BIN_EXE_ak-guest")), window)
    }

    /// As process 1 of a PID namespace of its own, as in a sandbox.
    pub fn start_as_init() -> Self {
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"])
            .args(["--kill-child", "--"])
            .arg(env!("CARGO_BIN_EXE_ak-guest"));
        Self::launch(command, 262_144)
    }

    /// As a user without any rights, also when the tests run as root.
    pub fn start_unprivileged(process_limit: Option<u64>) -> Self {
        const SOMEBODY: u32 = 54_321;
        // By descriptor: the directory of the binary may be closed to others.
        let file = std::fs::File::open(env!("CARGO_BIN_EXE_ak-guest")).expect("the binary");
        // Well above the number that the stream takes.
        let binary = rustix::io::fcntl_dupfd_cloexec(&file, 100).expect("a descriptor");
        let mut command = Command::new(format!("/proc/self/fd/{}", binary.as_raw_fd()));
        if rustix::process::geteuid().is_root() {
            command.uid(SOMEBODY).gid(SOMEBODY);
        }
        if let Some(limit) = process_limit {
            let limit = rustix::process::Rlimit { current: Some(limit), maximum: Some(limit) };
            // SAFETY: one system call between fork and exec.
            unsafe {
                command.pre_exec(move || {
                    rustix::process::setrlimit(rustix::process::Resource::Nproc, limit)?;
                    Ok(())
                });
            }
        }
        Self::launch(command, 262_144)
    }

    /// With these sockets as those of a captured network, in the network namespace of the calling thread.
    pub fn start_captured(listeners: &ak_net::capture::Listeners) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ak-guest"));
        command.arg("captured");
        let numbers: Vec<(i32, i32)> = (ak_net::capture::FIRST_FD..)
            .zip(&listeners.sockets)
            .filter_map(|(to, socket)| socket.as_ref().map(|socket| (socket.as_raw_fd(), to)))
            .collect();
        // SAFETY: only fcntl and dup2 run between fork and exec. Through high numbers, so that none overwrites
        // another that is still to be moved.
        unsafe {
            command.pre_exec(move || {
                for (from, to) in &numbers {
                    if libc::fcntl(*from, libc::F_DUPFD, to + 100) != to + 100 {
                        return Err(std::io::Error::other("a descriptor is in the way"));
                    }
                }
                for (_, to) in &numbers {
                    if libc::dup2(to + 100, *to) < 0 {
                        return Err(std::io::Error::last_os_error());
                    }
                }
                Ok(())
            });
        }
        Self::launch(command, 262_144)
    }

    fn launch(mut command: Command, window: u32) -> Self {
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        let theirs = OwnedFd::from(theirs);
        let raw = theirs.as_raw_fd();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: only dup2 and fcntl run between fork and exec.
        unsafe {
            command.pre_exec(move || {
                if raw == 3 {
                    libc::fcntl(3, libc::F_SETFD, 0);
                } else if libc::dup2(raw, 3) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn().expect("the guest starts");
        Self { child, host: Host::greet(ours, window) }
    }
}
