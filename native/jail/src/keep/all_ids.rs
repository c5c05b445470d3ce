//! Work on what a sandbox wrote. A user's sandbox has files of that user's subordinate ids on its disk, which only root
//! of a user namespace with these ids may read, change or remove; root of the machine may anyway.

use rustix::process::{Signal, pidfd_send_signal};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    channel::Channel,
    fault::{During, Fault, Outcome},
    identity::{Identity, is_host_root},
    spec::{IdChoice, User},
    sys::{self, Fork},
    walls,
};

/// Does the work where every id of the caller's is its own. Precondition: this process has one thread.
pub fn with_all_ids<T: Serialize + DeserializeOwned>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    if is_host_root() { work() } else { in_namespace(work) }
}

fn in_namespace<T: Serialize + DeserializeOwned>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    let identity = Identity::choose(IdChoice::Best, User { uid: 0, gid: 0 })?;
    let (ours, theirs) = Channel::pair()?;
    let (pid, pidfd) = match sys::fork_into(libc::CLONE_NEWUSER, None).during("make a user namespace")? {
        Fork::Parent { pid, pidfd } => (pid, pidfd),
        Fork::Child => {
            drop(ours);
            let outcome = as_root_of_the_ids(&identity, &theirs, work);
            // If nobody listens any more there is nobody to tell.
            let _ = theirs.send(&outcome, None);
            std::process::exit(0);
        }
    };
    drop(theirs);
    let told = identity.write_maps(pid).and_then(|()| ours.send(&(), None)).and_then(|()| ours.receive());
    // It may have ended by itself.
    let _ = pidfd_send_signal(&pidfd, Signal::KILL);
    sys::wait_for(pid).during("wait for work on the sandbox's disk")?;
    match told? {
        Some((outcome, _)) => outcome,
        None => Err(Fault::start("work on the sandbox's disk was killed")),
    }
}

fn as_root_of_the_ids<T>(identity: &Identity, channel: &Channel, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    channel.expect::<()>()?;
    if identity.has_range() {
        sys::set_ids(0, 0, true).during("become root of the ids")?;
    }
    walls::die_with_parent()?;
    work()
}
