//! Hits one limit each in a cgroup of our own. A member process is held until it has been moved in.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use rustix::process::{Signal, WaitStatus};

use super::place::Version;
use crate::process;

const MEMORY_LIMIT: usize = 8 << 20;
const MEMORY_TOUCHED: usize = 8 * MEMORY_LIMIT;

/// The effect of a limit, or why it cannot be relied on.
pub type Outcome = Result<(), String>;

pub fn hit(controller: &str, version: Version, cgroup: &Path) -> Outcome {
    match controller {
        "pids" => hit_pids(cgroup),
        "memory" => hit_memory(version, cgroup),
        _ => set_cpu(version, cgroup),
    }
}

fn hit_pids(cgroup: &Path) -> Outcome {
    set(cgroup, "pids.max", "1")?;
    let status = run_member(cgroup, || match process::fork(|| 0) {
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => 0,
        Err(_) => 2,
        Ok(_) => 1,
    })?;
    match status.exit_status() {
        Some(0) => Ok(()),
        Some(1) => Err("a process over the limit was not refused".to_owned()),
        _ => Err(format!("the member ended oddly ({status:?})")),
    }
}

fn hit_memory(version: Version, cgroup: &Path) -> Outcome {
    let limit = MEMORY_LIMIT.to_string();
    match version {
        Version::V1 => {
            set(cgroup, "memory.limit_in_bytes", &limit)?;
            set_if_there(cgroup, "memory.memsw.limit_in_bytes", &limit)?;
            set_if_there(cgroup, "memory.swappiness", "0")?;
        }
        Version::V2 => {
            set(cgroup, "memory.max", &limit)?;
            set_if_there(cgroup, "memory.swap.max", "0")?;
        }
    }
    let status = run_member(cgroup, || {
        std::hint::black_box(vec![1_u8; MEMORY_TOUCHED]);
        0
    })?;
    if status.terminating_signal() == Some(Signal::KILL.as_raw()) {
        Ok(())
    } else {
        Err("a process over the limit was not killed".to_owned())
    }
}

fn set_cpu(version: Version, cgroup: &Path) -> Outcome {
    let (file, text) = match version {
        Version::V1 => {
            set(cgroup, "cpu.cfs_period_us", "100000")?;
            ("cpu.cfs_quota_us", "50000")
        }
        Version::V2 => ("cpu.max", "50000 100000"),
    };
    set(cgroup, file, text)?;
    let kept = fs::read_to_string(cgroup.join(file)).map_err(|error| format!("{file}: {error}"))?;
    if kept.trim() == text { Ok(()) } else { Err(format!("{file} was set to {text} and reads {}", kept.trim())) }
}

fn set(cgroup: &Path, file: &str, text: &str) -> Outcome {
    fs::write(cgroup.join(file), text).map_err(|error| format!("{file}: {error}"))
}

/// For files that exist only where swap is accounted.
fn set_if_there(cgroup: &Path, file: &str, text: &str) -> Outcome {
    match fs::write(cgroup.join(file), text) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(format!("{file}: {error}")),
        _ => Ok(()),
    }
}

fn run_member(cgroup: &Path, body: impl FnOnce() -> i32) -> Result<WaitStatus, String> {
    let unexpected = |error: io::Error| format!("member process: {error}");
    let (gate, opener) = process::pipe().map_err(unexpected)?;
    let member = process::fork(|| {
        let opened = process::die_with_parent().and_then(|()| fs::File::from(gate).read_exact(&mut [0]));
        if opened.is_ok() { body() } else { 3 }
    })
    .map_err(unexpected)?;
    let joined = fs::write(cgroup.join("cgroup.procs"), member.as_raw_nonzero().to_string());
    let released = match &joined {
        Ok(()) => rustix::io::write(&opener, b"g").map(|_| ()),
        Err(_) => rustix::process::kill_process(member, Signal::KILL),
    };
    let status = process::wait(member).map_err(unexpected)?;
    released.map_err(|error| unexpected(error.into()))?;
    joined.map_err(|error| format!("moving a process in: {error}"))?;
    Ok(status)
}
