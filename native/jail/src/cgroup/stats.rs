//! What the limits did, read before the cgroup goes.

use std::{fs, path::Path};

#[derive(Debug, Default)]
pub struct Stats {
    pub oom_kills: u64,
    pub pids_denied: u64,
    pub memory_peak_bytes: Option<u64>,
}

impl Stats {
    pub fn read(memory: Option<(&Path, bool)>, pids: Option<&Path>) -> Self {
        let mut stats = Self::default();
        if let Some((path, v2)) = memory {
            let (events, peak) =
                if v2 { ("memory.events", "memory.peak") } else { ("memory.oom_control", "memory.max_usage_in_bytes") };
            stats.oom_kills = counter(path, events, "oom_kill").unwrap_or(0);
            stats.memory_peak_bytes = fs::read_to_string(path.join(peak)).ok().and_then(|t| t.trim().parse().ok());
        }
        if let Some(path) = pids {
            stats.pids_denied = counter(path, "pids.events", "max").unwrap_or(0);
        }
        stats
    }
}

fn counter(folder: &Path, file: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(folder.join(file)).ok()?;
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}
