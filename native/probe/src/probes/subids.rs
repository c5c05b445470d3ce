//! Maps a whole range of ids into a user namespace: by `newuidmap` and `newgidmap` for an ordinary user, directly for
//! root. Without it a sandbox has a single id, and files of other owners show as nobody.

use std::fs;
use std::process::Command;

use rustix::process::{Gid, Pid, Uid, getegid, geteuid};
use rustix::thread::UnshareFlags;

use super::Context;
use crate::namespace::{RANGE_LENGTH, inside_mapped, map_range};
use crate::report::{Explain, Fault, Verdict, expect};

const ASSIGN_HINT: &str = "as root run `usermod --add-subuids 100000-165535 --add-subgids 100000-165535 <user>`; until then a sandbox has a single id";
const INSTALL_HINT: &str = "install newuidmap and newgidmap (package uidmap on Debian and Ubuntu, shadow-utils on Fedora); until then a sandbox has a single id";

/// An id inside the namespace that only a mapped range makes usable.
const OTHER_ID: u32 = 1000;

pub fn probe(_: &Context) -> Verdict {
    let root = geteuid().is_root();
    let mapper = if root { map_as_root } else { map_as_user };
    inside_mapped(mapper, UnshareFlags::empty(), move || {
        let (gid, uid) = (Gid::from_raw(OTHER_ID), Uid::from_raw(OTHER_ID));
        rustix::thread::set_thread_groups(&[gid])
            .and_then(|()| rustix::thread::set_thread_res_gid(gid, gid, gid))
            .and_then(|()| rustix::thread::set_thread_res_uid(uid, uid, uid))
            .or_fault("becoming another id of the mapped range", ASSIGN_HINT)?;
        expect(
            geteuid() == uid && getegid() == gid,
            "the ids did not change to another one of the mapped range",
            ASSIGN_HINT,
        )?;
        Ok(if root {
            format!("root maps a range of {RANGE_LENGTH} ids of its own for each sandbox")
        } else {
            "newuidmap and newgidmap mapped a range, and its ids can be used".to_owned()
        })
    })
}

fn map_as_root(pid: Pid) -> Result<(), Fault> {
    map_range(pid).map_err(|error| {
        let own = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        let own: Vec<&str> = own.split_whitespace().collect();
        Fault::new(
            format!("mapping {RANGE_LENGTH} ids: {error} (own ids: {})", own.join(" ")),
            "root of this container does not own enough ids: start it without a user namespace or with a larger one",
        )
    })
}

fn map_as_user(pid: Pid) -> Result<(), Fault> {
    let uid = geteuid().as_raw();
    let uids = assigned_range("/etc/subuid", uid)?;
    let gids = assigned_range("/etc/subgid", uid)?;
    run_mapper("newuidmap", pid, uid, uids)?;
    run_mapper("newgidmap", pid, getegid().as_raw(), gids)
}

fn run_mapper(program: &str, pid: Pid, own: u32, (start, length): (u32, u32)) -> Result<(), Fault> {
    let numbers = [0, own, 1, 1, start, length].map(|number| number.to_string());
    let output = Command::new(program)
        .arg(pid.as_raw_nonzero().to_string())
        .args(numbers)
        .output()
        .or_fault(program, INSTALL_HINT)?;
    let said = String::from_utf8_lossy(&output.stderr);
    expect(output.status.success(), &format!("{program}: {}", said.trim()), ASSIGN_HINT)
}

fn assigned_range(file: &str, uid: u32) -> Result<(u32, u32), Fault> {
    let table = fs::read_to_string(file).or_fault(file, ASSIGN_HINT)?;
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    find_range(&table, uid, name_of(&users, uid))
        .ok_or_else(|| Fault::new(format!("{file} has no range of at least 1000 ids for this user"), ASSIGN_HINT))
}

fn name_of(users: &str, uid: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then_some(name)
    })
}

/// The largest range of a user, named by name or by number.
fn find_range(table: &str, uid: u32, name: Option<&str>) -> Option<(u32, u32)> {
    let ranges = table.lines().filter_map(|line| {
        let mut fields = line.trim().split(':');
        let owner = fields.next()?;
        let start = fields.next()?.parse().ok()?;
        let length = fields.next()?.parse().ok()?;
        (Some(owner) == name || owner.parse() == Ok(uid)).then_some((start, length))
    });
    ranges.filter(|(_, length)| *length >= OTHER_ID).max_by_key(|(_, length)| *length)
}

#[cfg(test)]
mod tests {
    use super::{find_range, name_of};

    #[test]
    fn a_range_is_found_by_name_and_by_number() {
        let table = "ann:100000:65536\n1001:200000:65536\n";
        assert_eq!(find_range(table, 1000, Some("ann")), Some((100_000, 65536)));
        assert_eq!(find_range(table, 1001, None), Some((200_000, 65536)));
        assert_eq!(find_range(table, 1002, Some("bob")), None);
    }

    #[test]
    fn the_largest_usable_range_wins_and_broken_lines_are_passed_over() {
        let table = "ann:1:10\nann:x:65536\nann\nann:5000:2000\nann:9000:3000\n";
        assert_eq!(find_range(table, 1000, Some("ann")), Some((9000, 3000)));
    }

    #[test]
    fn a_user_name_is_looked_up_by_its_number() {
        let users = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n";
        assert_eq!(name_of(users, 1000), Some("ann"));
        assert_eq!(name_of(users, 7), None);
    }
}
