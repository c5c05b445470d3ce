//! Removes directories of layers. A user's layers have files of that user's subordinate ids, which only root of a user
//! namespace with these ids may remove.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use ak_jail::{
    channel::Channel,
    fault::{During, Fault, Outcome},
    identity::{Identity, is_host_root},
    spec::IdChoice,
    sys::{self, Fork},
    walls,
};
use rustix::{
    fs::{Mode, OFlags, open},
    process::{Signal, pidfd_send_signal},
};

use crate::{jail::ROOT, remove::remove};

pub fn remove_all(paths: &[PathBuf]) -> Outcome<()> {
    if is_host_root() {
        return remove_here(paths);
    }
    let identity = Identity::choose(IdChoice::Best, ROOT)?;
    let (ours, theirs) = Channel::pair()?;
    let (pid, pidfd) = match sys::fork_into(libc::CLONE_NEWUSER, None).during("make a user namespace")? {
        Fork::Parent { pid, pidfd } => (pid, pidfd),
        Fork::Child => {
            drop(ours);
            let outcome = as_root_of_the_ids(&identity, &theirs, paths);
            // Without a reader there is nothing to report to.
            let _ = theirs.send(&outcome.err(), None);
            std::process::exit(0);
        }
    };
    drop(theirs);
    let told = identity.write_maps(pid).and_then(|()| ours.send(&(), None)).and_then(|()| ours.receive());
    // It may have ended by itself.
    let _ = pidfd_send_signal(&pidfd, Signal::KILL);
    sys::wait_for(pid).during("wait for the removal")?;
    match told? {
        Some((None, _)) => Ok(()),
        Some((Some(fault), _)) => Err(fault),
        None => Err(Fault::start("the removal was killed")),
    }
}

fn as_root_of_the_ids(identity: &Identity, channel: &Channel, paths: &[PathBuf]) -> Outcome<()> {
    channel.expect::<()>()?;
    if identity.has_range() {
        sys::set_ids(0, 0, true).during("become root of the ids")?;
    }
    walls::die_with_parent()?;
    remove_here(paths)
}

fn remove_here(paths: &[PathBuf]) -> Outcome<()> {
    for path in paths {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Fault::new("internal", format!("{} cannot be removed", path.display())));
        };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let directory = open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .during(format_args!("open {}", parent.display()))?;
        remove(std::os::fd::AsFd::as_fd(&directory), OsStr::as_bytes(name)).map_err(|e| Fault::start(e.to_string()))?;
    }
    Ok(())
}
