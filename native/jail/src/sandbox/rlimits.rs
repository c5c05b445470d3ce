//! Limits for each process, beside or instead of those of the cgroup.

use crate::{cgroup::Cgroup, spec::Spec, sys};

/// What a machine's monitor may reserve beyond what it may use: a stack for each of its threads, of which it has more
/// while it saves the machine, and none of which is ever full.
const RESERVED_MIB: u64 = 512;

/// Limits for each process, and where no cgroup holds all of them together, the next best thing.
pub fn rlimits(spec: &Spec, cgroup: &Cgroup) -> Vec<(sys::Resource, u64)> {
    let mut limits = vec![(libc::RLIMIT_NOFILE, spec.limits.open_files), (libc::RLIMIT_CORE, 0)];
    // With a kernel of its own the sandbox's processes are counted there.
    if spec.gvisor.is_some() || !cgroup.limits("pids") {
        limits.push((libc::RLIMIT_NPROC, spec.limits.pids));
    }
    if !cgroup.limits("memory") {
        // gVisor's kernel looks at all of a process's addresses only.
        let kind = if spec.gvisor.is_some() { libc::RLIMIT_AS } else { libc::RLIMIT_DATA };
        let reserved = if spec.monitor.is_some() { RESERVED_MIB } else { 0 };
        limits.push((kind, (spec.limits.memory_mib + reserved) << 20));
    }
    limits
}
