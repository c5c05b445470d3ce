//! Who a command runs as, by the sandbox's own /etc/passwd and /etc/group. Both
//! are the sandbox's to write: they are read without blocking, up to a limit.

use std::{borrow::Cow, ffi::CStr, sync::OnceLock};

use rustix::fs::stat;
use rustix::process::{getegid, geteuid};
use rustix::thread::{Gid, Uid};

use crate::channel::Refusal;
use crate::files::read_small;

const ACCOUNTS: &CStr = c"/etc/passwd";
const MAX_FILE: usize = 1 << 20;

#[derive(Debug, PartialEq, Eq)]
pub struct Identity {
    pub uid: Uid,
    pub gid: Gid,
    pub groups: Vec<Gid>,
}

/// The identity of a file (device and inode), whatever its name leads to later.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark([u64; 7]);

struct Ahead {
    mark: Mark,
    read: Vec<u8>,
    own_home: String,
}

static READ_AHEAD: OnceLock<Ahead> = OnceLock::new();

/// Reads /etc/passwd and /etc/group in advance: the first lookup finds them here if they have not changed.
pub fn look_ahead() {
    if let (Some(mark), Ok(read)) = (mark_of_accounts(), read_small(ACCOUNTS, MAX_FILE)) {
        let own_home = home_of(&read, geteuid().as_raw());
        let _ = READ_AHEAD.set(Ahead { mark, read, own_home });
    }
}

fn still_ahead() -> Option<&'static Ahead> {
    READ_AHEAD.get().filter(|ahead| mark_of_accounts() == Some(ahead.mark))
}

fn accounts() -> Cow<'static, [u8]> {
    match still_ahead() {
        Some(ahead) => Cow::Borrowed(&ahead.read),
        None => Cow::Owned(read_small(ACCOUNTS, MAX_FILE).unwrap_or_default()),
    }
}

fn mark_of_accounts() -> Option<Mark> {
    let found = stat(ACCOUNTS).ok()?;
    let times = [found.st_mtime, found.st_mtime_nsec as _, found.st_ctime, found.st_ctime_nsec as _];
    let [a, b, c, d] = times.map(|time: i64| time as u64);
    Some(Mark([found.st_dev as u64, found.st_ino as u64, found.st_size as u64, a, b, c, d]))
}

struct Account {
    name: Vec<u8>,
    uid: u32,
    gid: u32,
}

/// The identity for `user`; `None` when it is the guest's own and nothing is to
/// be changed.
pub fn resolve(user: &str) -> Result<Option<Identity>, Refusal> {
    let passwd = accounts();
    let group = read_small(c"/etc/group", MAX_FILE).unwrap_or_default();
    let identity = look_up(user, &passwd, &group)
        .ok_or_else(|| Refusal::new("bad_user", "no such user or group in the sandbox"))?;
    let own = identity.uid == geteuid() && identity.gid == getegid();
    Ok((!own).then_some(identity))
}

/// The home of a command's user by /etc/passwd; the root directory for one that has no account.
pub fn home(identity: Option<&Identity>) -> Cow<'static, str> {
    match identity {
        None => still_ahead().map_or_else(
            || home_of(&accounts(), geteuid().as_raw()).into(),
            |ahead| Cow::Borrowed(ahead.own_home.as_str()),
        ),
        Some(identity) => home_of(&accounts(), identity.uid.as_raw()).into(),
    }
}

fn home_of(passwd: &[u8], uid: u32) -> String {
    home_in(passwd, uid).unwrap_or_else(|| "/".to_owned())
}

fn home_in(passwd: &[u8], uid: u32) -> Option<String> {
    records(passwd).find_map(|fields| match fields.as_slice() {
        [_, _, found, _, _, home, ..] if parse_id(found) == Some(uid) && home.starts_with(b"/") => {
            String::from_utf8(home.to_vec()).ok()
        }
        _ => None,
    })
}

fn look_up(user: &str, passwd: &[u8], group: &[u8]) -> Option<Identity> {
    let (who, wanted_group) = match user.split_once(':') {
        Some((who, wanted)) => (who, Some(wanted)),
        None => (user, None),
    };
    let account = find_account(who, passwd);
    let uid = match &account {
        Some(account) => account.uid,
        None => parse_id(who.as_bytes())?,
    };
    let (gid, groups) = match wanted_group {
        Some(wanted) => {
            let gid = find_group(wanted, group).or_else(|| parse_id(wanted.as_bytes()))?;
            (gid, vec![gid])
        }
        // A bare number that has no account gets the group of the same number.
        None => match &account {
            Some(account) => (account.gid, groups_of(account, group)),
            None => (uid, vec![uid]),
        },
    };
    Some(Identity {
        uid: Uid::from_raw(uid),
        gid: Gid::from_raw(gid),
        groups: groups.into_iter().map(Gid::from_raw).collect(),
    })
}

fn records(file: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
    file.split(|byte| *byte == b'\n').map(|line| line.split(|byte| *byte == b':').collect())
}

/// By name first, then by number.
fn find_account(who: &str, passwd: &[u8]) -> Option<Account> {
    let by = |matches: &dyn Fn(&Account) -> bool| {
        records(passwd)
            .filter_map(|fields| {
                let [name, _, uid, gid, ..] = fields.as_slice() else {
                    return None;
                };
                Some(Account { name: name.to_vec(), uid: parse_id(uid)?, gid: parse_id(gid)? })
            })
            .find(|account| matches(account))
    };
    by(&|account| account.name == who.as_bytes()).or_else(|| {
        let uid = parse_id(who.as_bytes())?;
        by(&|account| account.uid == uid)
    })
}

fn find_group(name: &str, group: &[u8]) -> Option<u32> {
    records(group).find_map(|fields| match fields.as_slice() {
        [found, _, gid, ..] if *found == name.as_bytes() => parse_id(gid),
        _ => None,
    })
}

fn groups_of(account: &Account, group: &[u8]) -> Vec<u32> {
    let mut groups = vec![account.gid];
    for fields in records(group) {
        let [_, _, gid, members] = fields.as_slice() else {
            continue;
        };
        let is_member = members.split(|byte| *byte == b',').any(|member| member == account.name);
        match parse_id(gid) {
            Some(gid) if is_member && !groups.contains(&gid) => groups.push(gid),
            _ => {}
        }
    }
    groups
}

/// Digits only; the highest number means "no change" to the kernel.
fn parse_id(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let id = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (id != u32::MAX).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &[u8] = b"root:x:0:0:root:/root:/bin/sh\nbroken\ndev:x:1000:100::/home/dev:\n";
    const GROUP: &[u8] = b"root:x:0:\nusers:x:100:dev\nwheel:x:10:root,dev\nempty:x:11:\n";

    fn ids(user: &str) -> Option<(u32, u32, Vec<u32>)> {
        let found = look_up(user, PASSWD, GROUP)?;
        let groups = found.groups.iter().map(|gid| gid.as_raw()).collect();
        Some((found.uid.as_raw(), found.gid.as_raw(), groups))
    }

    #[test]
    fn a_name_brings_its_group_and_its_further_groups() {
        assert_eq!(ids("dev"), Some((1000, 100, vec![100, 10])));
        assert_eq!(ids("1000"), ids("dev"));
    }

    #[test]
    fn a_named_group_is_the_only_group() {
        assert_eq!(ids("dev:wheel"), Some((1000, 10, vec![10])));
        assert_eq!(ids("1000:5000"), Some((1000, 5000, vec![5000])));
    }

    #[test]
    fn a_number_without_an_account_stands_for_itself() {
        assert_eq!(ids("4242"), Some((4242, 4242, vec![4242])));
    }

    #[test]
    fn homes_are_found_by_number() {
        assert_eq!(home_in(PASSWD, 0).as_deref(), Some("/root"));
        assert_eq!(home_in(PASSWD, 1000).as_deref(), Some("/home/dev"));
        assert_eq!(home_in(PASSWD, 7), None);
    }

    #[test]
    fn what_is_not_known_is_nobody() {
        for user in ["", "nobody", "dev:nogroup", "-1", "4294967295", "1000:", ":0", "broken"] {
            assert_eq!(ids(user), None, "{user}");
        }
    }
}
