//! Disk for a temporary sandbox that may write more than memory holds: an ext4 of its own in a sparse file that has no
//! name, behind a loop device. The file system's size is the limit, so a full one is an error inside. The kernel gives file
//! and device back with the last mount, whoever was killed. Only the host's root can make one.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    path::Path,
    process::{Command, Stdio},
};

use rustix::{
    fs::{Mode, OFlags, fchmod, ftruncate, open, openat, unlink},
    io::Errno,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount,
        fsopen,
    },
};

use crate::{
    control::{Layer, LayerState},
    fault::{During, Fault, Outcome},
    layers::Layers,
    spec::Spec,
    sys,
};

const NAME: &str = "disk";
const MIB: u64 = 1 << 20;
const INODE_BYTES: u64 = 256;
const FEWEST_INODES: u64 = 16_384;
const MOST_INODES: u64 = 4 << 20;
const MAKERS: [&str; 2] = ["/sbin/mke2fs", "/usr/sbin/mke2fs"];
/// Another process may take the device that the kernel has named.
const ATTEMPTS: usize = 64;

pub struct DiskImage {
    top: OwnedFd,
}

/// The image, and what is to be mounted of it. None where none is asked for.
pub fn make(spec: &Spec, is_root: bool) -> Option<Outcome<(DiskImage, Layers)>> {
    let mib = spec.disk_mib?;
    if !is_root {
        return Some(Err(Fault::new("unsupported", "only root can make a file system for it")));
    }
    Some(DiskImage::mount(spec.journal.parent().unwrap_or(&spec.journal), mib))
}

/// For the user to know what the limit holds.
pub fn layer(spec: &Spec, made: Option<&Fault>) -> Option<Layer> {
    let mib = spec.disk_mib?;
    Some(match made {
        None => Layer::new(NAME, LayerState::Applied, format!("what it changes lies on the disk, {mib} MiB at most")),
        Some(fault) => {
            let why = &fault.message;
            Layer::new(NAME, LayerState::Partial, format!("it is in memory, {} MiB at most: {why}", spec.scratch_mib))
        }
    })
}

impl DiskImage {
    fn mount(folder: &Path, mib: u64) -> Outcome<(Self, Layers)> {
        let file = nameless(folder).during("make a file for the sandbox's disk")?;
        let inodes = (mib * 64).clamp(FEWEST_INODES, MOST_INODES);
        // What the file system needs for itself comes on top: inodes, what it holds back, and maps of its blocks.
        let bytes = mib * MIB + inodes * INODE_BYTES + ((mib / 50).min(16) + mib / 512 + 2) * MIB;
        ftruncate(&file, bytes).during("size the sandbox's disk")?;
        format(&file, inodes)?;
        let (device, path) = attach(&file)?;
        let fs = fsopen("ext4", FsOpenFlags::FSOPEN_CLOEXEC).during("open ext4")?;
        fsconfig_set_string(&fs, "source", path.as_str()).during("name the sandbox's disk")?;
        fsconfig_set_flag(&fs, "noinit_itable").during("set up the sandbox's disk")?;
        fsconfig_create(&fs).during("read the sandbox's disk")?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        let mount = fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, attributes).during("mount the sandbox's disk")?;
        drop(device);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = openat(&mount, c".", flags, Mode::empty()).during("open the sandbox's disk")?;
        fchmod(&top, Mode::from_raw_mode(0o755)).during("open the sandbox's disk")?;
        Ok((Self { top }, Layers::of_mount(mount)))
    }
}

/// Nobody reads it again, so nothing that is still in memory has to be written.
impl Drop for DiskImage {
    fn drop(&mut self) {
        const FS_IOC_SHUTDOWN: u32 = 0x8004_587d;
        let mut without_flush: u32 = 2;
        // It only saves the disk work.
        let _ = sys::ioctl(self.top.as_fd(), FS_IOC_SHUTDOWN, Some(&mut without_flush));
    }
}

fn nameless(folder: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    match open(folder, flags | OFlags::TMPFILE, Mode::from_raw_mode(0o600)) {
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {}
        made => return Ok(made?),
    }
    let path = folder.join(format!("disk-{}", std::process::id()));
    let file = open(&path, flags | OFlags::CREATE | OFlags::EXCL, Mode::from_raw_mode(0o600))?;
    unlink(&path)?;
    Ok(file)
}

fn format(file: &OwnedFd, inodes: u64) -> Outcome<()> {
    let refused = |why: String| Fault::new("layer_unavailable", format!("mke2fs makes no file system: {why}"));
    let maker = MAKERS.iter().find(|path| Path::new(path).is_file());
    let maker = maker.ok_or_else(|| refused("it is not installed (e2fsprogs)".into()))?;
    let made = Command::new(maker)
        .args(["-q", "-F", "-t", "ext4", "-m", "0", "-b", "4096", "-I", "256", "-O", "^has_journal,^resize_inode"])
        .args(["-E", "nodiscard,lazy_itable_init=1", "-N", &inodes.to_string()])
        .arg(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()))
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .map_err(|e| refused(e.to_string()))?;
    let said = || String::from_utf8_lossy(&made.stderr).trim().to_owned();
    if made.status.success() { Ok(()) } else { Err(refused(said())) }
}

/// As linux/loop.h has them.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    places: [u64; 5],
    number: u32,
    encryption: [u32; 2],
    flags: u32,
    names: [u8; 160],
    init: [u64; 2],
    reserved: [u64; 8],
}

const LOOP_CTL_GET_FREE: u32 = 0x4c82;
const LOOP_CONFIGURE: u32 = 0x4c0a;
/// It is given back with its last user.
const AUTOCLEAR: u32 = 4;
/// Pages are in memory once, and not for the file as well.
const DIRECT: u32 = 16;

fn attach(file: &OwnedFd) -> Outcome<(OwnedFd, String)> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let control = open(c"/dev/loop-control", flags, Mode::empty()).during("find a loop device")?;
    for _ in 0..ATTEMPTS {
        let number = sys::ioctl::<u32>(control.as_fd(), LOOP_CTL_GET_FREE, None).during("find a loop device")?;
        let path = format!("/dev/loop{number}");
        let device = open(path.as_str(), flags, Mode::empty()).during(format_args!("open {path}"))?;
        let mut config = LoopConfig {
            fd: u32::try_from(file.as_raw_fd()).during("name the sandbox's disk")?,
            block_size: 0,
            places: [0; 5],
            number: 0,
            encryption: [0; 2],
            flags: AUTOCLEAR | DIRECT,
            names: [0; 160],
            init: [0; 2],
            reserved: [0; 8],
        };
        match sys::ioctl(device.as_fd(), LOOP_CONFIGURE, Some(&mut config)) {
            Ok(_) => return Ok((device, path)),
            Err(e) if Errno::from_io_error(&e) == Some(Errno::BUSY) => {}
            Err(e) => return Err(e).during(format_args!("set up {path}")),
        }
    }
    Err(Fault::new("layer_unavailable", "others took every loop device that was free"))
}
