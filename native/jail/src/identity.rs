//! Whose ids the sandbox's ids are. Sandbox root is never host root: root gives each sandbox a range of its own,
//! a user maps itself, alone or with its subordinate ids.

use std::{
    fs,
    os::fd::OwnedFd,
    process::{Command, Stdio},
};

use rustix::{
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with},
    process::{getegid, geteuid},
};

use crate::{
    fault::{During, Fault, Outcome},
    spec::{IdChoice, User},
};

pub const RANGE: u32 = 65_536;
/// Ranges lie above what systemd hands out for containers (up to 0x6FFF_FFFF) and below what it keeps for foreign
/// images (from 0x7FFE_0000).
const FIRST_RANGE: u32 = 0x7000_0000 / RANGE;
const RANGES: u32 = 0x0FFE;

/// `count` ids from `inside` on are the host's ids from `outside` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub inside: u32,
    pub outside: u32,
    pub count: u32,
}

pub enum Identity {
    /// Started by root: an own range, reserved for as long as the socket lives.
    Own {
        base: u32,
        _reserved: OwnedFd,
    },
    Subordinate {
        uids: Vec<Extent>,
        gids: Vec<Extent>,
    },
    Single {
        user: User,
    },
}

/// Whether we are root of the whole machine, and not only of a user namespace such as a rootless container's.
pub fn is_host_root() -> bool {
    let maps_all = |text: String| text.split_whitespace().eq(["0", "0", "4294967295"]);
    geteuid().is_root() && fs::read_to_string("/proc/self/uid_map").is_ok_and(maps_all)
}

impl Identity {
    pub fn choose(choice: IdChoice, user: User) -> Outcome<Self> {
        if is_host_root() {
            return reserve_range();
        }
        if choice == IdChoice::Single {
            return Ok(Self::Single { user });
        }
        let name = user_name(geteuid().as_raw());
        let sub = |file: &str, id: u32| subordinate(file, id, name.as_deref());
        match (sub("/etc/subuid", geteuid().as_raw()), sub("/etc/subgid", geteuid().as_raw())) {
            (Some(u), Some(g)) if choice == IdChoice::Range || has_tools() => Ok(Self::Subordinate {
                uids: around(user.uid, geteuid().as_raw(), u),
                gids: around(user.gid, getegid().as_raw(), g),
            }),
            _ if choice == IdChoice::Best => Ok(Self::Single { user }),
            _ => Err(Fault::new(
                "backend_unavailable",
                "this user has no subordinate ids, so a sandbox has one user only",
            )
            .hint("ask the administrator for: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 <you>")),
        }
    }

    pub fn describe(&self) -> String {
        match self {
            Self::Own { base, .. } => format!("own range of {RANGE} ids from {base}"),
            Self::Subordinate { .. } => "subordinate ids".into(),
            Self::Single { .. } => "one id, the caller's".into(),
        }
    }

    /// Whether we are root of the whole machine: only that has ranges to give.
    pub fn is_host_roots(&self) -> bool {
        matches!(self, Self::Own { .. })
    }

    pub fn has_range(&self) -> bool {
        !matches!(self, Self::Single { .. })
    }

    pub fn write_maps(&self, pid: i32) -> Outcome<()> {
        match self {
            Self::Own { base, .. } => {
                let map = [Extent { inside: 0, outside: *base, count: RANGE }];
                write_map(pid, "uid_map", &map)?;
                write_map(pid, "gid_map", &map)
            }
            Self::Single { user } => {
                fs::write(format!("/proc/{pid}/setgroups"), "deny").during("deny setgroups")?;
                let one = |inside, outside| [Extent { inside, outside, count: 1 }];
                write_map(pid, "uid_map", &one(user.uid, geteuid().as_raw()))?;
                write_map(pid, "gid_map", &one(user.gid, getegid().as_raw()))
            }
            Self::Subordinate { uids, gids } => {
                let jobs = [("newuidmap", uids), ("newgidmap", gids)].map(|(tool, map)| start_tool(tool, pid, map));
                for job in jobs {
                    let (tool, child) = job?;
                    let output = child.wait_with_output().during(tool)?;
                    if !output.status.success() {
                        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                        return Err(Fault::new("backend_unavailable", format!("{tool} refused the id map: {said}"))
                            .hint("check /etc/subuid and /etc/subgid, and that newuidmap is setuid root"));
                    }
                }
                Ok(())
            }
        }
    }
}

pub fn write_map(pid: i32, which: &str, map: &[Extent]) -> Outcome<()> {
    let text: String = map.iter().map(|e| format!("{} {} {}\n", e.inside, e.outside, e.count)).collect();
    fs::write(format!("/proc/{pid}/{which}"), text).during(format_args!("write {which}"))
}

/// A range is taken by binding an abstract socket of its name: the kernel gives it back when we die, and no file
/// is left.
fn reserve_range() -> Outcome<Identity> {
    let start = std::process::id();
    for step in 0..RANGES {
        let slot = (start + step) % RANGES;
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
            .during("reserve an id range")?;
        let name = SocketAddrUnix::new_abstract_name(format!("agentkernel-ids-{slot}").as_bytes())
            .during("reserve an id range")?;
        match bind(&socket, &name) {
            Ok(()) => {
                return Ok(Identity::Own { base: (FIRST_RANGE + slot) * RANGE, _reserved: socket });
            }
            Err(rustix::io::Errno::ADDRINUSE) => {}
            Err(e) => return Err(e).during("reserve an id range"),
        }
    }
    Err(Fault::new("resource_exhausted", format!("all {RANGES} id ranges are in use")))
}

/// Whether the programs that write maps of subordinate ids are installed.
fn has_tools() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    ["newuidmap", "newgidmap"].iter().all(|tool| std::env::split_paths(&path).any(|folder| folder.join(tool).is_file()))
}

fn start_tool(tool: &'static str, pid: i32, map: &[Extent]) -> Outcome<(&'static str, std::process::Child)> {
    let numbers = map.iter().flat_map(|e| [e.inside, e.outside, e.count]).map(|n| n.to_string());
    let child = Command::new(tool)
        .arg(pid.to_string())
        .args(numbers)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| {
            Fault::new("backend_unavailable", format!("{tool}: {e}"))
                .hint("install it (Debian and Ubuntu: apt-get install uidmap; Fedora: dnf install shadow-utils)")
        })?;
    Ok((tool, child))
}

/// The caller is `own` inside, the subordinate ids are all others.
fn around(own: u32, caller: u32, sub: (u32, u32)) -> Vec<Extent> {
    let (first, count) = sub;
    let below = own.min(count);
    let mut map = Vec::new();
    if below > 0 {
        map.push(Extent { inside: 0, outside: first, count: below });
    }
    map.push(Extent { inside: own, outside: caller, count: 1 });
    let above = (count - below).min(RANGE - 1 - own);
    if above > 0 {
        map.push(Extent { inside: own + 1, outside: first + below, count: above });
    }
    map
}

fn user_name(uid: u32) -> Option<String> {
    let passwd = fs::read_to_string("/etc/passwd").ok()?;
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

fn subordinate(file: &str, id: u32, name: Option<&str>) -> Option<(u32, u32)> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let who = fields.next()?;
        if who != id.to_string() && Some(who) != name {
            return None;
        }
        let range = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        (range.1 >= 1).then_some(range)
    })
}

/// Extents that show the files of `owner` as those of `user` and the other way round, all others unchanged.
pub fn swapped(owner: u32, user: u32, base: u32) -> Vec<Extent> {
    if owner == user || owner >= RANGE {
        let mut map = vec![Extent { inside: 0, outside: base, count: RANGE }];
        if owner >= RANGE {
            // An owner beyond the range takes the place of `user`.
            map = around_hole(user, base);
            map.push(Extent { inside: owner, outside: base + user, count: 1 });
        }
        return map;
    }
    let (low, high) = (owner.min(user), owner.max(user));
    let piece = |inside: u32, outside: u32, count: u32| Extent { inside, outside: base + outside, count };
    [
        piece(0, 0, low),
        piece(low, high, 1),
        piece(low + 1, low + 1, high - low - 1),
        piece(high, low, 1),
        piece(high + 1, high + 1, RANGE - 1 - high),
    ]
    .into_iter()
    .filter(|e| e.count > 0)
    .collect()
}

fn around_hole(hole: u32, base: u32) -> Vec<Extent> {
    [
        Extent { inside: 0, outside: base, count: hole },
        Extent { inside: hole + 1, outside: base + hole + 1, count: RANGE - 1 - hole },
    ]
    .into_iter()
    .filter(|e| e.count > 0)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(extents: &[Extent], id: u32) -> Option<u32> {
        extents.iter().find(|e| (e.inside..e.inside + e.count).contains(&id)).map(|e| e.outside + (id - e.inside))
    }

    #[test]
    fn swapping_exchanges_two_ids_and_keeps_the_rest() {
        let extents = swapped(1000, 0, 1 << 20);
        assert_eq!(map(&extents, 1000), Some(1 << 20));
        assert_eq!(map(&extents, 0), Some((1 << 20) + 1000));
        assert_eq!(map(&extents, 5), Some((1 << 20) + 5));
        assert_eq!(map(&extents, 65_535), Some((1 << 20) + 65_535));
        assert_eq!(map(&extents, 65_536), None);
    }

    #[test]
    fn every_id_of_the_range_is_mapped_once() {
        for (owner, user) in [(0, 0), (0, 1000), (1000, 0), (65_535, 0), (7, 8), (0, 65_535)] {
            let extents = swapped(owner, user, 1 << 20);
            let total: u32 = extents.iter().map(|e| e.count).sum();
            assert_eq!(total, RANGE, "{owner} {user}");
            assert_eq!(map(&extents, owner), Some((1 << 20) + user));
        }
    }

    #[test]
    fn an_owner_beyond_the_range_takes_the_users_place() {
        let extents = swapped(200_000, 0, 1 << 20);
        assert_eq!(map(&extents, 200_000), Some(1 << 20));
        assert_eq!(map(&extents, 0), None);
        assert_eq!(map(&extents, 1), Some((1 << 20) + 1));
    }

    #[test]
    fn the_caller_sits_at_the_wanted_id_among_its_subordinates() {
        let extents = around(1000, 501, (100_000, RANGE));
        assert_eq!(map(&extents, 0), Some(100_000));
        assert_eq!(map(&extents, 1000), Some(501));
        assert_eq!(map(&extents, 1001), Some(101_000));
        assert_eq!(around(0, 501, (100_000, 10))[0], Extent { inside: 0, outside: 501, count: 1 });
    }
}
