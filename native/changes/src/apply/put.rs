//! Something new in the project: written beside its place, then renamed into it.

use std::{
    ffi::CString,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use ak_jail::{
    carry::{names, transfer},
    fault::{During, Fault, Outcome},
    git::carried::Carried,
};
use rustix::{
    fs::{AtFlags, Mode, RenameFlags, Stat, mkdirat, renameat_with, statat, symlinkat, unlinkat},
    io::Errno,
};

use super::{Done, links::OwnChanges};
use crate::{
    change::{Change, Kind, Node, PERMISSIONS, Side},
    contents,
    record::Print,
    rules::Rules,
};

const BUSY: &str = "the sandbox is writing to it";
const UNREADABLE_INDEX: &str = "an index that cannot be read, or has paths that git must not write";

/// The directory that a path is in, without following a link, and its name there.
pub fn parent(root: BorrowedFd<'_>, path: &[u8]) -> Outcome<(OwnedFd, CString)> {
    let (directory, name) =
        path.iter().rposition(|&b| b == b'/').map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
    let name = CString::new(name).during("a name")?;
    let directory = contents::open_directory(root, directory).map_err(|e| not_there(path, e))?;
    Ok((directory, name))
}

fn not_there(path: &[u8], e: Errno) -> Fault {
    let path = String::from_utf8_lossy(path);
    Fault::new("conflict", format!("the directory of {path} cannot be opened: {e}")).hint("look at it with diff again")
}

pub fn directory(layer: BorrowedFd<'_>, host: BorrowedFd<'_>, change: &Change, privileged: bool) -> Outcome<Done> {
    let Ok((at, name)) = parent(host, &change.path) else { return Ok(Done::Conflict("its directory is not there")) };
    let mode = change.new.as_ref().map_or(0o755, Side::mode);
    // It may be gone from a sandbox that runs; then so is what was in it.
    if contents::open_directory(layer, &change.path).is_err() {
        return Ok(Done::Nothing);
    }
    match mkdirat(&at, name.as_c_str(), Mode::from_raw_mode(mode & PERMISSIONS)) {
        Ok(()) if privileged => transfer::own_like(at.as_fd(), &name).map(|()| Done::Applied),
        Ok(()) => Ok(Done::Applied),
        Err(Errno::EXIST) => Ok(match contents::open_directory(host, &change.path) {
            Ok(_) => Done::Nothing,
            Err(_) => Done::Conflict("something else is in its place"),
        }),
        Err(e) => Err(e).during(format_args!("make the directory {}", String::from_utf8_lossy(&change.path))),
    }
}

pub fn file(
    layer: BorrowedFd<'_>,
    host: BorrowedFd<'_>,
    change: &Change,
    rules: &Rules,
    (privileged, own): (bool, &mut OwnChanges),
) -> Outcome<Done> {
    let Some(new) = &change.new else { return Ok(Done::Nothing) };
    let Ok((at, name)) = parent(host, &change.path) else { return Ok(Done::Conflict("its directory is not there")) };
    let Ok((from, _)) = parent(layer, &change.path) else { return Ok(Done::Conflict("gone from the sandbox")) };
    let old = if change.kind == Kind::Modified { change.old.as_ref() } else { None };
    let temporary = transfer::temporary_name()?;
    let written = match (new.node, &new.target) {
        (Node::Link, Some(target)) => link(&at, &temporary, target, privileged),
        // It was something else again when it was to be read.
        (Node::Link, None) => return Ok(Done::Conflict(BUSY)),
        _ => {
            let old = old.map(|old| &old.stat);
            let instead = match rules.cleared_index(&change.path, &name, from.as_fd(), at.as_fd())? {
                Carried::AsItIs => None,
                Carried::Instead(file) => Some(file),
                Carried::Nothing => return Ok(Done::Conflict(UNREADABLE_INDEX)),
            };
            transfer::write_temporary(
                (from.as_fd(), instead.as_ref()),
                at.as_fd(),
                &name,
                &temporary,
                old,
                &new.stat,
                privileged,
            )
        }
    };
    let put = match written {
        Ok(()) => place((&at, &from), &temporary, &name, (old, new), own),
        // Not read because it is another file by now.
        Err(_) if !is_still(&from, &name, &new.stat)? => Ok(Done::Conflict(BUSY)),
        Err(fault) => Err(fault),
    };
    if !matches!(put, Ok(Done::Applied)) {
        // The caller reports why the file was not put in place, so a failed unlink adds nothing.
        let _ = unlinkat(&at, temporary.as_c_str(), AtFlags::empty());
    }
    put.map_err(|fault| {
        let message = format!("{} could not be applied: {}", String::from_utf8_lossy(&change.path), fault.message);
        Fault { message, ..fault }.hint("what was applied before it stays; the next apply goes on with the rest")
    })
}

/// A link to where it led when it was judged.
fn link(at: &OwnedFd, temporary: &CString, target: &[u8], privileged: bool) -> Outcome<()> {
    symlinkat(target, at, temporary.as_c_str()).during("make a link")?;
    if privileged { transfer::own_like(at.as_fd(), temporary) } else { Ok(()) }
}

fn place(
    (at, from): (&OwnedFd, &OwnedFd),
    temporary: &CString,
    name: &CString,
    (old, new): (Option<&Side>, &Side),
    own: &mut OwnChanges,
) -> Outcome<Done> {
    if !is_still(from, name, &new.stat)? {
        return Ok(Done::Conflict(BUSY));
    }
    let now = if old.is_some() { contents::stat(at.as_fd(), name)? } else { None };
    let flags = match (old, &now) {
        (None, _) => RenameFlags::NOREPLACE,
        (Some(old), Some(now)) if own.is_as_seen(now, &old.stat) => RenameFlags::empty(),
        _ => return Ok(Done::Conflict("changed on the host just now")),
    };
    own.taking_name(at, name, now.as_ref(), || {
        match renameat_with(at, temporary.as_c_str(), at, name.as_c_str(), flags) {
            Ok(()) => Ok(Done::Applied),
            Err(Errno::EXIST | Errno::ISDIR | Errno::NOTEMPTY) => Ok(Done::Conflict("something else is in its place")),
            Err(e) => Err(e).during("put a file in its place"),
        }
    })
}

/// Whether it is the file that was compared.
fn is_still(directory: &OwnedFd, name: &CString, stat: &Stat) -> Outcome<bool> {
    match statat(directory, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(now) => Ok(Print::of(&now) == Print::of(stat)),
        Err(Errno::NOENT) => Ok(false),
        Err(e) => Err(e).during("look at a file"),
    }
}

/// Removes what an apply that was killed has left beside a path.
pub fn clear_beside(host: BorrowedFd<'_>, path: &[u8]) -> Outcome<()> {
    // Without its directory nothing is there.
    let Ok((at, _)) = parent(host, path) else { return Ok(()) };
    transfer::clear_leftovers(at.as_fd(), &names(at.as_fd())?)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, path::Path};

    use rustix::fs::OFlags;

    use super::*;
    use crate::{change::Verdict, rules::tests::rules};

    fn open(path: &Path) -> OwnedFd {
        rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("open")
    }

    fn added(name: &str, new: Side) -> Change {
        let (path, verdict) = (name.into(), Verdict::Ready);
        Change { kind: Kind::Added, path, from: None, old: None, new: Some(new), verdict, awaits_review: false }
    }

    #[test]
    fn a_link_leads_to_where_it_led_when_it_was_judged() {
        let (layer, host) = (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
        symlink("/elsewhere", layer.path().join("link")).expect("link");
        let (from, to) = (open(layer.path()), open(host.path()));
        let stat = statat(&from, c"link", AtFlags::SYMLINK_NOFOLLOW).expect("look");
        let judged =
            |target: Option<&[u8]>| added("link", Side { node: Node::Link, stat, target: target.map(<[u8]>::to_vec) });
        assert!(matches!(
            file(from.as_fd(), to.as_fd(), &judged(None), &rules(), (false, &mut OwnChanges::default())),
            Ok(Done::Conflict(_))
        ));
        assert_eq!(
            file(from.as_fd(), to.as_fd(), &judged(Some(b"judged")), &rules(), (false, &mut OwnChanges::default()))
                .expect("put"),
            Done::Applied
        );
        assert_eq!(fs::read_link(host.path().join("link")).expect("read"), Path::new("judged"));
    }

    #[test]
    fn what_is_another_thing_by_now_is_a_conflict() {
        let (layer, host) = (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
        let (from, to) = (open(layer.path()), open(host.path()));
        fs::write(layer.path().join("file"), "x").expect("write");
        let stat = statat(&from, c"file", AtFlags::SYMLINK_NOFOLLOW).expect("look");
        fs::remove_file(layer.path().join("file")).expect("remove");
        for _ in 0..2 {
            let change = added("file", Side { node: Node::File, stat, target: None });
            assert!(matches!(
                file(from.as_fd(), to.as_fd(), &change, &rules(), (false, &mut OwnChanges::default())),
                Ok(Done::Conflict(_))
            ));
            assert_eq!(fs::read_dir(host.path()).expect("read").count(), 0);
            symlink("/etc/passwd", layer.path().join("file")).ok();
        }
    }
}
