//! What can be done for the first command before it is known, where a sandbox is built ahead.

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::prepared::DEFAULT_PATH;
use crate::sys;

/// What the C libraries' loaders look at, by distribution and processor.
const LOADED: [(&str, &[&str]); 5] = [
    ("/etc", &["ld.so.preload", "ld.so.cache"]),
    ("/lib64", &["ld-linux-x86-64.so.2", "libc.so.6"]),
    ("/lib", &["ld-linux-aarch64.so.1", "ld-musl-x86_64.so.1", "ld-musl-aarch64.so.1"]),
    ("/lib/x86_64-linux-gnu", &["libc.so.6"]),
    ("/lib/aarch64-linux-gnu", &["libc.so.6"]),
];

/// Opens what nearly every program opens when it starts. gVisor's kernel asks another process for each name in a path,
/// and remembers the answers. Nothing is read, and nothing of it is where a caller's folder can be.
pub fn look_around() {
    if !sys::is_told("gvisor") {
        return;
    }
    let folders = DEFAULT_PATH.split(':').map(|folder| (folder, [].as_slice()));
    for (folder, files) in folders.chain(LOADED) {
        // What an image does not have, nobody can look up faster.
        let Ok(folder) = openat(CWD, folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) else {
            continue;
        };
        for file in files {
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            let _ = openat(&folder, *file, flags, Mode::empty());
        }
    }
}
