//! Something gone from the project.

use std::os::fd::BorrowedFd;

use ak_jail::fault::{During, Outcome};
use rustix::{
    fs::{AtFlags, unlinkat},
    io::Errno,
};

use super::{Done, links::OwnChanges, put};
use crate::{
    change::{Node, Side},
    contents,
};

pub fn delete(host: BorrowedFd<'_>, path: &[u8], old: Option<&Side>, own: &mut OwnChanges) -> Outcome<Done> {
    let Some(old) = old else { return Ok(Done::Nothing) };
    // Without its directory it is gone as well.
    let Ok((at, name)) = put::parent(host, path) else { return Ok(Done::Nothing) };
    if old.node == Node::Directory {
        return match unlinkat(&at, name.as_c_str(), AtFlags::REMOVEDIR) {
            Ok(()) => Ok(Done::Applied),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(Done::Nothing),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(Done::NotEmpty),
            Err(e) => Err(e).during("delete a directory"),
        };
    }
    let Some(now) = contents::stat(std::os::fd::AsFd::as_fd(&at), &name)? else { return Ok(Done::Nothing) };
    if !own.is_as_seen(&now, &old.stat) {
        return Ok(Done::Conflict("changed on the host just now"));
    }
    own.taking_name(&at, &name, Some(&now), || match unlinkat(&at, name.as_c_str(), AtFlags::empty()) {
        Ok(()) => Ok(Done::Applied),
        Err(Errno::NOENT) => Ok(Done::Nothing),
        Err(Errno::ISDIR) => Ok(Done::Conflict("changed on the host just now")),
        Err(e) => Err(e).during("delete a file"),
    })
}
