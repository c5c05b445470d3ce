//! /etc of the `host` image: what of the host's everybody may read and holds no secret, below files of our own. The
//! former is copied once, outside, and shown as the lower layer of an overlay; what the sandbox writes stays its own.

mod prepared;
mod rule;
mod tree;

use std::{fs, os::fd::OwnedFd, path::Path};

use rustix::{
    fs::{Mode, OFlags, fstat, mkdir, open, openat},
    io::{Errno, write},
    mount::{FsMountFlags, MountAttrFlags, fsconfig_create, fsmount},
};

pub use prepared::EtcCopy;

use crate::{
    etc_files,
    fault::{During, Fault, Outcome},
    layers, place,
    spec::{Spec, User},
    upper::Uppers,
};

/// Where the copy is in the scratch filesystem; the files are in `etc` below it.
const LOWER: &str = "e0";

/// The files of the host's, at a place of the scratch filesystem, which is the current folder. Where there is no copy that
/// was made outside, it is made there: in memory, and for this sandbox alone.
pub fn attach_copy(tree: Option<&OwnedFd>, at: &str) -> Outcome<()> {
    mkdir(at, Mode::from_raw_mode(0o755)).during("make a place for /etc")?;
    if let Some(tree) = tree {
        return place::attach_at(tree, Path::new(at)).during("attach the copy of /etc");
    }
    let folder = open_folder(at, OFlags::RDONLY)?;
    prepared::fill(&folder, &open_folder("/etc", OFlags::PATH)?).map(drop)
}

/// Mounts /etc in the root, which is in the current folder.
pub fn show(tree: Option<&OwnedFd>, spec: &Spec) -> Outcome<()> {
    attach_copy(tree, LOWER)?;
    let lower = format!("{LOWER}/etc");
    let fs = layers::overlay(std::slice::from_ref(&lower))?;
    let like = fstat(open_folder(&lower, OFlags::PATH)?).during("look at the copy of /etc")?;
    let upper = Uppers::Fresh.add_to(&fs, "eu", "ew", &like)?;
    write_own(&upper, Path::new(&lower), spec)?;
    fsconfig_create(&fs).map_err(|e| {
        Fault::new("layer_unavailable", format!("/etc of the image host could not be made: {e}"))
            .hint("kernels before 6.6 do not allow this; see `agentkernel doctor`")
    })?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let mounted = fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, attributes).during("mount /etc")?;
    place::attach_at(&mounted, Path::new("root/etc")).during("mount /etc")
}

fn open_folder(path: &str, how: OFlags) -> Outcome<OwnedFd> {
    open(path, how | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).during(format_args!("open {path}"))
}

fn put(own: &OwnedFd, name: &str, mut text: &[u8]) -> Outcome<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(own, name, flags, Mode::from_raw_mode(0o644)).during(format_args!("write /etc/{name}"))?;
    while !text.is_empty() {
        match write(&file, text) {
            Ok(count) => text = &text[count..],
            Err(Errno::INTR) => {}
            Err(e) => return Err(e).during(format_args!("write /etc/{name}")),
        }
    }
    Ok(())
}

/// Into the folder `own`, which lies above the copy at `lower`.
pub fn write_own(own: &OwnedFd, lower: &Path, spec: &Spec) -> Outcome<()> {
    let User { uid, gid } = spec.user;
    let mut passwd = "root:x:0:0:root:/home/sandbox:/bin/sh\n".to_owned();
    let mut group = "root:x:0:\n".to_owned();
    if uid != 0 {
        passwd.push_str(&format!("sandbox:x:{uid}:{gid}::/home/sandbox:/bin/sh\n"));
        group.push_str(&format!("sandbox:x:{gid}:\n"));
    }
    // After ours: the first line of an id or a name counts.
    for (list, name, last) in [
        (&mut passwd, "passwd", "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"),
        (&mut group, "group", "nogroup:x:65534:\n"),
    ] {
        list.push_str(&fs::read_to_string(lower.join(name)).during(format_args!("read the copy of /etc/{name}"))?);
        list.push_str(last);
    }
    if !group.contains("\ntty:") {
        group.push_str("tty:x:5:\n");
    }
    for (file, text) in [
        ("passwd", passwd.as_str()),
        ("group", group.as_str()),
        ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"),
        ("shells", "/bin/sh\n/bin/bash\n"),
    ] {
        put(own, file, text.as_bytes())?;
    }
    etc_files::at_the_start(spec).try_for_each(|(file, text)| put(own, file, text.as_bytes()))
}
