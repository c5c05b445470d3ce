//! The folders that an image's layers were unpacked to, as mounts. Root opens and maps them before the sandbox exists,
//! because the store is closed to the sandbox's ids; a user's sandbox opens them by itself, with the user's rights.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, mkdir, open},
    mount::{FsOpenFlags, OpenTreeFlags, fsconfig_set_flag, fsconfig_set_string, fsopen, open_tree},
};

use crate::{
    fault::{During, Fault, Outcome},
    place, sys,
};

/// A value of fsconfig(2) has at most this many bytes.
const MAX_VALUE: usize = 255;

pub struct Layers {
    /// The uppermost first.
    paths: Vec<PathBuf>,
    trees: Option<Vec<OwnedFd>>,
}

impl Layers {
    pub fn open(paths: &[PathBuf], privileged: bool) -> Outcome<Self> {
        let trees = if privileged { Some(open_all(paths)?) } else { None };
        Ok(Self { paths: paths.to_vec(), trees })
    }

    /// One that was made for the sandbox.
    pub fn of_mount(mount: OwnedFd) -> Self {
        Self { paths: Vec::new(), trees: Some(vec![mount]) }
    }

    /// Root: files of the store's root are those of the sandbox's root, and so on, by the namespace of a process.
    pub fn map_ids(&self, namespace_of: i32, attributes: u64) -> Outcome<()> {
        let Some(trees) = self.trees.as_deref().filter(|t| !t.is_empty()) else { return Ok(()) };
        let userns = open(format!("/proc/{namespace_of}/ns/user"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .during("open the user namespace")?;
        for tree in trees {
            sys::mount_setattr(tree.as_fd(), false, attributes, Some(userns.as_fd())).map_err(|e| {
                Fault::new("layer_unavailable", format!("map the ids of an image's layer: {e}"))
                    .hint("the image store's filesystem does not take id-mapped mounts; keep the store on ext4, xfs or btrfs, or run as an ordinary user instead of root")
            })?;
        }
        Ok(())
    }

    /// In the child: the mounts to put in place.
    pub fn into_trees(self, attributes: u64) -> Outcome<Vec<OwnedFd>> {
        if let Some(trees) = self.trees {
            return Ok(trees);
        }
        let trees = open_all(&self.paths)?;
        for tree in &trees {
            sys::mount_setattr(tree.as_fd(), false, attributes, None).during("set a layer's attributes")?;
        }
        Ok(trees)
    }
}

fn open_all(paths: &[PathBuf]) -> Outcome<Vec<OwnedFd>> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let open = |path: &PathBuf| {
        open_tree(CWD, path, flags).map_err(|e| {
            Fault::new("image_invalid", format!("a layer of the image cannot be opened: {e}"))
                .hint("pull the image again")
        })
    };
    paths.iter().map(open).collect()
}

/// Puts layers in place. The current folder is the scratch filesystem, where each gets a short name, since mount tables
/// show it.
pub fn attach(trees: &[OwnedFd]) -> Outcome<Vec<String>> {
    let names: Vec<String> = (0..trees.len()).map(|index| format!("i{index}")).collect();
    for (tree, name) in trees.iter().zip(&names) {
        mkdir(name.as_str(), Mode::from_raw_mode(0o755)).during("make a layer")?;
        place::attach_at(tree, Path::new(name)).during("attach a layer")?;
    }
    Ok(names)
}

/// An overlay of attached layers, without an upper one yet.
pub fn overlay(names: &[String]) -> Outcome<OwnedFd> {
    let fs = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC).during("open overlay")?;
    fsconfig_set_flag(&fs, "userxattr").during("overlay without trusted attributes")?;
    let together = names.join(":");
    if together.len() <= MAX_VALUE {
        fsconfig_set_string(&fs, "lowerdir", together.as_str()).during("overlay layers")?;
    } else {
        for name in names {
            fsconfig_set_string(&fs, "lowerdir+", name.as_str()).during("overlay layers (kernels from 6.5 on)")?;
        }
    }
    Ok(fs)
}
