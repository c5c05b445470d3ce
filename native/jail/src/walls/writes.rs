//! Landlock: a second wall for writes, beside the mounts, and against changes of mounts, devices, and signals to the
//! outside.

use std::{
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope,
};
use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
};

use crate::{
    control::{Layer, LayerState},
    fault::{During, Fault, Outcome},
};

const MESSAGE_QUEUES: &str = "/dev/mqueue";

pub fn required(writable: &[PathBuf]) -> Outcome<Layer> {
    match restrict_writes(writable)? {
        RulesetStatus::NotEnforced if writable != [Path::new("/")] => {
            Err(Fault::new("layer_unavailable", "the policy limits writes by Landlock, and this kernel has none")
                .hint("boot a kernel with Landlock (lsm=landlock,… on its command line), or use another profile"))
        }
        status => Ok(layer_of(&status)),
    }
}

pub fn where_known(writable: &[PathBuf]) -> Outcome<Layer> {
    restrict_writes(writable).map(|status| layer_of(&status))
}

fn layer_of(status: &RulesetStatus) -> Layer {
    match status {
        RulesetStatus::FullyEnforced => Layer::applied("landlock"),
        RulesetStatus::PartiallyEnforced => {
            Layer::new("landlock", LayerState::Partial, "this kernel knows only a part of the rules")
        }
        RulesetStatus::NotEnforced => Layer::new("landlock", LayerState::Absent, "this kernel has no Landlock"),
    }
}

fn restrict_writes(writable: &[PathBuf]) -> Outcome<RulesetStatus> {
    let writes = AccessFs::from_write(ABI::V3);
    let granted: BitFlags<AccessFs> = writes & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    // Message queues lie in a file system of the kernel's own, which no path leads to but this one.
    let paths = writable.iter().map(PathBuf::as_path).chain([Path::new(MESSAGE_QUEUES)]);
    let rules = paths.filter_map(|path| rule(path, granted)).map(Ok::<_, RulesetError>);
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writes)
        .and_then(|r| r.scope(Scope::from_all(ABI::V6)))
        .and_then(Ruleset::create)
        // Who calls has set it.
        .map(|r| r.no_new_privs(false))
        .and_then(|r| r.add_rules(rules))
        .and_then(|r| r.restrict_self())
        .during("restrict writes by Landlock")?;
    Ok(status.ruleset)
}

/// None for what cannot be opened: nothing can be written there.
fn rule(path: &Path, granted: BitFlags<AccessFs>) -> Option<PathBeneath<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match open(path, flags | OFlags::DIRECTORY, Mode::empty()) {
        Err(Errno::NOTDIR) => {
            let file = open(path, flags, Mode::empty()).ok()?;
            Some(PathBeneath::new(file, granted & AccessFs::from_file(ABI::V3)))
        }
        folder => Some(PathBeneath::new(folder.ok()?, granted)),
    }
}
