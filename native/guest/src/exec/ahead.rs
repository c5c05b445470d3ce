//! Prepares for the first command before it is known, in a sandbox that is built ahead.

use std::{
    fs::File,
    io::Read,
    os::fd::{AsFd, BorrowedFd},
};

use ak_wire::payload::OpenExec;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

use super::ends::Pipes;
use super::prepared::DEFAULT_PATH;
use super::spawn::{self, Parent, Parentage, Spawned};
use crate::{sys, users};

/// A path of an image may lead to anything.
const LOOK: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Files that the dynamic loaders of C libraries look up, by distribution and processor.
const LOADED: [(&str, &[&str]); 5] = [
    ("/etc", &["ld.so.preload", "ld.so.cache"]),
    ("/lib64", &["ld-linux-x86-64.so.2", "libc.so.6"]),
    ("/lib", &["ld-linux-aarch64.so.1", "ld-musl-x86_64.so.1", "ld-musl-aarch64.so.1"]),
    ("/lib/x86_64-linux-gnu", &["libc.so.6"]),
    ("/lib/aarch64-linux-gnu", &["libc.so.6"]),
];

/// Programs that a first command in a virtual machine probably is or needs: they are read from disk before the virtual
/// machine is saved.
const READ: [&str; 4] = ["/bin/sh", "/bin/bash", "/usr/bin/env", "/bin/true"];
/// A C library has some two million bytes.
const MOST_READ_BYTES: u64 = 8 << 20;

/// A program that every machine has, and that does nothing.
const REHEARSED: [&str; 2] = ["/.agentkernel/ak-entry", "true"];

/// Starts a command and waits for its end before a host connects: the first command then gets what the kernel keeps of
/// ended processes. It only saves time.
pub fn rehearse() {
    let open = OpenExec { argv: REHEARSED.map(Into::into).into(), ..OpenExec::default() };
    let spawned = spawn::spawn(&open, Parentage::Own, &mut None, &mut Pipes::default());
    if let Ok(Spawned { parent: Parent::Guest { command, .. }, .. }) = spawned {
        sys::reap_one(command);
    }
}

/// Far more than it takes to start a command, on the heap and on the stack.
const TAKEN_BYTES: usize = 120 << 10;
const TAKEN_STACK_BYTES: usize = 32 << 10;

/// Has memory that will be needed, so that the kernel need not be asked for it then.
pub fn take_memory() {
    ak_sys::idle::map_all();
    let mut heap = vec![0u8; TAKEN_BYTES];
    let mut stack = [0u8; TAKEN_STACK_BYTES];
    // So that it is not left out.
    for taken in [&mut heap[..], &mut stack[..]] {
        taken.fill(1);
        std::hint::black_box(taken);
    }
}

/// Opens what nearly every program opens when it starts. gVisor's kernel asks another process for each name in a path,
/// and remembers the answers; a machine's has the content too from then on. Nothing of it is where a caller's directory can
/// be.
pub fn read_settings() {
    let is_machine = sys::is_told("machine");
    if !sys::is_told("gvisor") && !is_machine {
        return;
    }
    if is_machine {
        READ.iter().for_each(|path| read_through(CWD, path));
        users::look_ahead();
    }
    let directories = DEFAULT_PATH.split(':').map(|directory| (directory, [].as_slice()));
    for (directory, files) in directories.chain(LOADED) {
        // A directory that the image lacks cannot be looked up in advance.
        let Ok(directory) = openat(CWD, directory, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        else {
            continue;
        };
        for file in files {
            if is_machine {
                read_through(directory.as_fd(), file);
            } else {
                let _ = openat(&directory, *file, LOOK, Mode::empty());
            }
        }
    }
}

/// The image is untrusted: a path that is no regular file, or too long, is skipped.
fn read_through(directory: BorrowedFd<'_>, path: &str) {
    let Ok(file) = openat(directory, path, LOOK, Mode::empty()) else { return };
    let is_file = fstat(&file).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile);
    if is_file {
        let _ = std::io::copy(&mut File::from(file).take(MOST_READ_BYTES), &mut std::io::sink());
    }
}
