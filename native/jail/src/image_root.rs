//! A root from an image's layers: they lie below, a writable layer above. What the image has where we put
//! things of our own is not believed: links and files in the way are replaced in the writable layer.

use std::{
    fs::File,
    io::Write,
    os::fd::OwnedFd,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, chmodat, fstat, mkdirat, open, openat, statat, unlinkat},
    io::Errno,
    mount::{FsMountFlags, MountAttrFlags, fsconfig_create, fsmount},
};

use crate::{
    etc_files,
    fault::{During, Fault, Outcome},
    filesystems, layers,
    place::{self, Root},
    spec::{Spec, User},
    upper::Uppers,
};

/// More than any image's list of accounts.
const MAX_ACCOUNTS: u64 = 1 << 20;

/// Mounts the overlay at `root` in the current folder, which is the scratch filesystem.
pub fn mount(trees: &[OwnedFd], uppers: Uppers) -> Outcome<Root> {
    join(&layers::attach(trees)?, uppers)
}

/// The overlay of these folders of the scratch filesystem, the uppermost first.
pub fn join(names: &[String], uppers: Uppers) -> Outcome<Root> {
    let fs = layers::overlay(names)?;
    let top = open_folder(Path::new("i0"))?;
    uppers.add_to(&fs, "iu", "iw", &fstat(&top).during("look at the image's root")?)?;
    fsconfig_create(&fs).map_err(|e| {
        Fault::new("layer_unavailable", format!("the image's layers could not be joined: {e}"))
            .hint("kernels before 6.6 cannot do this; see `agentkernel doctor`")
    })?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let tree = fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, attributes).during("mount overlay")?;
    place::attach_at(&tree, Path::new("root")).during("mount the image")?;
    Ok(Root::new(open_folder(Path::new("root"))?))
}

/// Gives the image what every sandbox has. Returns the home folder that the sandbox's user has in it.
pub fn build(root: &Root, spec: &Spec) -> Outcome<PathBuf> {
    for (name, mode) in [("dev", 0o755), ("proc", 0o555), ("sys", 0o555), ("tmp", 0o1777), ("workspace", 0o755)] {
        own_folder(root, name, mode)?;
    }
    place::attach_at(&filesystems::tmpfs(1, "0755")?, Path::new("root/dev")).during("mount /dev")?;
    give(root, "workspace", spec.user)?;
    let etc = own_etc(root)?;
    for (name, text) in etc_files::at_the_start(spec) {
        replace(&etc, name, text.as_bytes())?;
    }
    let home = accounts(root, &etc, spec.user)?;
    build_home(root, spec, &home)?;
    Ok(home)
}

/// Files of /etc that are others for each sandbox, in place of those that are there.
pub fn write_machine(root: &Root, files: &[(&str, String)]) -> Outcome<()> {
    let etc = own_etc(root)?;
    files.iter().try_for_each(|(name, text)| replace(&etc, name, text.as_bytes()))
}

/// One of them that was written, to be written again.
pub fn open_machine_file(root: &Root, name: &str) -> Outcome<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(own_etc(root)?, name, flags, Mode::empty()).during(format_args!("open /etc/{name}"))
}

fn open_folder(path: &Path) -> Outcome<OwnedFd> {
    open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).during("open a layer")
}

/// A folder at the top that is a folder, whatever the image has there.
pub fn own_folder(root: &Root, name: &str, mode: u32) -> Outcome<()> {
    match statat(root.fd(), name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => return Ok(()),
        Ok(_) => unlinkat(root.fd(), name, AtFlags::empty()).during(format_args!("replace /{name} of the image"))?,
        Err(Errno::NOENT) => {}
        Err(e) => return Err(e).during(format_args!("look at /{name} of the image")),
    }
    mkdirat(root.fd(), name, Mode::from_raw_mode(0o755)).during(format_args!("make /{name}"))?;
    chmodat(root.fd(), name, Mode::from_raw_mode(mode), AtFlags::empty()).during(format_args!("make /{name}"))
}

fn give(root: &Root, name: &str, user: User) -> Outcome<()> {
    let (uid, gid) = (rustix::fs::Uid::from_raw(user.uid), rustix::fs::Gid::from_raw(user.gid));
    rustix::fs::chownat(root.fd(), name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
        .during(format_args!("own /{name}"))
}

/// Links of the image are followed within it: what is found is part of it in any case.
pub fn own_etc(root: &Root) -> Outcome<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let find = || place::open_within(root.fd(), "etc", flags, ResolveFlags::IN_ROOT);
    find().or_else(|_| {
        own_folder(root, "etc", 0o755)?;
        find().during("open /etc of the image")
    })
}

/// A file of ours in place of whatever has its name.
fn replace(etc: &OwnedFd, name: &str, text: &[u8]) -> Outcome<()> {
    match unlinkat(etc, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(Errno::ISDIR) => {
            return Err(Fault::new("image_invalid", format!("the image has a folder at /etc/{name}, which is a file"))
                .hint("such an image runs nowhere; use another"));
        }
        Err(e) => return Err(e).during(format_args!("replace /etc/{name} of the image")),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(etc, name, flags, Mode::from_raw_mode(0o644)).during(format_args!("write /etc/{name}"))?;
    File::from(file).write_all(text).during(format_args!("write /etc/{name}"))
}

/// The user's home by the image's list of accounts, where there is one. A user that is not in it is added.
pub fn accounts(root: &Root, etc: &OwnedFd, user: User) -> Outcome<PathBuf> {
    let read = |path| root.read(path, MAX_ACCOUNTS).unwrap_or_default();
    let mut passwd = read("etc/passwd");
    if let Some(home) = home_of(&passwd, user.uid) {
        return Ok(home);
    }
    let (name, home) = if user.uid == 0 { ("root", "/root") } else { ("sandbox", "/home/sandbox") };
    let line = format!("{name}:x:{}:{}::{home}:/bin/sh\n", user.uid, user.gid);
    append(&mut passwd, line.as_bytes());
    replace(etc, "passwd", &passwd)?;
    let mut group = read("etc/group");
    if !has_group(&group, user.gid) {
        append(&mut group, format!("{name}:x:{}:\n", user.gid).as_bytes());
        replace(etc, "group", &group)?;
    }
    Ok(PathBuf::from(home))
}

fn append(file: &mut Vec<u8>, line: &[u8]) {
    if file.last().is_some_and(|&last| last != b'\n') {
        file.push(b'\n');
    }
    file.extend_from_slice(line);
}

fn home_of(passwd: &[u8], uid: u32) -> Option<PathBuf> {
    let wanted = uid.to_string();
    let text = String::from_utf8_lossy(passwd);
    let home = text.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2) == Some(&wanted.as_str())).then(|| fields.get(5).copied().unwrap_or("/").to_owned())
    })?;
    let home = PathBuf::from(home);
    let plain = home.is_absolute() && !home.components().any(|c| c.as_os_str() == "..");
    Some(if plain { home } else { PathBuf::from("/") })
}

fn has_group(group: &[u8], gid: u32) -> bool {
    let wanted = gid.to_string();
    String::from_utf8_lossy(group).lines().any(|line| line.split(':').nth(2) == Some(wanted.as_str()))
}

/// Only a user that the image does not have gets a home made; one that it has keeps what the image gave it. With a
/// read-only root, home is temporary: programs keep caches and settings there.
fn build_home(root: &Root, spec: &Spec, home: &Path) -> Outcome<()> {
    if home == Path::new("/") || home == Path::new("/workspace") {
        return Ok(());
    }
    let is_ours = home == Path::new("/home/sandbox");
    if !is_ours && !spec.root_readonly {
        return Ok(());
    }
    let mut at = home_folder(root, home)?;
    if spec.root_readonly {
        place::attach(&filesystems::tmpfs(spec.tmp_mib, "0700")?, &at).during("make the home folder")?;
        at = find_home(root, home).during("open the home folder")?;
    }
    let own = (rustix::fs::Uid::from_raw(spec.user.uid), rustix::fs::Gid::from_raw(spec.user.gid));
    rustix::fs::chownat(&at, "", Some(own.0), Some(own.1), AtFlags::EMPTY_PATH).during("own the home folder")?;
    chmodat(&at, ".", Mode::from_raw_mode(0o700), AtFlags::empty()).during("make the home folder")
}

fn find_home(root: &Root, home: &Path) -> rustix::io::Result<OwnedFd> {
    place::open_within(root.fd(), home, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, ResolveFlags::IN_ROOT)
}

/// Links of the image are followed within it, as some have /home elsewhere. What leads to no folder is replaced.
fn home_folder(root: &Root, home: &Path) -> Outcome<OwnedFd> {
    if let Ok(at) = root.folder(home).or_else(|_| find_home(root, home)) {
        return Ok(at);
    }
    if let Some(Component::Normal(top)) = home.components().nth(1)
        && let Some(top) = top.to_str()
        && find_home(root, Path::new(top)).is_err()
    {
        own_folder(root, top, 0o755)?;
    }
    let (Some(above), Some(name)) = (home.parent(), home.file_name()) else { return root.folder(home) };
    match find_home(root, above).and_then(|folder| mkdirat(&folder, name, Mode::from_raw_mode(0o755))) {
        Ok(()) => find_home(root, home).during("open the home folder"),
        Err(_) => root.folder(home),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &[u8] =
        b"root:x:0:0:root:/root:/bin/ash\nnode:x:1000:1000::/home/node:/bin/sh\nodd:x:7:7::../x:/bin/sh\n";

    #[test]
    fn homes_come_from_the_accounts() {
        assert_eq!(home_of(PASSWD, 0), Some(PathBuf::from("/root")));
        assert_eq!(home_of(PASSWD, 1000), Some(PathBuf::from("/home/node")));
        assert_eq!(home_of(PASSWD, 5), None);
    }

    #[test]
    fn a_home_that_leads_upwards_is_the_root() {
        assert_eq!(home_of(PASSWD, 7), Some(PathBuf::from("/")));
    }

    #[test]
    fn a_line_is_appended_as_a_line() {
        let mut file = b"a:x:1:1::/:/bin/sh".to_vec();
        append(&mut file, b"b\n");
        assert_eq!(file, b"a:x:1:1::/:/bin/sh\nb\n");
    }
}
