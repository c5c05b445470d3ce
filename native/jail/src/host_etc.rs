//! /etc of the `host` image: what programs need of the host's and what holds no secrets, and files of our own.

use std::{
    fs,
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
};

use rustix::{
    buffer::spare_capacity,
    fs::{AtFlags, FileType, Mode, OFlags, mkdirat, open, openat, readlinkat, statat, symlinkat},
    io::{Errno, read, write},
};

use crate::{
    etc_files,
    fault::{During, Outcome},
    place::Root,
    spec::{Spec, User},
};

/// Folders are shown, files (small ones) are copied.
const ETC_FOLDERS: [&str; 11] = [
    "alternatives",
    "chromium",
    "chromium.d",
    "crypto-policies",
    "fonts",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "ssl/certs",
];
/// Of Maven not `settings.xml`, where passwords of repositories are kept.
const ETC_FILES: [&str; 16] = [
    "debian_version",
    "gai.conf",
    "inputrc",
    "ld.so.cache",
    "localtime",
    "login.defs",
    "magic",
    "manpath.config",
    "maven/logging/simplelogger.properties",
    "maven/m2.conf",
    "mime.types",
    "os-release",
    "protocols",
    "services",
    "ssl/openssl.cnf",
    "timezone",
];

/// More than nearly all of the files have, so that one call reads a file.
const BUFFER_BYTES: usize = 96 << 10;

/// When the files of /etc that are copied were last changed or replaced. A root that was filled before is out of date.
#[derive(Debug, PartialEq, Eq)]
pub struct Stamp([Option<(u64, i64, i64)>; ETC_FILES.len()]);

impl Stamp {
    pub fn now() -> Self {
        Self(ETC_FILES.map(|name| {
            let found = fs::symlink_metadata(Path::new("/etc").join(name)).ok()?;
            Some((found.ino(), found.ctime(), found.ctime_nsec()))
        }))
    }
}

/// Fills the empty /etc of the root, and notes what of the host's is to be mounted in it.
pub fn fill(root: &Root, spec: &Spec, shown: &mut Vec<PathBuf>) -> Outcome<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let host = open("/etc", flags, Mode::empty()).during("open /etc")?;
    let own = openat(root.fd(), "etc", flags, Mode::empty()).during("open the new /etc")?;
    for name in ETC_FOLDERS {
        let Ok(stat) = statat(&host, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                make_parents(&own, name)?;
                mkdirat(&own, name, Mode::from_raw_mode(0o755)).during("make a folder of /etc")?;
                shown.push(Path::new("etc").join(name));
            }
            FileType::Symlink => link(&host, &own, name)?,
            _ => {}
        }
    }
    let mut text = Vec::with_capacity(BUFFER_BYTES);
    for name in ETC_FILES {
        // A FIFO would keep us waiting.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&host, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::LOOP) => {
                link(&host, &own, name)?;
                continue;
            }
            // Not there, or a socket; or not for everybody to read, so not for the sandbox either.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NXIO | Errno::ACCESS) => continue,
            Err(e) => return Err(e).during(format_args!("copy /etc/{name}")),
        };
        match read_whole(&file, &mut text) {
            Ok(()) => {
                make_parents(&own, name)?;
                put(&own, name, &text)?;
            }
            Err(Errno::ISDIR) => {}
            Err(e) => return Err(e).during(format_args!("copy /etc/{name}")),
        }
    }
    write_own(&own, spec)
}

fn make_parents(own: &OwnedFd, name: &str) -> Outcome<()> {
    for (end, _) in name.match_indices('/') {
        match mkdirat(own, &name[..end], Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(e) => return Err(e).during("make a folder of /etc"),
        }
    }
    Ok(())
}

/// Into /usr it holds inside too; anywhere else it would show what is not on the list.
fn link(host: &OwnedFd, own: &OwnedFd, name: &str) -> Outcome<()> {
    let target = readlinkat(host, name, Vec::new()).during("read a link of /etc")?;
    if !target.to_bytes().starts_with(b"/usr/") && !target.to_bytes().starts_with(b"../usr/") {
        return Ok(());
    }
    make_parents(own, name)?;
    symlinkat(&target, own, name).during("link a file of /etc")
}

/// A regular file gives all that it has and there is room for.
fn read_whole(file: &OwnedFd, text: &mut Vec<u8>) -> rustix::io::Result<()> {
    text.clear();
    loop {
        text.reserve(1);
        let room = text.capacity() - text.len();
        match read(file, spare_capacity(text)) {
            Ok(count) if count == room => {}
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(e) => return Err(e),
        }
    }
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

fn write_own(own: &OwnedFd, spec: &Spec) -> Outcome<()> {
    let User { uid, gid } = spec.user;
    let mut passwd = "root:x:0:0:root:/home/sandbox:/bin/sh\n".to_owned();
    let mut group = "root:x:0:\ntty:x:5:\n".to_owned();
    if uid != 0 {
        passwd.push_str(&format!("sandbox:x:{uid}:{gid}::/home/sandbox:/bin/sh\n"));
        group.push_str(&format!("sandbox:x:{gid}:\n"));
    }
    passwd.push_str("nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
    group.push_str("nogroup:x:65534:\n");
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
