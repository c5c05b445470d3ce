//! `ak-unpack disk`: an image's layers as one disk that cannot be written, for machines with a kernel of their own. The
//! layers are joined by the kernel, as for any sandbox, and `mkfs.erofs` reads what comes of it: names, links and
//! attributes as an image has them are hostile, so it does that in the jail, with nothing else in sight but the
//! programs of the host, read-only.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt, fs::symlink},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use ak_jail::{
    child::enter,
    control::Control,
    fault::{During, Fault, Outcome},
    layers,
    place::{self, Root},
    sys,
};
use rustix::{
    fs::{CWD, Mode, OFlags, mkdir, open},
    mount::{FsMountFlags, MountAttrFlags, fsconfig_create, fsmount},
};
use serde::{Deserialize, Serialize};

use crate::jail::{Trees, enter_scratch, in_jail, store_fault};

/// Where the host has programs and their libraries.
const SYSTEM: [&str; 5] = ["usr", "bin", "sbin", "lib", "lib64"];
const PROGRAM: &str = "mkfs.erofs";
const SEARCHED: &str = "/usr/sbin:/usr/bin:/sbin:/bin";
/// In the target.
const NAME: &str = "root.erofs";
/// The same image is the same disk: no name of its own, and no time of its making. Times of files stay, unless they lie
/// behind this one (the year 2100).
const UUID: &str = "00000000-0000-4000-8000-000000000000";
const MADE_AT: &str = "4102444800";
const MAX_SAID: u64 = 4096;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Order {
    /// A directory that gets the disk as `root.erofs`.
    target: PathBuf,
    /// Contents of the layers, the uppermost first.
    layers: Vec<PathBuf>,
    max_bytes: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Disk {
    bytes: u64,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Answer {
    Done(Disk),
    Failed(Fault),
}

impl Order {
    pub fn parse(line: &[u8]) -> Outcome<Self> {
        let wrong = |what: String| Fault::new("internal", format!("the order for a disk: {what}"));
        let order: Self = serde_json::from_slice(line).map_err(|e| wrong(e.to_string()))?;
        if !order.target.is_absolute() || !order.layers.iter().all(|layer| layer.is_absolute()) {
            return Err(wrong("paths must be absolute".into()));
        }
        if order.layers.is_empty() {
            return Err(wrong("there are no layers".into()));
        }
        Ok(order)
    }
}

pub fn make(order: &Order, control: &Control) -> Outcome<Disk> {
    let disk = in_jail(&order.layers, &order.target, control, |trees, close| {
        enter(&build_root(&trees)?)?;
        close()?;
        sys::set_rlimit(libc::RLIMIT_FSIZE, order.max_bytes).during("limit the disk's size")?;
        run_maker(order.max_bytes)
    })?;
    File::open(order.target.join(NAME))
        .and_then(|file| file.sync_all())
        .map_err(|e| store_fault("write a disk", &e))?;
    Ok(disk)
}

/// `/image` is what the layers are together, `/out` the target.
fn build_root(Trees { layers: trees, target }: &Trees) -> Outcome<Root> {
    // Before anything covers the host's paths.
    let system = SYSTEM.iter().map(|name| Shown::of(name)).collect::<Outcome<Vec<_>>>()?;
    let null = place::clone_tree(CWD, Path::new("/dev/null")).during("show /dev/null")?;
    enter_scratch()?;
    for name in ["root", "root/image", "root/out", "root/dev"] {
        mkdir(name, Mode::from_raw_mode(0o755)).during("make a directory")?;
    }
    let bind = place::clone_tree(CWD, Path::new("root")).during("make the new root")?;
    place::attach_at(&bind, Path::new("root")).during("make the new root")?;
    for shown in system {
        shown.put()?;
    }
    fs::write("root/dev/null", "").during("show /dev/null")?;
    place::attach_at(&null, Path::new("root/dev/null")).during("show /dev/null")?;
    place::attach_at(target, Path::new("root/out")).during("attach the target")?;
    place::attach_at(&joined(trees)?, Path::new("root/image")).during("attach the layers")?;
    let root = open("root", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    Ok(Root::new(root.during("open the new root")?))
}

/// A directory of the host's system, which on many is a link into another.
enum Shown {
    Missing,
    Link(&'static str, PathBuf),
    Directory(&'static str, OwnedFd),
}

impl Shown {
    fn of(name: &'static str) -> Outcome<Self> {
        let path = Path::new("/").join(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => {
                fs::read_link(&path).map(|to| Self::Link(name, to)).during(format_args!("look at {}", path.display()))
            }
            Ok(_) => {
                let tree = place::clone_readonly(&path);
                tree.map(|tree| Self::Directory(name, tree)).during(format_args!("show {}", path.display()))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Self::Missing),
            Err(e) => Err(e).during(format_args!("look at {}", path.display())),
        }
    }

    fn put(self) -> Outcome<()> {
        match self {
            Self::Missing => Ok(()),
            Self::Link(name, to) => symlink(to, Path::new("root").join(name)).during("show the host's programs"),
            Self::Directory(name, tree) => {
                let path = Path::new("root").join(name);
                fs::create_dir(&path).during("show the host's programs")?;
                place::attach_at(&tree, &path).during("show the host's programs")
            }
        }
    }
}

fn joined(trees: &[OwnedFd]) -> Outcome<OwnedFd> {
    let names = layers::attach(trees)?;
    if let [only] = &names[..] {
        return place::clone_tree(CWD, Path::new(only)).during("open the layer");
    }
    let fs = layers::overlay(&names)?;
    fsconfig_create(&fs).map_err(|e| {
        Fault::new("layer_unavailable", format!("the image's layers could not be joined: {e}"))
            .hint("the image store must lie on a filesystem that overlay can read, such as ext4, xfs or btrfs")
    })?;
    let attributes =
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_RDONLY;
    fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, attributes).during("mount overlay")
}

fn run_maker(max_bytes: u64) -> Outcome<Disk> {
    let started = Command::new(PROGRAM)
        .args(["-d1", "-U", UUID, &format!("/out/{NAME}"), "/image"])
        .env_clear()
        .env("PATH", SEARCHED)
        .env("SOURCE_DATE_EPOCH", MADE_AT)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut maker = started.map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => Fault::new("backend_unavailable", "mkfs.erofs is not installed")
            .hint("install erofs-utils, which has it: sudo apt-get install -y erofs-utils"),
        _ => Fault::start(format!("start {PROGRAM}: {e}")),
    })?;
    let mut said = Vec::new();
    if let Some(stderr) = maker.stderr.take() {
        let mut first = stderr.take(MAX_SAID);
        first.read_to_end(&mut said).during("hear mkfs.erofs")?;
        io::copy(&mut first.into_inner(), &mut io::sink()).during("hear mkfs.erofs")?;
    }
    let status = maker.wait().during("wait for mkfs.erofs")?;
    let bytes = fs::metadata(Path::new("/out").join(NAME)).map_or(0, |found| found.len());
    if status.success() {
        return Ok(Disk { bytes });
    }
    let said = String::from_utf8_lossy(&said);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    let why = Path::new(last.trim()).as_os_str().as_bytes().escape_ascii().to_string();
    if bytes >= max_bytes || why.contains("No space left") {
        return Err(store_fault("make a disk of the image", &why));
    }
    Err(Fault::new("image_invalid", format!("the image cannot be made a disk: {why} ({status})")))
}
