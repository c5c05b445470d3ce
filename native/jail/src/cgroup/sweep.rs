//! Cgroups whose supervisor was killed before it could remove them. The name says who made it: process id and the
//! moment that process started, so a number that was used again is not mistaken for the old owner.

use std::fs;

use super::{PREFIX, place::Places};

pub fn own_name() -> String {
    let pid = std::process::id();
    format!("{PREFIX}{pid}-{}", start_time(pid).unwrap_or(0))
}

/// Removes what nobody owns any more. A group with processes in it cannot be removed, so this is safe to run at
/// any time.
pub fn sweep() {
    for parent in Places::find().parents() {
        let Ok(entries) = fs::read_dir(parent) else {
            continue;
        };
        for entry in entries.flatten() {
            if entry.file_name().to_str().is_some_and(orphaned) {
                // Busy or gone meanwhile: the next sweep sees it again.
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

pub fn orphaned(name: &str) -> bool {
    let Some((pid, started)) = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')) else {
        return false;
    };
    let (Ok(pid), Ok(started)) = (pid.parse::<u32>(), started.parse::<u64>()) else {
        return false;
    };
    start_time(pid) != Some(started)
}

/// Field 22 of /proc/<pid>/stat: clock ticks after boot.
pub fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_group_is_not_orphaned_and_a_dead_ones_is() {
        assert!(!orphaned(&own_name()));
        assert!(orphaned(&format!("{PREFIX}{}-1", std::process::id())));
        assert!(orphaned(&format!("{PREFIX}4194999-1")));
        assert!(!orphaned("user.slice"));
        assert!(!orphaned(&format!("{PREFIX}x-y")));
    }
}
