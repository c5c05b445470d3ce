//! Copy-on-write views: the project below, the mask over it, and a writable layer on top.

use std::{
    ffi::CString,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{Mode, OFlags, Stat, fstat, mkdir, open},
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount,
        fsopen,
    },
};

use super::{
    mask,
    survey::{Hit, Survey},
};
use crate::{
    fault::{During, Fault, Outcome},
    git::{
        config::cleaned,
        masked::{mark_hidden, put},
    },
    place,
    upper::Uppers,
};

pub struct Built {
    /// To attach at the view's target.
    pub tree: OwnedFd,
    /// The writable layer, if there is one.
    pub upper: Option<OwnedFd>,
}

/// Precondition: the current folder is the scratch filesystem. Layers get short names in it, since mount tables
/// show them.
pub fn build(index: usize, source: OwnedFd, survey: &Survey, writable: Option<Uppers>) -> Outcome<Built> {
    let name = |what: &str| format!("{what}{index}");
    let lower = folder(&name("l"))?;
    place::attach(&source, &lower).during("attach a view")?;
    let lower = open_folder(&name("l"))?;
    let like = fstat(&lower).during("look at a view")?;
    let mut layers = Vec::new();
    // Read-only views are overlays too, with an empty mask if need be: a bind mount would show the host's path in
    // the mount table and would let sockets that appear in the folder be connected to.
    let has_mask = !survey.hidden.is_empty() || !survey.cleaned.is_empty() || survey.linked.is_some();
    let mask = if writable.is_none() || has_mask {
        layers.push(name("m"));
        Some(masked(&name("m"), &lower, survey)?)
    } else {
        None
    };
    layers.push(name("l"));
    let fs = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC).during("open overlay")?;
    fsconfig_set_flag(&fs, "userxattr").during("overlay without trusted attributes")?;
    fsconfig_set_string(&fs, "lowerdir", layers.join(":").as_str()).during("overlay layers")?;
    let upper = writable.map(|uppers| uppers.add_to(&fs, &name("u"), &name("w"), &like)).transpose()?;
    if let Some(mask) = &mask {
        mark_hidden(lower.as_fd(), mask.as_fd(), upper.as_ref().map(AsFd::as_fd), survey)?;
        resemble_root(mask, &like)?;
    }
    fsconfig_create(&fs).map_err(|e| {
        Fault::new("layer_unavailable", format!("the copy-on-write view of a folder could not be made: {e}"))
            .hint("other filesystems mounted below the folder, and kernels before 6.6, do not allow this; see `agentkernel doctor`")
    })?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let tree = fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, attributes).during("mount overlay")?;
    Ok(Built { tree, upper })
}

fn masked(name: &str, lower: &OwnedFd, survey: &Survey) -> Outcome<OwnedFd> {
    let mask = folder(name)?;
    let texts: Vec<_> = survey.cleaned.iter().map(|path| (path, cleaned(lower.as_fd(), path))).collect();
    // It may have changed since the search.
    let unclean = texts.iter().filter(|(_, text)| text.is_none());
    let gone = unclean.map(|(path, _)| Hit { path: path.to_vec(), folder: false });
    let hidden: Vec<Hit> = survey.hidden.iter().cloned().chain(gone).collect();
    mask::build(mask.as_fd(), lower.as_fd(), &hidden)?;
    for (path, text) in &texts {
        text.as_ref().map_or(Ok(()), |text| put(lower.as_fd(), mask.as_fd(), path, text))?;
    }
    Ok(mask)
}

/// Last: its time changes when something is made in it.
fn resemble_root(mask: &OwnedFd, like: &Stat) -> Outcome<()> {
    mask::resemble(mask.as_fd(), &CString::from(c"."), like)
}

fn folder(name: &str) -> Outcome<OwnedFd> {
    mkdir(name, Mode::from_raw_mode(0o755)).during("make a layer")?;
    open_folder(name)
}

fn open_folder(name: &str) -> Outcome<OwnedFd> {
    open(Path::new(name), OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).during("open a layer")
}
