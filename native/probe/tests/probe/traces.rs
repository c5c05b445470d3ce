//! Whatever happens, a run ends in time and leaves no process, cgroup or mount behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{binary, is_root, one, probe, text};

#[test]
fn a_probe_that_hangs_is_ended_at_the_deadline_together_with_its_children() {
    let started = Instant::now();
    let mut child = Command::new(binary()).arg("hang").stdout(Stdio::piped()).spawn().expect("starts");
    let runner = child.id();
    let family = await_descendants(runner, 2);
    let output = child.stdout.take().expect("stdout");
    let line: serde_json::Value = serde_json::from_reader(output).expect("a JSON line");
    assert!(child.wait().expect("ends").success());
    let took = started.elapsed();
    assert!(took > Duration::from_millis(1400) && took < Duration::from_millis(2000), "{took:?}");
    assert_eq!(line["ok"], false);
    assert!(text(&line, "detail").starts_with("timed out"), "{line}");
    for pid in family {
        assert!(!is_ours(pid), "process {pid} is left");
    }
}

#[test]
fn killing_the_runner_ends_its_probes() {
    let mut child = Command::new(binary()).arg("hang").stdout(Stdio::piped()).spawn().expect("starts");
    let family = await_descendants(child.id(), 2);
    child.kill().expect("killed");
    child.wait().expect("reaped");
    let since = Instant::now();
    while let Some(pid) = family.iter().copied().find(|pid| is_ours(*pid)) {
        assert!(since.elapsed() < Duration::from_secs(2), "process {pid} is left");
        std::thread::yield_now();
    }
}

#[test]
fn a_cgroup_is_removed_again_and_its_limits_were_hit() {
    let before = tagged_cgroups();
    let line = probe("cgroup");
    let tried = text(&line, "detail");
    if line["ok"] == true {
        assert!(tried.contains("fork refused") && tried.contains("killed"), "{line}");
    } else {
        assert!(!text(&line, "hint").is_empty(), "{line}");
    }
    let left: Vec<PathBuf> =
        tagged_cgroups().into_iter().filter(|path| !before.contains(path) && !belongs_to_living(path)).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_cgroup_filesystem_that_cannot_be_written_is_told_with_what_still_holds() {
    if !is_root() || !Path::new("/sys/fs/cgroup").exists() {
        return;
    }
    let script = format!(
        "awk '$3 ~ /^cgroup/ {{print $2}}' /proc/mounts | while read m; do mount -o remount,bind,ro \"$m\"; done; exec {} cgroup",
        binary()
    );
    let line = one(Command::new("unshare").args(["--mount", "sh", "-c", &script]));
    assert_eq!(line["ok"], false, "{line}");
    assert!(text(&line, "detail").contains("only rlimits hold"), "{line}");
}

#[test]
fn the_mount_table_stays_as_it_was() {
    let table = || fs::read_to_string("/proc/self/mounts").expect("mount table");
    let before = table();
    for layer in ["mountns-proc", "overlay", "idmap"] {
        probe(layer);
    }
    assert_eq!(table(), before);
}

/// Process ids below `ancestor`, once there are at least `count`.
fn await_descendants(ancestor: u32, count: usize) -> Vec<u32> {
    let since = Instant::now();
    loop {
        let mut found = vec![ancestor];
        let mut next = 0;
        while let Some(pid) = found.get(next).copied() {
            let path = format!("/proc/{pid}/task/{pid}/children");
            let children = fs::read_to_string(path).unwrap_or_default();
            found.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
            next += 1;
        }
        found.remove(0);
        if found.len() >= count {
            return found;
        }
        assert!(since.elapsed() < Duration::from_secs(1), "only {found:?} started");
        std::thread::yield_now();
    }
}

fn is_ours(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "ak-probe")
}

fn tagged_cgroups() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if entry.file_name().to_string_lossy().starts_with("agentkernel-probe-") {
                    found.push(entry.path());
                }
                directories.push(entry.path());
            }
        }
    }
    found
}

/// Other tests run at the same time; theirs are named after runners that still live.
fn belongs_to_living(cgroup: &Path) -> bool {
    let name = cgroup.file_name().unwrap_or_default().to_string_lossy();
    let runner = name.rsplit('-').next().and_then(|pid| pid.parse().ok());
    runner.is_some_and(is_ours)
}
