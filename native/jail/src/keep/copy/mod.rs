//! A kept sandbox's state once more, in another state folder: what a snapshot is, and what a fork or a restored sandbox
//! begins with. The copy is a sandbox that was never started: it has the layers and what is known of the project, and
//! neither a socket nor an end. Whoever asks has paused what runs; this takes what lies there.

mod contents;
mod tree;

use std::{fs, io, path::Path};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, unlinkat},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use super::{
    all_ids::with_all_ids,
    folder::{DISK, StateFolder, exists},
    project, sweep, uncarried,
};
use crate::fault::{During, Fault, Outcome};

/// In the copy's disk, while it is made: one name for each file that has several.
const LINKS: &str = "links";
/// In the disk: the files of a sandbox that is a virtual machine.
const MACHINE: &str = "machine";
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What was copied.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    pub entries: u64,
    /// Of all files' contents, without their holes.
    pub bytes: u64,
}

/// `into` is an empty state folder. What a failure leaves in it is its owner's to remove.
pub fn copy(from: &Path, into: &Path) -> Outcome<Copied> {
    // Held until all is copied, so that nobody starts it meanwhile. The supervisor of one that runs has it.
    let source = StateFolder::try_claim(from)?;
    if let Some(source) = &source {
        sweep::clear(source)?;
    }
    let target = StateFolder::claim(into)?;
    if exists(&into.join(DISK)) {
        return Err(Fault::new("internal", format!("{} has a disk already", into.display())));
    }
    for name in [project::FILE, project::APPLIED, uncarried::FILE] {
        match fs::copy(from.join(name), into.join(name)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            copied => drop(copied.map_err(|e| failed(format_args!("copy {name}"), raw(&e)))?),
        }
    }
    if !exists(&from.join(DISK)) {
        return Ok(Copied::default());
    }
    target.make_disk()?;
    with_all_ids(|| copy_disk(&from.join(DISK), &into.join(DISK)))
}

fn copy_disk(from: &Path, into: &Path) -> Outcome<Copied> {
    let open = |path: &Path| openat(CWD, path, FOLDER, Mode::empty()).during(format_args!("open {}", path.display()));
    let (source, target) = (open(from)?, open(into)?);
    mkdirat(&target, LINKS, Mode::from_raw_mode(0o700)).map_err(|e| failed("copy the sandbox's disk", e))?;
    let links = openat(&target, LINKS, FOLDER, Mode::empty()).during("open the copy's links")?;
    let mut copied = Copied::default();
    for entry in fs::read_dir(from).during("read the sandbox's disk")? {
        let name = entry.during("read the sandbox's disk")?.file_name();
        if is_layer(&name.to_string_lossy()) {
            tree::copy(&source, &target, &name, &links, &mut copied)?;
        }
    }
    for entry in fs::read_dir(into.join(LINKS)).during("clear the copy's links")? {
        let name = entry.during("clear the copy's links")?.file_name();
        unlinkat(&links, &name, AtFlags::empty()).during("clear the copy's links")?;
    }
    unlinkat(&target, LINKS, AtFlags::REMOVEDIR).during("clear the copy's links")?;
    Ok(copied)
}

/// The writable layers of the root and of views, and what a machine writes. Work folders are the kernel's, and made anew.
fn is_layer(name: &str) -> bool {
    name == "iu" || name == MACHINE || name.strip_prefix('u').is_some_and(|index| index.parse::<usize>().is_ok())
}

fn failed(what: impl std::fmt::Display, errno: Errno) -> Fault {
    match errno {
        Errno::NOSPC | Errno::DQUOT => Fault::new("resource_exhausted", format!("{what}: {errno}"))
            .hint("make room on the disk of the state folder"),
        _ => Fault::new("internal", format!("{what}: {errno}")),
    }
}

fn raw(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}

#[cfg(test)]
mod tests;
