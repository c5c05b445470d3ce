//! Directories of the host's that are shown and not copied. The engine has mounted each at a place of ours, where it shows all
//! that is in it. Here, before anything untrusted runs, it is put where it belongs without what is hidden and with what is
//! protected closed, as the linux backend does it, and the engine's own mount goes. What the sandbox may change for itself
//! is copy-on-write: its changes are in memory. The rights that this takes are given up with all others.

use std::{env::set_current_dir, fs::File, os::fd::AsFd, path::Path};

use ak_jail::{
    control::Layer,
    fault::{During, Fault, Outcome},
    filesystems,
    identity::is_host_root,
    place::{self, Root},
    spec::{User, View},
    upper::Uppers,
    view::{guard, hold::Found, overlay, search::live_layer, source::Source},
};
use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    mount::{UnmountFlags, unmount},
};

use crate::{host_channel::HostChannel, order::Order};

/// A filesystem in memory that the engine has made for its mounts. While they are arranged, one of ours covers it.
const PLACE: &str = "/.agentkernel/live";
/// Where nothing that the sandbox writes is in it.
const COVERS_MIB: u64 = 16;
const MAX_FOUND: usize = 1 << 30;

pub fn show(speech: &mut HostChannel, order: &Order) -> Outcome<Vec<Layer>> {
    if order.views.is_empty() {
        return Ok(Vec::new());
    }
    let found: Vec<Found> = serde_json::from_slice(&speech.hear_all(MAX_FOUND)?).during("hear what is shown")?;
    if found.len() != order.views.len() {
        return Err(Fault::new("internal", "what is known is not what is shown"));
    }
    let mut sources = Vec::new();
    for (view, found) in order.views.iter().zip(&found) {
        let source = Source::open(view, true).map_err(no_mounts)?;
        if source.identity() != found.identity {
            // Also where the engine has another kernel than the host that looked.
            let message = format!("what belongs at {} is not what the host has there", view.target.display());
            return Err(Fault::new("unsupported", message));
        }
        unmount(&view.source, UnmountFlags::DETACH).map_err(|e| no_mounts(Fault::start(e.to_string())))?;
        sources.push(source);
    }
    cover_place(order)?;
    let void = guard::void(Path::new("file"), Path::new("directory"))?;
    let root = Root::new(File::open("/").during("open the root")?.into());
    let mut views: Vec<_> = order.views.iter().zip(sources).zip(&found).enumerate().collect();
    // A nested view is mounted after the one that contains it.
    views.sort_by_key(|(_, ((view, _), _))| view.target.components().count());
    for (index, ((view, source), found)) in views {
        if is_host_root() {
            map_ids(view, &source, found.owner, order)?;
        } else {
            insist_on_owner(view, &source, order.user)?;
        }
        place::check(&order.views, &root, view)?;
        let is_directory = source.is_folder();
        let tree = source.into_tree(view)?;
        if !view.is_live() && is_directory {
            let built = overlay::build(index, tree, &found.survey, (!view.readonly).then_some(Uppers::Fresh))?;
            root.attach_folder(&built.tree, &view.target)?;
            continue;
        }
        if view.readonly {
            place::readonly(&tree).during("close a view")?;
        } else {
            place::without_set_ids(&tree)?;
        }
        if !is_directory {
            root.attach_file(&tree, &view.target)?;
            continue;
        }
        root.attach_folder(&tree, &view.target)?;
        let mounted = root.find(&view.target, OFlags::DIRECTORY).during("open a view")?;
        guard::apply(mounted.as_fd(), &found.survey, &void)?;
    }
    set_current_dir("/").during("leave the scratch filesystem")?;
    // With it go the directories as they are. What is shown of them has mounts of its own.
    unmount(PLACE, UnmountFlags::DETACH).during("close the scratch filesystem")?;
    unmount(PLACE, UnmountFlags::DETACH).during("close the engine's filesystem")?;
    Ok(live_layer(&order.views).into_iter().collect())
}

/// Its ids are the container's own where that has some: then they are the engine's to map.
fn map_ids(view: &View, source: &Source, owner: User, order: &Order) -> Outcome<()> {
    let hint = |fault| Fault {
        hint: Some("its filesystem does not take id-mapped mounts: use --workspace sync, or --backend linux".into()),
        ..fault
    };
    if let Some(caller) = order.caller.filter(|_| !view.is_live()) {
        let own = if owner.uid == caller.uid { owner } else { caller };
        return source.map_only(0, own, order.user).map_err(hint);
    }
    if !view.is_live() && owner == order.user {
        return Ok(());
    }
    let own = i32::try_from(std::process::id()).during("know this process")?;
    source.map_ids(view, 0, order.user, own).map_err(hint)
}

/// Where the ids are the engine's to map, a directory may be another's than the sandbox's user, who could not write in it.
fn insist_on_owner(view: &View, source: &Source, user: User) -> Outcome<()> {
    let (uid, gid) = (source.stat.st_uid, source.stat.st_gid);
    if view.readonly || view.is_live() || (uid, gid) == (user.uid, user.gid) {
        return Ok(());
    }
    let message = format!("what belongs at {} has an owner that the sandbox's user is not", view.target.display());
    Err(Fault::new("unsupported", message))
}

/// A filesystem of ours over the engine's mount points, in which hidden files get their covers, and what the sandbox
/// changes is written.
fn cover_place(order: &Order) -> Outcome<()> {
    let is_written = order.views.iter().any(|view| !view.readonly && !view.is_live());
    let scratch = filesystems::tmpfs(if is_written { order.scratch_mib } else { COVERS_MIB }, "0755")?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let at = openat(CWD, PLACE, flags, Mode::empty()).during("open a place for mounts")?;
    place::attach(&scratch, &at).during("make a place for mounts")?;
    set_current_dir(PLACE).during("enter the scratch filesystem")
}

fn no_mounts(fault: Fault) -> Fault {
    Fault::new("unsupported", format!("this engine does not let a container arrange its mounts: {}", fault.message))
        .hint("use --workspace sync, or leave out writable mounts and the home directory; or --backend linux")
}
