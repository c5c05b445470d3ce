//! What the kernel counts for each user on the whole machine, and not for each sandbox: the sandbox's owner keeps a part.

use std::{fs, io, path::Path};

use crate::fault::{During, Fault, Outcome};

/// A limit of the machine, the user namespace's own limit on the same, and into how many parts it is divided.
const SHARED: [(&str, &str, u64); 2] = [
    ("sys/fs/inotify/max_user_instances", "sys/user/max_inotify_instances", 4),
    ("sys/fs/inotify/max_user_watches", "sys/user/max_inotify_watches", 2),
];

/// In the sandbox's user namespace, with all rights in it; `proc` can still be written. The kernel counts there for each
/// id of the sandbox, and for all of them together only at the owner's own limit.
pub fn limit_shares(proc: &Path) -> Outcome<()> {
    for (whole, own, parts) in SHARED {
        let most = match fs::read_to_string(proc.join(whole)) {
            Ok(text) => text.trim().parse::<u64>().during(format_args!("read {whole}"))?,
            // A kernel without inotify.
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(e).during(format_args!("read {whole}")),
        };
        fs::write(proc.join(own), (most / parts).max(1).to_string()).map_err(|e| {
            Fault::new("layer_unavailable", format!("/proc/{own} could not be set for the sandbox: {e}"))
        })?;
    }
    Ok(())
}
