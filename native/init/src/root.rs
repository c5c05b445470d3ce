//! The sandbox's root: the image on the disk that cannot be written, below a layer in memory or, of a machine that persistent,
//! on a disk of its own. What every root has (/proc, /dev, /tmp) is built by the code that builds it for jails.

use std::{
    fs,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::Path,
};

use ak_jail::{
    etc_files,
    fault::{During, Fault, Outcome},
    filesystems, image_root,
    place::{self, Root as Tree},
    view::guard::{self, Void},
};
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, chmodat, open},
    mount::{
        FsMountFlags, FsOpenFlags, FsPickFlags, MountAttrFlags, MountPropagationFlags, fsconfig_create,
        fsconfig_reconfigure, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, fspick, mount_change,
        mount_move,
    },
    process::{chdir, chroot, umask},
};

use crate::{
    identity::{self, MACHINE_ID},
    shape::{Place, Shape},
};

/// In the order in which the kernel found them, which may differ from the command line's.
const DISKS: [&str; 2] = ["vda", "vdb"];
/// A filesystem in memory: everything that the sandbox writes lies here. The current directory until the root is entered.
const SCRATCH: &str = "/scratch";
/// A directory of this program's own filesystem.
const PROGRAMS: &str = "/agentkernel";
/// Parts of /proc that only root may open, who in a machine of its own is no stranger to the kernel.
const CLOSED_TO_ROOT: [&str; 6] = ["kcore", "kmsg", "sysrq-trigger", "timer_list", "kpagecount", "kpageflags"];
/// Until it is known how much it may be. What is written before is little.
const FIRST_MIB: u64 = 16;
/// The host name of a sandbox without an owner; as long as those of temporary sandboxes.
pub const NOBODYS: &str = "run-000000000000";

/// Where what the sandbox writes goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    Memory,
    Disk,
}

impl Storage {
    /// A directory of the scratch space that what is written lies in.
    fn directory(self) -> &'static Path {
        Path::new(if self == Self::Memory { "." } else { "disk" })
    }
}

pub struct Root {
    tree: Tree,
    storage: Storage,
}

impl Root {
    pub fn build(storage: Storage) -> Outcome<Self> {
        umask(Mode::empty());
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).during("own the mounts")?;
        fs::create_dir_all(SCRATCH).during("make the scratch directory")?;
        place::attach_at(&filesystems::tmpfs(FIRST_MIB, "0755")?, Path::new(SCRATCH))
            .during("mount the scratch space")?;
        chdir(SCRATCH).during("enter the scratch space")?;
        for directory in ["image", "disk", "root"] {
            fs::create_dir(directory).during("make a directory of the scratch space")?;
        }
        if storage == Storage::Disk {
            mount_disk()?;
        }
        let void = guard::void(Path::new("void-file"), Path::new("void-directory"))?;
        mount_image()?;
        let tree = join(storage)?;
        for (name, mode) in [("dev", 0o755), ("proc", 0o555), ("sys", 0o555), ("tmp", 0o1777), (".agentkernel", 0o755)]
        {
            image_root::own_folder(&tree, name, mode)?;
        }
        place::attach_at(&filesystems::tmpfs(1, "0755")?, Path::new("root/dev")).during("mount /dev")?;
        filesystems::build(FIRST_MIB, &void, |_| Ok(()))?;
        close_to_root(&void)?;
        let programs = place::clone_readonly(Path::new(PROGRAMS)).during("show the programs")?;
        place::attach_at(&programs, Path::new("root/.agentkernel")).during("show the programs")?;
        Ok(Self { tree, storage })
    }

    /// Makes the files that all copies have.
    pub fn write_common_files(&self, shape: &Shape) -> Outcome<()> {
        resize(".", shape.scratch_mib)?;
        resize("root/tmp", shape.tmp_mib)?;
        resize("root/dev/shm", shape.tmp_mib)?;
        for place in &shape.places {
            self.tree.attach_folder(&self.space(place)?, &place.path)?;
        }
        image_root::write_machine(&self.tree, &etc_files::of_the_machine(NOBODYS, shape.network()))?;
        image_root::write_machine(&self.tree, &[(MACHINE_ID, identity::nobodys_machine_id())])
    }

    /// Returns the filesystem for writes at a place beside the root's own layer.
    fn space(&self, place: &Place) -> Outcome<OwnedFd> {
        if self.storage == Storage::Memory {
            return filesystems::tmpfs(place.mib, &place.mode);
        }
        let directory = self.storage.directory().join("places").join(name_of(&place.path));
        let mode = u32::from_str_radix(&place.mode, 8).during("the mode of a place")?;
        if make_new(&directory)? {
            chmodat(CWD, &directory, Mode::from_raw_mode(mode), AtFlags::empty()).during("make a place")?;
        }
        place::clone_tree(CWD, &directory).during("show a place")
    }

    /// Makes it the only filesystem in sight. The kernel's first filesystem cannot be left by pivot_root(2); what lies
    /// on top of it hides it for good.
    pub fn enter(&self) -> Outcome<()> {
        chdir("root").during("enter the root")?;
        mount_move(".", "/").during("change to the root")?;
        chroot(".").during("change to the root")?;
        chdir("/").during("enter the root")
    }
}

fn mount_image() -> Outcome<()> {
    let fs = fsopen("erofs", FsOpenFlags::FSOPEN_CLOEXEC).during("open erofs")?;
    fsconfig_set_string(&fs, "source", disk(Access::Readonly)?).during("name the image's disk")?;
    fsconfig_set_flag(&fs, "ro").during("mount the image")?;
    fsconfig_create(&fs).during("read the image's disk")?;
    let closed =
        MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let tree = fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, closed).during("mount the image")?;
    place::attach_at(&tree, Path::new("image")).during("mount the image")
}

/// Mounts the disk. ext4's journal undoes incomplete writes.
fn mount_disk() -> Outcome<()> {
    let fs = fsopen("ext4", FsOpenFlags::FSOPEN_CLOEXEC).during("open ext4")?;
    fsconfig_set_string(&fs, "source", disk(Access::Writable)?).during("name the sandbox's disk")?;
    fsconfig_set_string(&fs, "errors", "remount-ro").during("mount the sandbox's disk")?;
    // Freed blocks become holes of the host's file again.
    fsconfig_set_flag(&fs, "discard").during("mount the sandbox's disk")?;
    // Inode tables that are not used yet stay holes.
    fsconfig_set_flag(&fs, "noinit_itable").during("mount the sandbox's disk")?;
    fsconfig_create(&fs).during("read the sandbox's disk")?;
    let closed = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let tree = fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, closed).during("mount the sandbox's disk")?;
    place::attach_at(&tree, Storage::Disk.directory()).during("mount the sandbox's disk")?;
    make_new(&Storage::Disk.directory().join("places")).map(drop)
}

#[derive(PartialEq, Eq)]
enum Access {
    Readonly,
    Writable,
}

/// The image's disk is the one that cannot be written.
fn disk(access: Access) -> Outcome<String> {
    for name in DISKS {
        let Ok(flag) = fs::read_to_string(format!("/sys/block/{name}/ro")) else { continue };
        if (flag.trim() == "1") == (access == Access::Readonly) {
            return Ok(format!("/dev/{name}"));
        }
    }
    Err(Fault::start("the machine lacks a disk"))
}

/// Whether it was not there before.
fn make_new(directory: &Path) -> Outcome<bool> {
    match fs::create_dir(directory) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(e).during(format_args!("make {}", directory.display())),
    }
}

/// One name for a path, and no other path has it.
fn name_of(path: &Path) -> String {
    path.as_os_str().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The overlay, at `root`. Its writable layer looks like the image's root.
fn join(storage: Storage) -> Outcome<Tree> {
    let (upper, work) = (storage.directory().join("upper"), storage.directory().join("work"));
    make_new(&work)?;
    if make_new(&upper)? {
        let like = fs::metadata("image").during("look at the image's root")?;
        std::os::unix::fs::chown(&upper, Some(like.uid()), Some(like.gid())).during("make the writable layer")?;
        chmodat(CWD, &upper, Mode::from_raw_mode(like.mode() & 0o7777), AtFlags::empty())
            .during("make the writable layer")?;
    }
    let fs = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC).during("open overlay")?;
    for (key, value) in [("lowerdir", Path::new("image")), ("upperdir", &upper), ("workdir", &work)] {
        fsconfig_set_string(&fs, key, value).during("name a layer")?;
    }
    fsconfig_create(&fs).during("join the image and its writable layer")?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let tree = fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, attributes).during("mount overlay")?;
    place::attach_at(&tree, Path::new("root")).during("mount the root")?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(Tree::new(open("root", flags, Mode::empty()).during("open the root")?))
}

fn close_to_root(void: &Void) -> Outcome<()> {
    for name in CLOSED_TO_ROOT {
        let path = Path::new("root/proc").join(name);
        if !path.exists() {
            continue;
        }
        let cover = place::clone_tree(std::os::fd::AsFd::as_fd(&void.file), Path::new(""))
            .and_then(|tree| place::readonly(&tree).map(|()| tree))
            .during("mask a part of /proc")?;
        place::attach_at(&cover, &path).during("mask a part of /proc")?;
    }
    Ok(())
}

fn resize(path: &str, mib: u64) -> Outcome<()> {
    let picked = fspick(CWD, path, FsPickFlags::FSPICK_CLOEXEC).during("find a temporary filesystem")?;
    for (key, value) in filesystems::tmpfs_size(mib) {
        fsconfig_set_string(&picked, key, value.as_str()).during("size a temporary filesystem")?;
    }
    fsconfig_reconfigure(&picked).during("size a temporary filesystem")
}
