//! What a process gives up for good before anything untrusted runs in it, and every process after it. All programs of
//! ours that become something untrusted, or read it, raise their walls here, in one order.

use std::path::PathBuf;

use rustix::{
    process::{Signal, set_parent_process_death_signal},
    thread::set_no_new_privs,
};

use crate::{
    control::Layer,
    fault::{During, Outcome},
    spec::{Capabilities, Spec, User},
    sys,
};

mod capabilities;
mod filters;
mod shares;
mod writes;

pub use capabilities::keeps;
pub use filters::Filter;
pub use shares::limit_shares;

pub struct Walls<'a> {
    pub capabilities: Kept<'a>,
    /// Whom the process becomes; without it, it stays who it is.
    pub user: Option<User>,
    pub dies_with_parent: bool,
    pub writes: Writes<'a>,
    pub filter: Filter,
}

/// Which capabilities are left, to this process and to whatever it executes.
pub enum Kept<'a> {
    /// Those that root of a sandbox has. `is_live`: something of the host's can be written directly.
    OfSandbox {
        choice: Capabilities,
        is_live: bool,
    },
    Only(&'a [u32]),
    /// A runtime that builds walls of its own inside needs them all.
    All,
}

/// Landlock's rules: where files may be written, whatever the mounts say.
pub enum Writes<'a> {
    /// A policy asks for it: a kernel without Landlock is an error, unless everything is open.
    Required(&'a [PathBuf]),
    /// No policy asks for it: a kernel without Landlock does without.
    WhereKnown(&'a [PathBuf]),
    /// The root has nothing that could be written but what is to be written.
    ByMountsAlone,
}

/// What Landlock's layer is, where there is one.
pub fn raise(walls: &Walls<'_>) -> Outcome<Option<Layer>> {
    let kept = match walls.capabilities {
        Kept::OfSandbox { choice, is_live } => Some(capabilities::of_sandbox(choice, is_live)),
        Kept::Only(kept) => Some(kept.to_vec()),
        Kept::All => None,
    };
    if let Some(kept) = &kept {
        capabilities::bound(kept)?;
    }
    if let Some(User { uid, gid }) = walls.user {
        sys::set_ids(uid, gid, true).during("become the sandbox's user")?;
    }
    if let Some(kept) = kept {
        let is_root = rustix::process::geteuid().is_root();
        sys::keep_capabilities(if is_root { &kept } else { &[] }).during("drop capabilities")?;
    }
    if walls.dies_with_parent {
        // Changing ids forgets it, so it comes after.
        die_with_parent()?;
    }
    set_no_new_privs(true).during("set no_new_privs")?;
    let layer = match walls.writes {
        Writes::Required(writable) => Some(writes::required(writable)?),
        Writes::WhereKnown(writable) => Some(writes::where_known(writable)?),
        Writes::ByMountsAlone => None,
    };
    walls.filter.install()?;
    Ok(layer)
}

pub fn die_with_parent() -> Outcome<()> {
    set_parent_process_death_signal(Some(Signal::KILL)).during("die with the supervisor")
}

/// Whether something of the host's can be written directly.
pub fn has_live_view(spec: &Spec) -> bool {
    spec.views.iter().any(|v| v.is_live())
}
