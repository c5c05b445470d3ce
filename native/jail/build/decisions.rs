//! What a filter decides about each number that a call can have.

use crate::lists::{Architecture, Calls, Filter};

/// The newest call that the lists were written for (mseal). What a newer kernel adds does not exist inside.
pub const NEWEST_KNOWN: u32 = 462;

/// Flags that make namespaces: mount, cgroup, uts, ipc, user, pid, net; and for unshare time (clone has the exit signal
/// in that place).
pub const NEW_NAMESPACES: u32 = 0x7E02_0000;
pub const NEW_TIME: u32 = 0x80;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Allowed,
    Denied,
    /// As on a kernel that has no such call.
    Absent,
    /// Denied if the first argument has one of these bits.
    ByFlags(u32),
    ByFamily,
    /// As seccompiler's part says.
    ByRules,
}

/// Numbers from the first on, up to where the next range starts.
pub type Range = (u32, Decision);

/// All numbers, in order; neighbours that are decided alike are one range.
pub fn ranges(filter: &Filter, architecture: &Architecture, calls: &Calls) -> Vec<Range> {
    let unnamed = if calls.known.is_some() { Decision::Absent } else { Decision::Allowed };
    let mut all = vec![unnamed; NEWEST_KNOWN as usize + 1];
    let mut decide = |numbers: &[u32], decision| numbers.iter().for_each(|&nr| all[nr as usize] = decision);
    decide(calls.known.as_deref().unwrap_or_default(), Decision::Allowed);
    decide(&calls.judged, Decision::ByRules);
    decide(&calls.denied, Decision::Denied);
    let sockets = [("socket", Decision::ByFamily), ("socketpair", Decision::ByFamily)];
    let namespaces =
        [("clone", Decision::ByFlags(NEW_NAMESPACES)), ("unshare", Decision::ByFlags(NEW_NAMESPACES | NEW_TIME))];
    let by_arguments = sockets.into_iter().filter(|_| filter.families);
    for (name, decision) in by_arguments.chain(namespaces.into_iter().filter(|_| !filter.namespaces)) {
        let number = architecture.number_of(name);
        let is_listed = calls.judged.contains(&number) || calls.denied.contains(&number);
        assert!(!is_listed, "{name} is decided by its arguments, and in a list of {}", filter.name);
        decide(&[number], decision);
    }
    decide(filter.absent, Decision::Absent);
    all.push(Decision::Absent);
    let mut ranges: Vec<Range> = (0..).zip(all).collect();
    ranges.dedup_by_key(|(_, decision)| *decision);
    ranges
}
