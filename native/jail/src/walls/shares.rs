//! What the kernel counts for each user on the whole machine, and not for each sandbox: the sandbox's owner keeps a part.

use std::{path::Path, str};

use rustix::{
    fs::{Mode, OFlags, open},
    io::{Errno, read, write},
};

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
        let most = match number(&proc.join(whole)) {
            Ok(most) => most.ok_or("it is no number").during(format_args!("read {whole}"))?,
            // A kernel without inotify.
            Err(Errno::NOENT) => continue,
            Err(e) => return Err(e).during(format_args!("read {whole}")),
        };
        let part = (most / parts).max(1).to_string();
        let set = open(proc.join(own), OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
            .and_then(|file| write(&file, part.as_bytes()));
        set.map_err(|e| Fault::new("layer_unavailable", format!("/proc/{own} could not be set for the sandbox: {e}")))?;
    }
    Ok(())
}

fn number(path: &Path) -> rustix::io::Result<Option<u64>> {
    let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    // More digits than any has.
    let mut text = [0; 32];
    let count = read(&file, &mut text)?;
    Ok(str::from_utf8(&text[..count]).ok().and_then(|text| text.trim().parse().ok()))
}
