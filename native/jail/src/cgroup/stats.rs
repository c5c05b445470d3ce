//! What the limits did, read before the cgroup goes.

use super::Cgroup;

#[derive(Debug, Default)]
pub struct Stats {
    pub oom_kills: u64,
    pub pids_denied: u64,
    pub memory_peak_bytes: Option<u64>,
}

impl Cgroup {
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        if let Some(memory) = self.of("memory") {
            let (events, peak) = if memory.v2 {
                ("memory.events", "memory.peak")
            } else {
                ("memory.oom_control", "memory.max_usage_in_bytes")
            };
            stats.oom_kills = memory.counter(events, "oom_kill").unwrap_or(0);
            stats.memory_peak_bytes = memory.number(peak);
        }
        stats.pids_denied = self.of("pids").and_then(|pids| pids.counter("pids.events", "max")).unwrap_or(0);
        stats
    }
}
