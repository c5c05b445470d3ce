//! The caller's directories and files, copied in. Each comes as a tree stream in messages, the last of which is empty. They
//! are written with the rights of the sandbox's user, whose they are then.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ak_jail::{
    fault::{During, Fault, Outcome},
    spec::User,
};
use ak_tree::{Destination, Failure, Limits, Links, Writer};
use rustix::{
    fs::{Gid, Uid},
    thread::{set_thread_res_gid, set_thread_res_uid},
};

use crate::{host_channel::HostChannel, order::Order};

/// The only limit is the space of the filesystem.
const LIMITS: Limits = Limits { bytes: u64::MAX, entries: u64::MAX };

pub fn receive(host: &mut HostChannel, order: &Order) -> Outcome<()> {
    for target in &order.trees {
        check(target, order)?;
        if order.anew {
            empty(target)?;
        }
        make_place(target, order.user)?;
        let outcome = as_user(order.user, || receive_one(host, target));
        outcome?;
    }
    Ok(())
}

/// As the linux backend has it: no link of a project's leads what is shown elsewhere, and nothing is made in a project
/// whose changes are carried over.
fn check(target: &Path, order: &Order) -> Outcome<()> {
    let mut way = PathBuf::new();
    for part in target.components() {
        way.push(part);
        let nothing = |why: String| {
            Fault::new("invalid_argument", format!("nothing can be mounted at {}{why}", target.display()))
        };
        match fs::symlink_metadata(&way) {
            Ok(found) if found.is_symlink() => {
                return Err(nothing(format!(" in the sandbox: {} is a link", way.display()))
                    .hint("choose a path outside /workspace, or one that exists in it"));
            }
            Err(_) if !order.kept && order.listed.as_ref().is_some_and(|around| is_within(target, around)) => {
                return Err(nothing(": it does not exist in /workspace".into())
                    .hint("make it in the project first, or mount somewhere else"));
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

fn is_within(target: &Path, around: &Path) -> bool {
    target != around && target.starts_with(around)
}

fn receive_one(host: &mut HostChannel, target: &Path) -> Outcome<()> {
    let destination = Destination { path: target.to_owned(), name: Vec::new(), contents: true };
    let mut writer = Writer::new(destination, Links::Any, LIMITS).taking_any_name().taking_holes();
    loop {
        let part = host.hear()?.ok_or_else(|| Fault::start("the host is gone"))?;
        if part.is_empty() {
            break;
        }
        writer.push(&part).map_err(|failure| full(target, failure))?;
    }
    writer.finish().map(drop).map_err(|failure| full(target, failure))
}

fn empty(directory: &Path) -> Outcome<()> {
    let Ok(entries) = fs::read_dir(directory) else { return Ok(()) };
    for entry in entries {
        let entry = entry.during(format_args!("read {}", directory.display()))?;
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let removed = if is_directory { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
        removed.during(format_args!("empty {}", directory.display()))?;
    }
    Ok(())
}

/// The directory that it goes into. What the project itself has there is not touched.
fn make_place(target: &Path, user: User) -> Outcome<()> {
    let Some(parent) = target.parent() else { return Ok(()) };
    let mut missing = Vec::new();
    let mut at = parent;
    while !at.exists() {
        missing.push(at);
        let Some(above) = at.parent() else { break };
        at = above;
    }
    fs::create_dir_all(parent).during(format_args!("make {}", parent.display()))?;
    for made in missing {
        std::os::unix::fs::chown(made, Some(user.uid), Some(user.gid))
            .during(format_args!("own {}", made.display()))?;
    }
    Ok(())
}

fn full(target: &Path, failure: Failure) -> Fault {
    let code = if failure.code == "no_space" { "resource_exhausted" } else { "sandbox_start_failed" };
    let message = format!("copy what belongs at {}: {}", target.display(), failure.message);
    let hint = "this backend copies the project into the sandbox: raise resources.disk_mb and resources.memory_mb, or \
                leave large directories out with fs.deny";
    Fault::new(code, message).hint(hint)
}

/// Only for as long as `work` takes.
fn as_user<T>(user: User, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    if user.uid == 0 && user.gid == 0 {
        return work();
    }
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    set_thread_res_gid(Gid::ROOT, gid, Gid::ROOT).during("become the sandbox's user")?;
    set_thread_res_uid(Uid::ROOT, uid, Uid::ROOT).during("become the sandbox's user")?;
    let done = work();
    set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT).during("become root again")?;
    set_thread_res_gid(Gid::ROOT, Gid::ROOT, Gid::ROOT).during("become root again")?;
    done
}
