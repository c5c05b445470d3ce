//! Connects a host to the guest: the port itself is handed over, so no process copies bytes.

use std::{fs, os::fd::AsFd, path::Path};

use ak_jail::{
    fault::{During, Fault, Outcome},
    sys::set_ids,
};
use serde_json::json;

use super::orders::Ready;
use crate::stream;

/// Waits until the port is free, then for the host; returns when the guest has the port.
pub fn let_in(guest: libc::pid_t, room: Ready<'_>) -> Outcome<()> {
    let mut port = stream::open_when_free(Path::new(stream::PORT))?;
    room.tell()?;
    stream::say(&mut port, &json!({ "said": "here" })).during("greet the host")?;
    become_user_of(guest)?;
    ak_wire::host_socket::named::send_connection(port.as_fd()).during("connect to the guest's socket")
}

/// The guest accepts connections of its own user only.
pub fn become_user_of(guest: libc::pid_t) -> Outcome<()> {
    let status = fs::read_to_string(format!("/proc/{guest}/status")).during("look at the guest")?;
    let (uid, gid) = (effective(&status, "Uid:")?, effective(&status, "Gid:")?);
    set_ids(uid, gid, true).during("become the guest's user")
}

fn effective(status: &str, name: &str) -> Outcome<u32> {
    let ids = status.lines().find_map(|line| line.strip_prefix(name));
    let id = ids.and_then(|ids| ids.split_ascii_whitespace().nth(1)).and_then(|id| id.parse().ok());
    id.ok_or_else(|| Fault::new("internal", "the guest has no user"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_id_is_the_second() {
        let status = "Name:\tak-guest\nUid:\t1000\t1001\t1002\t1003\nGid:\t0\t0\t0\t0\n";
        assert_eq!(effective(status, "Uid:").expect("an id"), 1001);
        assert!(effective("Name:\tx\n", "Gid:").is_err());
    }
}
