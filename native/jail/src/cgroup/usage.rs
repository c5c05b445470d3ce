//! What a running sandbox uses, as far as its cgroups tell.

use serde::Serialize;

use super::Cgroup;

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub memory_bytes: Option<u64>,
    pub memory_peak_bytes: Option<u64>,
    pub cpu_us: Option<u64>,
    pub processes: Option<u64>,
    pub oom_kills: u64,
    pub pids_denied: u64,
}

impl Cgroup {
    pub fn usage(&self) -> Usage {
        let stats = self.stats();
        let memory = self.of("memory");
        let memory = memory.and_then(|g| g.number(if g.v2 { "memory.current" } else { "memory.usage_in_bytes" }));
        Usage {
            memory_bytes: memory,
            memory_peak_bytes: stats.memory_peak_bytes,
            cpu_us: self.cpu_us(),
            processes: self.of("pids").and_then(|g| g.number("pids.current")),
            oom_kills: stats.oom_kills,
            pids_denied: stats.pids_denied,
        }
    }

    /// Every v2 group counts processor time, also without a controller; of v1 the one does that limits it, where the two
    /// go together.
    pub fn cpu_us(&self) -> Option<u64> {
        if let Some(group) = self.groups.iter().find(|group| group.v2) {
            return group.counter("cpu.stat", "usage_usec");
        }
        self.of("cpu")?.number("cpuacct.usage").map(|ns| ns / 1000)
    }
}
