//! The supervisor's side of the guest's door (native/guest/src/door.rs).

use std::{
    io::IoSlice,
    mem::MaybeUninit,
    os::fd::{BorrowedFd, OwnedFd},
};

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sendmsg, socketpair,
};

use crate::fault::{During, Outcome};

const HOST: u8 = 1;
const STOP: u8 = 2;
/// These are understood by a machine's monitor alone (native/vmm/src/qemu/kept.rs).
const ERRAND: u8 = 3;
const HOLD: u8 = 4;

pub struct Door(OwnedFd);

impl Door {
    /// Ours, and the guest's.
    pub fn pair() -> Outcome<(Self, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).during("make the guest's door")?;
        Ok((Self(ours), theirs))
    }

    /// False where the guest takes no more: it hangs, or is ending.
    pub fn let_in(&self, host: BorrowedFd<'_>) -> bool {
        self.pass(HOST, host)
    }

    /// Whoever has something to ask of a machine beside its host.
    pub fn let_ask(&self, asker: BorrowedFd<'_>) -> bool {
        self.pass(ERRAND, asker)
    }

    /// Whoever wants a machine held still, with its memory saved.
    pub fn let_hold(&self, asker: BorrowedFd<'_>) -> bool {
        self.pass(HOLD, asker)
    }

    fn pass(&self, kind: u8, stream: BorrowedFd<'_>) -> bool {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let descriptors = [stream];
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors))
            && sendmsg(&self.0, &[IoSlice::new(&[kind])], &mut ancillary, QUICK).is_ok()
    }

    pub fn stop(&self, grace_ms: u64) -> bool {
        let mut message = vec![STOP];
        message.extend(grace_ms.to_le_bytes());
        rustix::net::send(&self.0, &message, QUICK).is_ok()
    }
}

const QUICK: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);
