//! Processor time of a process and everything below it. What the kernel tells of a process that was waited for leaves
//! out whatever died together with a sandbox's first process, so one that is killed is asked before.

use std::fs;

/// Those that were waited for are in the time of whoever waited. Zero for a process that is gone.
pub fn of_tree_us(pid: i32) -> u64 {
    let (mut pids, mut ticks) = (vec![pid], 0);
    while let Some(pid) = pids.pop() {
        ticks += own_ticks(pid).unwrap_or(0);
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for task in tasks.flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            pids.extend(children.split_whitespace().filter_map(|child| child.parse::<i32>().ok()));
        }
    }
    ticks * 1_000_000 / rustix::param::clock_ticks_per_second()
}

/// User and system time, its own and of children that it has waited for.
fn own_ticks(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may have anything in it; the last bracket ends it. The state is the third field.
    let fields = stat.rsplit_once(')')?.1;
    fields.split_whitespace().skip(11).take(4).map(|field| field.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn grandchildren_count() {
        let mut child = Command::new("sh").args(["-c", "sh -c 'while :; do :; done' & wait"]).spawn().expect("sh");
        let pid = i32::try_from(child.id()).expect("a process id");
        while of_tree_us(pid) < 50_000 {
            std::thread::yield_now();
        }
        let own = own_ticks(pid).expect("it lives") * 1_000_000 / rustix::param::clock_ticks_per_second();
        assert!(own < 50_000, "the shell itself only waits: {own}");
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("children");
        for burner in children.split_whitespace() {
            Command::new("kill").args(["-9", burner]).status().expect("kill");
        }
        child.wait().expect("wait");
        assert_eq!(of_tree_us(pid), 0);
    }
}
