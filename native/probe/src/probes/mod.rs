//! The table of layers. Each probe is one file and answers a verdict; it may spoil its own process as it
//! likes (namespaces, filters, limits), for that process ends with it.

mod cgroup;
mod hang;
mod idmap;
mod kvm;
mod landlock;
mod mountns_proc;
mod netns;
mod overlay;
mod redirect;
mod seccomp;
mod subids;
mod userns;

use crate::report::Verdict;

/// The context that all probes of one run share.
pub struct Context {
    /// The name of anything a probe makes outside its own namespaces.
    pub tag: String,
}

impl Context {
    pub fn new() -> Context {
        Context { tag: format!("agentkernel-probe-{}", std::process::id()) }
    }
}

pub struct Layer {
    pub name: &'static str,
    pub probe: fn(&Context) -> Verdict,
    /// Removes what a killed probe could have left.
    pub sweep: fn(&Context),
    /// Not killed together with the runner, because it removes by itself what would otherwise stay.
    pub finishes_alone: bool,
    pub timeout_hint: &'static str,
}

const fn layer(name: &'static str, probe: fn(&Context) -> Verdict) -> Layer {
    Layer {
        name,
        probe,
        sweep: |_| {},
        finishes_alone: false,
        timeout_hint: "the machine may be overloaded: run it again when it is quiet",
    }
}

pub const LAYERS: &[Layer] = &[
    layer("userns", userns::probe),
    layer("subids", subids::probe),
    layer("mountns-proc", mountns_proc::probe),
    layer("overlay", overlay::probe),
    layer("idmap", idmap::probe),
    layer("netns", netns::probe),
    layer("redirect", redirect::probe),
    layer("seccomp", seccomp::probe),
    layer("landlock", landlock::probe),
    Layer { sweep: cgroup::sweep, finishes_alone: true, ..layer("cgroup", cgroup::probe) },
    Layer { timeout_hint: kvm::UNUSABLE_HINT, ..layer("kvm", kvm::probe) },
];

/// Reachable by name only, never part of `all`.
pub const TEST_HOOKS: &[Layer] = &[layer("hang", hang::probe)];
