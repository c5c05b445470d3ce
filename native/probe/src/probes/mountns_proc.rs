//! New pid and mount namespaces with a fresh `/proc` that shows only the processes inside.

use std::fs;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::UnshareFlags;

use super::Context;
use crate::namespace::inside;
use crate::process::verdict_of;
use crate::report::{Explain, Fault, Verdict, expect};

const MASKED_HINT: &str = "parts of this machine's /proc are masked, as inside a container, and the kernel then refuses a fresh one: start the container with `--security-opt systempaths=unconfined` (Docker) or `--security-opt unmask=ALL` (Podman)";
const OTHER_HINT: &str =
    "a security module or seccomp filter forbids mounting proc in a user namespace; look into the kernel log";

pub fn probe(_: &Context) -> Verdict {
    inside(UnshareFlags::NEWPID | UnshareFlags::NEWNS, || {
        // Only a child of the process that asked for it is in the new pid namespace.
        verdict_of(in_new_pid_namespace)
    })
}

fn in_new_pid_namespace() -> Verdict {
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let masked = masked_paths(&mountinfo);
    let hint = if masked.is_empty() { OTHER_HINT } else { MASKED_HINT };
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).or_fault("making mounts private", OTHER_HINT)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, c"").map_err(|error| {
        let because = match masked.as_slice() {
            [] => String::new(),
            paths => format!("; the host's /proc is masked at {}", paths.join(", ")),
        };
        Fault::new(format!("mounting a fresh /proc: {error}{because}"), hint)
    })?;
    let own = fs::read_link("/proc/self").or_fault("reading the fresh /proc", hint)?;
    let processes = fs::read_dir("/proc")
        .or_fault("listing the fresh /proc", hint)?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .count();
    expect(own.as_os_str() == "1" && processes == 1, "the fresh /proc shows processes from outside", hint)?;
    Ok("process 1 of a new pid namespace sees only itself in a fresh /proc".to_owned())
}

/// Mounts over parts of /proc, the first few. A plain autofs or binfmt_misc mount hides nothing.
fn masked_paths(mountinfo: &str) -> Vec<&str> {
    let places = mountinfo.lines().filter_map(|line| {
        let place = line.split(' ').nth(4)?;
        let hides = place.starts_with("/proc/") && !place.starts_with("/proc/sys/fs/binfmt_misc");
        hides.then_some(place)
    });
    places.take(3).collect()
}

#[cfg(test)]
mod tests {
    use super::masked_paths;

    #[test]
    fn masks_are_told_from_ordinary_mounts() {
        let table = "1 0 0:5 / /proc rw - proc proc rw\n\
                     2 1 0:6 /null /proc/kcore rw - tmpfs tmpfs rw\n\
                     3 1 0:7 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n\
                     4 0 0:8 / /procfs rw - tmpfs tmpfs rw\n";
        assert_eq!(masked_paths(table), ["/proc/kcore"]);
    }
}
