//! The project at the path that it has on the host, beside `/workspace`. Virtual environments, editable installs, CMake
//! caches and Cargo's fingerprints name files by that path. A recursive bind mount, so that both paths are the same
//! directory with the same covers, pins and mounts in it.

use std::{
    ffi::OsStr,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use rustix::{
    fs::{AtFlags, Dir, OFlags, ResolveFlags, readlinkat, symlinkat, unlinkat},
    io::Errno,
};

use crate::{
    child::Manner,
    control::{Layer, LayerState},
    fault::{During, Fault, Outcome},
    host_programs,
    place::{self, Root},
    spec::{RootChoice, Spec, View},
};

/// Directories that every sandbox has for itself. A project that is one of them is shown as /workspace only.
const KEPT_FREE: [&str; 8] = ["/dev/shm", "/etc", "/home/sandbox", "/run", "/tmp", "/usr", "/var", "/var/tmp"];
/// Kernel file systems, in which nothing can be made.
const OF_THE_KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// To be called when all views are in their places. What cannot be shown there is a layer that says so.
pub fn attach(root: &Root, spec: &Spec, views: &[View]) -> Option<Layer> {
    let view = views.iter().find(|view| view.at_source)?;
    let (own, target) = (&view.source, &view.target);
    if own.starts_with(target) || target.starts_with(own) || (needs_own_path(views) && is_at_own(root, view)) {
        return None;
    }
    attach_view(root, spec, views, view).err().map(|why| absent(own, target, &why)).or_else(|| unfound(views))
}

/// Where a view is put. Git finds some repositories from the project's own path alone: then the project is there, and the
/// usual path is a symlink to it, which the kernel resolves for whoever starts in it.
pub fn place_of<'a>(root: &Root, spec: &Spec, views: &'a [View], view: &'a View) -> &'a Path {
    let is_meant = view.at_source && spec.gvisor.is_none() && needs_own_path(views);
    if is_meant && lead(root, spec, views, view).is_ok() { &view.source } else { &view.target }
}

fn lead(root: &Root, spec: &Spec, views: &[View], view: &View) -> Result<(), String> {
    let (own, target) = (view.source.as_path(), view.target.as_path());
    refuse_own(own)?;
    let mut others = views.iter().filter(|other| other.target != target);
    if own.starts_with(target)
        || target.starts_with(own)
        || others.any(|other| {
            other.target.starts_with(own) || other.target.starts_with(target) || own.starts_with(&other.target)
        })
    {
        return Err("something else is mounted there".into());
    }
    made(root, spec, own)?;
    let name = target.strip_prefix("/").map_err(|e| e.to_string())?;
    match unlinkat(root.fd(), name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(e) => return Err(e.to_string()),
    }
    symlinkat(own, root.fd(), name).map_err(|e| e.to_string())
}

fn needs_own_path(views: &[View]) -> bool {
    views.iter().any(|view| view.repository.is_some())
}

/// Git looks for the repository around a directory in those above it, and above the usual path there is none.
fn unfound(views: &[View]) -> Option<Layer> {
    let is_part = |view: &&View| view.repository.as_ref().is_some_and(|repository| !repository.part.is_empty());
    let place = views.iter().find(is_part)?.source.display().to_string();
    let detail = format!(
        "git does not find the repository {place} from a directory of it here; name its top with --dir, and the \
         directory with -w"
    );
    Some(Layer::new("git", LayerState::Partial, detail))
}

fn is_at_own(root: &Root, view: &View) -> bool {
    let name = view.target.strip_prefix("/").unwrap_or(&view.target);
    readlinkat(root.fd(), name, Vec::new()).is_ok_and(|found| found.to_bytes() == view.source.as_os_str().as_bytes())
}

/// Takes away the symlink that an earlier start of a kept sandbox made.
pub fn clear(root: &Root, views: &[View], manner: Manner) -> Outcome<()> {
    let kept = views.iter().find(|view| view.at_source && manner == Manner::Kept);
    let Some(view) = kept else { return Ok(()) };
    let name = view.target.strip_prefix("/").unwrap_or(&view.target);
    match readlinkat(root.fd(), name, Vec::new()) {
        Ok(_) => unlinkat(root.fd(), name, AtFlags::empty()).during("clear the project's place"),
        Err(_) => Ok(()),
    }
}

fn attach_view(root: &Root, spec: &Spec, views: &[View], view: &View) -> Result<(), String> {
    let own = view.source.as_path();
    refuse_own(own)?;
    let others = || views.iter().filter(|other| other.target != view.target);
    if others().any(|other| other.target.starts_with(own)) {
        return Err("something else is mounted in it".into());
    }
    // gVisor's file server does not see a second mount of what it serves already, so there it is a symlink.
    if spec.gvisor.is_some() {
        if own.starts_with("/tmp") {
            return Err("gVisor has temporary files of its own there".into());
        }
        return link(root, own, &view.target);
    }
    // A mount point that is made in a directory of the host's would stay there.
    let around = others().any(|other| own.starts_with(&other.target));
    let at = if around { found(root, own)? } else { made(root, spec, own)? };
    let shown = root.find(&view.target, OFlags::DIRECTORY).map_err(|e| e.to_string())?;
    let tree = place::clone_tree(shown.as_fd(), Path::new("")).map_err(|e| e.to_string())?;
    place::attach(&tree, &at).map_err(|e| e.to_string())
}

/// By a symlink, where the root can be written but nothing can be mounted any more: a container, a virtual machine.
pub fn attach_link(root: &Root, own: &Path, target: &Path) -> Option<Layer> {
    if own.starts_with(target) || target.starts_with(own) {
        return None;
    }
    refuse_own(own).and_then(|()| link(root, own, target)).err().map(|why| absent(own, target, &why))
}

fn refuse_own(own: &Path) -> Result<(), String> {
    if KEPT_FREE.iter().any(|kept| own == Path::new(kept)) || OF_THE_KERNEL.iter().any(|kept| own.starts_with(kept)) {
        return Err("the sandbox has a directory of its own there".into());
    }
    Ok(())
}

fn absent(own: &Path, target: &Path, why: &str) -> Layer {
    let detail = format!("the project is at {} only, not at {}: {why}", target.display(), own.display());
    Layer::new("project path", LayerState::Absent, detail)
}

/// A sandbox that was started before has the link already.
fn link(root: &Root, own: &Path, target: &Path) -> Result<(), String> {
    let (Some(parent), Some(name)) = (own.parent(), own.file_name()) else { return Err("it has no name".into()) };
    let parent = root.folder(parent).map_err(|Fault { message, .. }| message)?;
    match symlinkat(target, &parent, name) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) if is_link_to(&parent, name, target) => Ok(()),
        Err(Errno::EXIST) => Err("there is something else there".into()),
        Err(e) => Err(e.to_string()),
    }
}

fn is_link_to(parent: &OwnedFd, name: &OsStr, target: &Path) -> bool {
    readlinkat(parent, name, Vec::new()).is_ok_and(|found| found.to_bytes() == target.as_os_str().as_encoded_bytes())
}

fn found(root: &Root, own: &Path) -> Result<OwnedFd, String> {
    root.find(own, OFlags::DIRECTORY).map_err(|_| "it is not in the directory that is mounted around it".into())
}

/// The directory, which must be empty: what an image has there is the image's.
fn made(root: &Root, spec: &Spec, own: &Path) -> Result<OwnedFd, String> {
    let (at, is_new) = root.folder_anew(own).map_err(|Fault { message, .. }| message)?;
    if !is_new && !is_empty(root, own)? {
        return Err("the image has something else there".into());
    }
    if matches!(spec.root, RootChoice::Host { .. }) {
        host_programs::open_root_home(root, own).map_err(|e| e.to_string())?;
    }
    Ok(at)
}

fn is_empty(root: &Root, own: &Path) -> Result<bool, String> {
    let readable = place::open_within(
        root.fd(),
        own,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS,
    );
    let entries = readable.and_then(Dir::new).map_err(|e| e.to_string())?;
    let mut names = entries.map(|entry| entry.map(|found| found.file_name().to_bytes().to_vec()));
    Ok(names.all(|name| matches!(name.as_deref(), Ok(b"." | b".."))))
}
