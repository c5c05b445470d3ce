//! The last steps before the guest runs: what this process gives up for good, and every process after it.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    Scope, path_beneath_rules,
};
use rustix::{
    process::{Signal, set_parent_process_death_signal},
    thread::set_no_new_privs,
};

use crate::{
    control::{Layer, LayerState},
    fault::{During, Fault, Outcome},
    identity::Identity,
    spec::{Capabilities, SeccompChoice, Spec},
    sys,
};

mod programs {
    include!(concat!(env!("OUT_DIR"), "/seccomp.rs"));
}

/// What root of a sandbox may still do inside it: own and change files, change ids, bind low ports.
const KEPT: [u32; 10] = [
    0,  // chown
    1,  // dac_override
    3,  // fowner
    4,  // fsetid
    5,  // kill
    6,  // setgid
    7,  // setuid
    10, // net_bind_service
    18, // sys_chroot
    SETFCAP,
];
/// Give capabilities to programs.
const SETFCAP: u32 = 31;

/// Whether root of this sandbox has the capability.
pub fn keeps(spec: &Spec, capability: u32) -> bool {
    is_kept(spec.capabilities, has_live_view(spec), capability)
}

fn is_kept(choice: Capabilities, is_live: bool, capability: u32) -> bool {
    // Through a mount with mapped ids, a capability given to a file of the host's counts on the host.
    let is_lost = capability == SETFCAP && is_live;
    choice == Capabilities::Default && KEPT.contains(&capability) && !is_lost
}

/// Nobody in the sandbox has the other capabilities, whatever it executes.
pub fn drop_capabilities(spec: &Spec) -> Outcome<()> {
    keep_only(spec.capabilities, has_live_view(spec))
}

/// `is_live`: something of the host's can be written directly.
pub fn keep_only(choice: Capabilities, is_live: bool) -> Outcome<()> {
    for capability in 0..64 {
        if !is_kept(choice, is_live, capability)
            && !sys::drop_from_bounding_set(capability).during("drop capabilities")?
        {
            break;
        }
    }
    Ok(())
}

/// Becomes the sandbox's user. Changing ids forgets the parent-death signal, so it is set after.
pub fn become_user(spec: &Spec, identity: &Identity) -> Outcome<()> {
    if identity.has_range() {
        sys::set_ids(spec.user.uid, spec.user.gid, true).during("become the sandbox's user")?;
    }
    die_with_parent()
}

pub fn die_with_parent() -> Outcome<()> {
    set_parent_process_death_signal(Some(Signal::KILL)).during("die with the supervisor")
}

/// A second wall for writes, beside the mounts, and against changes of mounts, devices, and signals to the outside.
pub fn landlock(writable: &[PathBuf]) -> Outcome<Layer> {
    match restrict_writes(writable)? {
        RulesetStatus::NotEnforced if writable != [Path::new("/")] => {
            Err(Fault::new("layer_unavailable", "the policy limits writes by Landlock, and this kernel has none")
                .hint("boot a kernel with Landlock (lsm=landlock,… on its command line), or use another profile"))
        }
        status => Ok(layer_of(&status)),
    }
}

/// Nothing may be written but these. No policy asks for it, so a kernel that has none does without.
pub fn landlock_where_known(writable: &[PathBuf]) -> Outcome<Layer> {
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
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writes)
        .and_then(|r| r.scope(Scope::from_all(ABI::V6)))
        .and_then(Ruleset::create)
        .and_then(|r| r.add_rules(path_beneath_rules(writable, granted)))
        .and_then(|r| r.restrict_self())
        .during("restrict writes by Landlock")?;
    Ok(status.ruleset)
}

pub fn no_new_privileges() -> Outcome<()> {
    set_no_new_privs(true).during("set no_new_privs")
}

/// The filter of an ordinary sandbox.
pub fn seccomp_default() -> Outcome<()> {
    sys::install_seccomp(&programs::DEFAULT).map_err(missing)
}

fn missing(e: std::io::Error) -> Fault {
    Fault::new("layer_unavailable", format!("the seccomp filter could not be installed: {e}"))
}

/// Around a runtime that builds walls of its own: it makes namespaces, mounts and traces its children.
pub fn seccomp_runtime() -> Outcome<()> {
    sys::install_seccomp(&programs::RUNTIME).map_err(missing)
}

/// Around a virtual machine's monitor, which starts one program and then has its descriptors and its memory; and Unix
/// sockets of its own making, where that is how it is spoken to.
pub fn seccomp_monitor(has_unix_sockets: bool) -> Outcome<()> {
    sys::install_seccomp(if has_unix_sockets { &programs::LISTENING_MONITOR[..] } else { &programs::MONITOR[..] })
        .map_err(missing)
}

pub fn filter_calls(choice: SeccompChoice, is_live: bool) -> Outcome<()> {
    // A file that a sandbox makes setuid in a folder of the host's is setuid on the host.
    if is_live {
        sys::install_seccomp(&programs::SETID_BITS).map_err(missing)?;
    }
    sys::install_seccomp(match choice {
        SeccompChoice::Default => &programs::DEFAULT[..],
        SeccompChoice::Strict => &programs::STRICT[..],
    })
    .map_err(missing)
}

/// Whether something of the host's can be written directly.
pub fn has_live_view(spec: &Spec) -> bool {
    spec.views.iter().any(|v| v.is_live())
}
