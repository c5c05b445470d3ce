//! The processes below a keeper, found through /proc.

use std::collections::BTreeSet;
use std::io::Read;

use rustix::fs::{CWD, Dir, Mode, OFlags, openat};

use crate::sys;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    parent: i32,
    pid: i32,
    ended: bool,
}

/// Sends one signal to every live process below `roots` (and to the roots
/// themselves where `with_roots`). SIGKILL leaves none behind, whatever they do.
pub fn signal(roots: &[i32], with_roots: bool, signal: i32) {
    if signal == libc::SIGKILL {
        kill(roots, with_roots);
        return;
    }
    for pid in select(&scan(), roots, with_roots) {
        send(pid, signal);
    }
}

/// Stops all that is found until a scan finds nothing new: a process that has
/// its stop signal cannot fork any more, so nothing escapes the last scan. Then
/// kills. Rounds repeat while something that was not killed is still there
/// (another process may have continued one in between).
fn kill(roots: &[i32], with_roots: bool) {
    const MAX_ROUNDS: usize = 50;
    let mut killed: BTreeSet<i32> = BTreeSet::new();
    for _ in 0..MAX_ROUNDS {
        let mut stopped: BTreeSet<i32> = BTreeSet::new();
        loop {
            let found = select(&scan(), roots, with_roots);
            let before = stopped.len();
            for pid in found {
                if !killed.contains(&pid) && stopped.insert(pid) {
                    send(pid, libc::SIGSTOP);
                }
            }
            if stopped.len() == before {
                break;
            }
        }
        if stopped.is_empty() {
            return;
        }
        for pid in &stopped {
            send(*pid, libc::SIGKILL);
        }
        killed.append(&mut stopped);
    }
}

/// Children of the guest that are no keepers: orphans of a killed keeper, or all orphans where keepers cannot be
/// subreapers.
pub fn orphans(guest: i32, keepers: &[i32]) -> Vec<i32> {
    let is_orphan = |p: &&Process| p.parent == guest && !p.ended && !keepers.contains(&p.pid);
    scan().iter().filter(is_orphan).map(|p| p.pid).collect()
}

fn send(pid: i32, signal: i32) {
    // A process that ended in the meantime is what was wanted.
    let _ = sys::kill(pid, signal);
}

/// Live descendants of `roots`, from a table sorted by parent.
fn select(table: &[Process], roots: &[i32], with_roots: bool) -> Vec<i32> {
    let mut queue: Vec<(i32, bool)> = roots.iter().map(|pid| (*pid, !with_roots)).collect();
    let mut selected = Vec::new();
    let mut at = 0;
    while let Some(&(pid, skip)) = queue.get(at) {
        at += 1;
        if !skip {
            selected.push(pid);
        }
        let first = table.partition_point(|p| p.parent < pid);
        let children = table[first..].iter().take_while(|p| p.parent == pid);
        for child in children {
            // Every process has one parent, so only a root can come up twice.
            if !roots.contains(&child.pid) {
                queue.push((child.pid, child.ended));
            }
        }
    }
    selected
}

fn scan() -> Vec<Process> {
    let mut table = Vec::new();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(mut directory) = openat(CWD, c"/proc", flags, Mode::empty()).and_then(Dir::new) else {
        return table;
    };
    while let Some(Ok(entry)) = directory.read() {
        let name = entry.file_name().to_bytes();
        let pid = std::str::from_utf8(name).ok().and_then(|n| n.parse().ok());
        if let Some(process) = pid.and_then(read_process) {
            table.push(process);
        }
    }
    table.sort_unstable_by_key(|p| p.parent);
    table
}

fn read_process(pid: i32) -> Option<Process> {
    let mut stat = [0u8; 512];
    let length = std::fs::File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut stat)).ok()?;
    let (state, parent) = parse_stat(&stat[..length])?;
    Some(Process { parent, pid, ended: matches!(state, b'Z' | b'X') })
}

/// State and parent. The command name in parentheses is the process's own
/// choice and may hold anything, so only what follows the last one counts.
fn parse_stat(stat: &[u8]) -> Option<(u8, i32)> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(name_end + 2..)?).ok()?;
    let mut fields = rest.split(' ');
    let state = *fields.next()?.as_bytes().first()?;
    Some((state, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_command_name_does_not_change_the_parent() {
        let stat = b"7 (x) R 1 (a b) S 42 7 7 0";
        assert_eq!(parse_stat(stat), Some((b'S', 42)));
        assert_eq!(parse_stat(b"7 (x"), None);
    }

    #[test]
    fn descendants_are_found_below_ended_parents_and_others_are_not() {
        let process = |parent, pid, ended| Process { parent, pid, ended };
        let mut table = vec![
            process(1, 10, false),
            process(10, 11, true),
            process(11, 5, false),
            process(1, 20, false),
            process(20, 21, false),
        ];
        table.sort_unstable_by_key(|p| p.parent);
        assert_eq!(select(&table, &[10], false), [5]);
        assert_eq!(select(&table, &[10], true), [10, 5]);
        assert_eq!(select(&table, &[20], false), [21]);
    }
}
