//! The configuration of an OCI bundle, as `runsc` reads it: whom and what it runs, in which root. Whatever else the
//! specification knows (namespaces of the host's, cgroups, masked paths) is the jail's or gVisor's own.

use serde_json::{Value, json};

use super::{INSIDE, PROGRAMS, PROGRAMS_INSIDE, ROOT};
use crate::{spec::Spec, sys, walls};

/// Names of capabilities by number, as far as a sandbox's root can have them.
const NAMES: [(u32, &str); 10] = [
    (0, "CAP_CHOWN"),
    (1, "CAP_DAC_OVERRIDE"),
    (3, "CAP_FOWNER"),
    (4, "CAP_FSETID"),
    (5, "CAP_KILL"),
    (6, "CAP_SETGID"),
    (7, "CAP_SETUID"),
    (10, "CAP_NET_BIND_SERVICE"),
    (18, "CAP_SYS_CHROOT"),
    (31, "CAP_SETFCAP"),
];

pub fn config(spec: &Spec, words: &[String], rlimits: &[(sys::Resource, u64)]) -> Value {
    let args: Vec<String> =
        std::iter::once(format!("{PROGRAMS_INSIDE}/{INSIDE}")).chain(words.iter().cloned()).collect();
    // What the jail has there is limited too, but every access to it is a message to another process.
    let is_free = |path: &&str| !spec.views.iter().any(|view| view.target.starts_with(path));
    let temporary = |path: &str| {
        let size = format!("size={}m", spec.tmp_mib);
        json!({ "destination": path, "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777", size] })
    };
    let mut mounts = vec![
        json!({ "destination": "/proc", "type": "proc", "source": "proc" }),
        json!({ "destination": "/dev", "type": "tmpfs", "source": "tmpfs" }),
    ];
    mounts.extend(["/dev/shm", "/tmp"].into_iter().filter(is_free).map(temporary));
    mounts.push(json!({
        "destination": PROGRAMS_INSIDE,
        "type": "bind",
        "source": format!("/{PROGRAMS}"),
        // Without `rbind` it shows the folder, but not what is mounted in it.
        "options": ["rbind", "ro", "nosuid", "nodev"],
    }));
    let namespaces = ["pid", "network", "ipc", "uts", "mount"].map(|kind| json!({ "type": kind }));
    json!({
        "ociVersion": "1.0.2",
        "hostname": spec.hostname,
        // Read-only is what the jail's mount is; gVisor's own setting would cover what is shown in the root too.
        "root": { "path": ROOT, "readonly": false },
        "process": {
            "terminal": false,
            "cwd": "/",
            "user": { "uid": spec.user.uid, "gid": spec.user.gid },
            "args": args,
            "env": [],
            "noNewPrivileges": true,
            "capabilities": capabilities(spec),
            "rlimits": rlimits.iter().filter_map(rlimit).collect::<Vec<_>>(),
        },
        "mounts": mounts,
        "linux": {
            "namespaces": namespaces,
        },
    })
}

fn capabilities(spec: &Spec) -> Value {
    let names: Vec<&str> =
        NAMES.iter().filter(|(number, _)| walls::keeps(spec, *number)).map(|(_, name)| *name).collect();
    let held: &[&str] = if spec.user.uid == 0 { &names } else { &[] };
    json!({ "bounding": names, "effective": held, "permitted": held, "inheritable": [], "ambient": [] })
}

fn rlimit((resource, value): &(sys::Resource, u64)) -> Option<Value> {
    let kind = match *resource {
        libc::RLIMIT_NOFILE => "RLIMIT_NOFILE",
        libc::RLIMIT_CORE => "RLIMIT_CORE",
        libc::RLIMIT_AS => "RLIMIT_AS",
        libc::RLIMIT_NPROC => "RLIMIT_NPROC",
        _ => return None,
    };
    Some(json!({ "type": kind, "soft": value, "hard": value }))
}
