//! Synthetic addresses: each name that a program asked for has one of each
//! family, the same for as long as it is used. Bounded; what has not been used
//! longest goes first, and an address with a connection never.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ak_net::capture::address::SYNTHETIC_INDEXES;

const MAX_NAMES: usize = 4096;
/// How long an address stands for its name after the last query or connection. Programs keep addresses much longer than
/// the TTL.
const KEPT_FOR: Duration = Duration::from_secs(3600);

struct Entry {
    name: String,
    used: Instant,
    connections: u32,
}

#[derive(Default)]
pub struct Names {
    by_index: BTreeMap<u32, Entry>,
    by_name: BTreeMap<String, u32>,
    /// Those without a connection, the longest unused first.
    idle: BTreeSet<(Instant, u32)>,
    /// Every address is used before one is used again.
    last: Option<u32>,
}

impl Names {
    /// The index of a name's addresses; none when every one has a connection.
    pub fn assign(&mut self, name: &str, now: Instant) -> Option<u32> {
        if let Some(index) = self.by_name.get(name).copied() {
            self.change(index, now, |_| {});
            return Some(index);
        }
        if self.by_index.len() >= MAX_NAMES {
            let (_, oldest) = self.idle.first().copied()?;
            self.forget(oldest);
        }
        let index = self.free_index();
        self.by_index.insert(index, Entry { name: name.to_owned(), used: now, connections: 0 });
        self.by_name.insert(name.to_owned(), index);
        self.idle.insert((now, index));
        Some(index)
    }

    pub fn name(&self, index: u32) -> Option<&str> {
        self.by_index.get(&index).map(|entry| entry.name.as_str())
    }

    /// A connection to the address begins.
    pub fn connect(&mut self, index: u32, now: Instant) -> Option<&str> {
        self.change(index, now, |entry| entry.connections += 1);
        self.name(index)
    }

    pub fn disconnect(&mut self, index: u32, now: Instant) {
        self.change(index, now, |entry| entry.connections -= 1);
    }

    /// Forgets names without use for that long.
    pub fn expire(&mut self, now: Instant) {
        while let Some((used, index)) = self.idle.first().copied()
            && now.saturating_duration_since(used) >= KEPT_FOR
        {
            self.forget(index);
        }
    }

    fn change(&mut self, index: u32, now: Instant, change: impl FnOnce(&mut Entry)) {
        let Some(entry) = self.by_index.get_mut(&index) else { return };
        self.idle.remove(&(entry.used, index));
        entry.used = now;
        change(entry);
        if entry.connections == 0 {
            self.idle.insert((now, index));
        }
    }

    fn forget(&mut self, index: u32) {
        if let Some(entry) = self.by_index.remove(&index) {
            self.idle.remove(&(entry.used, index));
            self.by_name.remove(&entry.name);
        }
    }

    /// There are many more addresses than names, so the search is short.
    fn free_index(&mut self) -> u32 {
        let mut next = self.last.map_or(SYNTHETIC_INDEXES.start, |last| last + 1);
        loop {
            if !SYNTHETIC_INDEXES.contains(&next) {
                next = SYNTHETIC_INDEXES.start;
            }
            if !self.by_index.contains_key(&next) {
                self.last = Some(next);
                return next;
            }
            next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_address_and_no_two_share_one() {
        let (mut names, now) = (Names::default(), Instant::now());
        let first = names.assign("a.example", now).expect("an address");
        let second = names.assign("b.example", now).expect("an address");
        assert_ne!(first, second);
        assert_eq!(names.assign("a.example", now), Some(first));
        assert_eq!(names.name(second), Some("b.example"));
    }

    #[test]
    fn the_longest_unused_goes_first_and_one_with_a_connection_never() {
        let (mut names, start) = (Names::default(), Instant::now());
        let held = names.assign("held.example", start).expect("an address");
        let idle = names.assign("idle.example", start).expect("an address");
        assert_eq!(names.connect(held, start), Some("held.example"));
        for number in 0..2 * MAX_NAMES {
            let now = start + Duration::from_millis(number as u64 + 1);
            names.assign(&format!("{number}.example"), now).expect("an address");
        }
        assert_eq!(names.by_index.len(), MAX_NAMES);
        assert_eq!(names.by_name.len(), MAX_NAMES);
        assert_eq!(names.name(held), Some("held.example"));
        assert_eq!(names.name(idle), None);
    }

    #[test]
    fn an_address_is_used_again_only_after_all_others() {
        let (mut names, now) = (Names::default(), Instant::now());
        let first = names.assign("first.example", now).expect("an address");
        let held = names.assign("held.example", now).expect("an address");
        names.connect(held, now);
        let later = now + Duration::from_secs(1);
        let mut seen_again = 0;
        for number in 0..SYNTHETIC_INDEXES.len() + 10 {
            let index = names.assign(&format!("{number}.example"), later).expect("an address");
            assert_ne!(index, held);
            seen_again += usize::from(index == first);
            assert!(seen_again == 0 || number >= SYNTHETIC_INDEXES.len() - 2);
        }
        assert_eq!(seen_again, 1);
    }

    #[test]
    fn an_address_expires_unless_it_has_a_connection() {
        let (mut names, start) = (Names::default(), Instant::now());
        let idle = names.assign("idle.example", start).expect("an address");
        let held = names.assign("held.example", start).expect("an address");
        names.connect(held, start);
        names.expire(start + KEPT_FOR);
        assert_eq!((names.name(idle), names.name(held)), (None, Some("held.example")));
        names.disconnect(held, start + KEPT_FOR);
        names.expire(start + 2 * KEPT_FOR);
        assert_eq!(names.name(held), None);
        assert!(names.by_name.is_empty());
    }

    #[test]
    fn when_every_address_has_a_connection_there_is_none_left() {
        let (mut names, now) = (Names::default(), Instant::now());
        for number in 0..MAX_NAMES {
            let index = names.assign(&format!("{number}.example"), now).expect("an address");
            names.connect(index, now);
        }
        assert_eq!(names.assign("one-more.example", now), None);
    }
}
