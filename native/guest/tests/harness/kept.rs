//! A guest whose hosts come and go, and the supervisor's side of its door.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sendmsg, socketpair,
};

use super::Host;

pub struct KeptGuest {
    pub child: Child,
    door: Option<OwnedFd>,
}

impl KeptGuest {
    pub fn start() -> Self {
        Self::start_with(Command::new(env!("CARGO_BIN_EXE_ak-guest")))
    }

    fn start_with(mut command: Command) -> Self {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("a socket pair");
        let raw = theirs.as_raw_fd();
        command.arg("kept").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
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
        Self { child: command.spawn().expect("the guest starts"), door: Some(ours) }
    }

    pub fn connect(&self) -> Host {
        self.connect_with_window(262_144)
    }

    pub fn connect_with_window(&self, window: u32) -> Host {
        Host::greet(self.connect_silently(), window)
    }

    /// A connection on which the host has said nothing yet.
    pub fn connect_silently(&self) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let passed = [theirs.as_fd()];
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&passed)));
        let door = self.door.as_ref().expect("the door is open");
        sendmsg(door, &[IoSlice::new(&[1])], &mut ancillary, SendFlags::NOSIGNAL).expect("the guest takes it");
        ours
    }

    pub fn stop(&self, grace_ms: u64) {
        let mut message = vec![2];
        message.extend(grace_ms.to_le_bytes());
        let door = self.door.as_ref().expect("the door is open");
        rustix::net::send(door, &message, SendFlags::NOSIGNAL).expect("the guest takes it");
    }

    /// As if the supervisor had died.
    pub fn close_door(&mut self) {
        self.door = None;
    }

    pub fn wait_end(&mut self) -> ExitStatus {
        self.child.wait().expect("the guest ends")
    }
}

impl Drop for KeptGuest {
    fn drop(&mut self) {
        self.door = None;
        let _ = self.child.wait();
    }
}
