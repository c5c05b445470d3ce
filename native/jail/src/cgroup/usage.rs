//! What a running sandbox uses, as far as its cgroups tell.

use std::{fs, path::Path};

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
        let of = |controller: &str| self.groups.iter().find(|g| g.controllers.contains(&controller));
        let memory =
            of("memory").and_then(|g| number(&g.path, if g.v2 { "memory.current" } else { "memory.usage_in_bytes" }));
        Usage {
            memory_bytes: memory,
            memory_peak_bytes: stats.memory_peak_bytes,
            cpu_us: self.cpu_us(),
            processes: of("pids").and_then(|g| number(&g.path, "pids.current")),
            oom_kills: stats.oom_kills,
            pids_denied: stats.pids_denied,
        }
    }

    /// Every v2 group counts processor time, also without a controller.
    pub fn cpu_us(&self) -> Option<u64> {
        self.groups.iter().find_map(|group| {
            if group.v2 {
                let text = fs::read_to_string(group.path.join("cpu.stat")).ok()?;
                return text.lines().find_map(|line| line.strip_prefix("usage_usec ")?.trim().parse().ok());
            }
            number(&group.path, "cpuacct.usage").map(|ns| ns / 1000)
        })
    }
}

fn number(folder: &Path, file: &str) -> Option<u64> {
    fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
}
