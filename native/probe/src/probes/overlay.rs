//! An overlay with `userxattr` inside a user namespace, upper on tmpfs: copy-up, whiteout and opaque directory must
//! really work, and still hold after mounting it again.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount};
use rustix::thread::UnshareFlags;

use super::Context;
use crate::namespace::inside;
use crate::report::{Explain, Fault, Verdict, expect};

const HINT: &str = "overlay in a user namespace needs Linux 5.11 or newer with the overlay module loaded (`modprobe overlay` as root), and 6.6 or newer for opaque directories on tmpfs";

pub fn probe(_: &Context) -> Verdict {
    inside(UnshareFlags::NEWNS, || {
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).or_fault("making mounts private", HINT)?;
        // Seen in this mount namespace only, and gone with it.
        let base = Path::new("/tmp");
        mount("probe", base, "tmpfs", MountFlags::empty(), c"size=1m").or_fault("mounting tmpfs", HINT)?;
        let tree = Tree::make(base).or_fault("preparing directories on tmpfs", HINT)?;
        tree.mount().or_fault("mounting the overlay", HINT)?;
        tree.change()?;
        check(&tree)?;
        unmount(&tree.merged, UnmountFlags::empty()).or_fault("unmounting the overlay", HINT)?;
        tree.mount().or_fault("mounting the overlay again", HINT)?;
        check(&tree)?;
        Ok("copy-up, whiteout and opaque directory work with userxattr on tmpfs".to_owned())
    })
}

struct Tree {
    lower: PathBuf,
    upper: PathBuf,
    work: PathBuf,
    merged: PathBuf,
}

impl Tree {
    fn make(base: &Path) -> io::Result<Tree> {
        let tree = Tree {
            lower: base.join("lower"),
            upper: base.join("upper"),
            work: base.join("work"),
            merged: base.join("merged"),
        };
        for directory in [&tree.lower, &tree.upper, &tree.work, &tree.merged] {
            fs::create_dir(directory)?;
        }
        fs::write(tree.lower.join("changed"), "below")?;
        fs::write(tree.lower.join("removed"), "below")?;
        fs::create_dir(tree.lower.join("directory"))?;
        fs::write(tree.lower.join("directory/old"), "below")?;
        Ok(tree)
    }

    fn mount(&self) -> rustix::io::Result<()> {
        let options = format!(
            "lowerdir={},upperdir={},workdir={},userxattr",
            self.lower.display(),
            self.upper.display(),
            self.work.display()
        );
        let options = std::ffi::CString::new(options).map_err(|_| rustix::io::Errno::INVAL)?;
        mount("probe", &self.merged, "overlay", MountFlags::empty(), &*options)
    }

    fn change(&self) -> Result<(), Fault> {
        OpenOptions::new()
            .append(true)
            .open(self.merged.join("changed"))
            .and_then(|mut file| file.write_all(b" and above"))
            .or_fault("copying a file up", HINT)?;
        fs::remove_file(self.merged.join("removed")).or_fault("making a whiteout", HINT)?;
        let directory = self.merged.join("directory");
        fs::remove_dir_all(&directory).or_fault("removing a directory of the lower layer", HINT)?;
        fs::create_dir(&directory).or_fault("making an opaque directory", HINT)
    }
}

fn check(tree: &Tree) -> Result<(), Fault> {
    let text = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    expect(
        text(tree.merged.join("changed")) == "below and above"
            && text(tree.upper.join("changed")) == "below and above"
            && text(tree.lower.join("changed")) == "below",
        "a changed file was not copied up as it should be",
        HINT,
    )?;
    let whiteout = fs::symlink_metadata(tree.upper.join("removed"));
    expect(
        !tree.merged.join("removed").exists()
            && tree.lower.join("removed").exists()
            && whiteout.is_ok_and(|entry| entry.file_type().is_char_device() && entry.rdev() == 0),
        "a removed file left no whiteout",
        HINT,
    )?;
    let empty = fs::read_dir(tree.merged.join("directory")).is_ok_and(|mut list| list.next().is_none());
    expect(
        empty && tree.lower.join("directory/old").exists(),
        "a directory that was removed and made again is not opaque",
        HINT,
    )
}
