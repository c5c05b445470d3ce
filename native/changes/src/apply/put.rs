//! Something new in the project: written beside its place, then renamed into it.

use std::{
    ffi::CString,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use ak_jail::{
    carry::{names, transfer},
    fault::{During, Fault, Outcome},
};
use rustix::{
    fs::{AtFlags, Mode, RenameFlags, Stat, mkdirat, renameat_with, statat, unlinkat},
    io::Errno,
};

use super::Done;
use crate::{
    change::{Change, Kind, PERMISSIONS, Side},
    contents,
    record::Print,
};

/// The folder that a path is in, without following a link, and its name there.
pub fn parent(root: BorrowedFd<'_>, path: &[u8]) -> Outcome<(OwnedFd, CString)> {
    let (folder, name) =
        path.iter().rposition(|&b| b == b'/').map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
    let name = CString::new(name).during("a name")?;
    let folder = contents::open_folder(root, folder).map_err(|e| not_there(path, e))?;
    Ok((folder, name))
}

fn not_there(path: &[u8], e: Errno) -> Fault {
    let path = String::from_utf8_lossy(path);
    Fault::new("conflict", format!("the folder of {path} cannot be opened: {e}")).hint("look at it with diff again")
}

pub fn folder(layer: BorrowedFd<'_>, host: BorrowedFd<'_>, change: &Change, privileged: bool) -> Outcome<Done> {
    let Ok((at, name)) = parent(host, &change.path) else { return Ok(Done::Conflict("its folder is not there")) };
    let mode = change.new.as_ref().map_or(0o755, Side::mode);
    // It may be gone from a sandbox that runs; then so is what was in it.
    if contents::open_folder(layer, &change.path).is_err() {
        return Ok(Done::Nothing);
    }
    match mkdirat(&at, name.as_c_str(), Mode::from_raw_mode(mode & PERMISSIONS)) {
        Ok(()) if privileged => transfer::own_like(at.as_fd(), &name).map(|()| Done::Applied),
        Ok(()) => Ok(Done::Applied),
        Err(Errno::EXIST) => Ok(match contents::open_folder(host, &change.path) {
            Ok(_) => Done::Nothing,
            Err(_) => Done::Conflict("something else is in its place"),
        }),
        Err(e) => Err(e).during(format_args!("make the folder {}", String::from_utf8_lossy(&change.path))),
    }
}

pub fn file(layer: BorrowedFd<'_>, host: BorrowedFd<'_>, change: &Change, privileged: bool) -> Outcome<Done> {
    let Some(new) = &change.new else { return Ok(Done::Nothing) };
    let Ok((at, name)) = parent(host, &change.path) else { return Ok(Done::Conflict("its folder is not there")) };
    let Ok((from, _)) = parent(layer, &change.path) else { return Ok(Done::Conflict("gone from the sandbox")) };
    let old = if change.kind == Kind::Modified { change.old.as_ref() } else { None };
    let temporary = temporary()?;
    let put = transfer::write_temporary(
        from.as_fd(),
        at.as_fd(),
        &name,
        &temporary,
        old.map(|old| &old.stat),
        &new.stat,
        privileged,
    )
    .and_then(|()| place(&at, &from, &temporary, &name, old, new));
    if !matches!(put, Ok(Done::Applied)) {
        // What is told is why it was not put in its place.
        let _ = unlinkat(&at, temporary.as_c_str(), AtFlags::empty());
    }
    put.map_err(|fault| {
        let message = format!("{} could not be applied: {}", String::from_utf8_lossy(&change.path), fault.message);
        Fault { message, ..fault }.hint("what was applied before it stays; the next apply goes on with the rest")
    })
}

fn place(
    at: &OwnedFd,
    from: &OwnedFd,
    temporary: &CString,
    name: &CString,
    old: Option<&Side>,
    new: &Side,
) -> Outcome<Done> {
    if !is_still(from, name, &new.stat)? {
        return Ok(Done::Conflict("the sandbox is writing to it"));
    }
    let flags = match old {
        None => RenameFlags::NOREPLACE,
        Some(old) if is_still(at, name, &old.stat)? => RenameFlags::empty(),
        Some(_) => return Ok(Done::Conflict("changed on the host just now")),
    };
    match renameat_with(at, temporary.as_c_str(), at, name.as_c_str(), flags) {
        Ok(()) => Ok(Done::Applied),
        Err(Errno::EXIST | Errno::ISDIR | Errno::NOTEMPTY) => Ok(Done::Conflict("something else is in its place")),
        Err(e) => Err(e).during("put a file in its place"),
    }
}

/// Whether it is the file that was compared.
fn is_still(folder: &OwnedFd, name: &CString, stat: &Stat) -> Outcome<bool> {
    match statat(folder, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(now) => Ok(Print::of(&now) == Print::of(stat)),
        Err(Errno::NOENT) => Ok(false),
        Err(e) => Err(e).during("look at a file"),
    }
}

/// Removes what an apply that was killed has left beside a path.
pub fn clear_beside(host: BorrowedFd<'_>, path: &[u8]) -> Outcome<()> {
    // Without its folder nothing is there.
    let Ok((at, _)) = parent(host, path) else { return Ok(()) };
    transfer::clear_leftovers(at.as_fd(), &names(at.as_fd())?)
}

fn temporary() -> Outcome<CString> {
    CString::new([transfer::TEMPORARY, std::process::id().to_string().as_bytes()].concat()).during("a name")
}
