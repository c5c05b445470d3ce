//! The first program inside gVisor. It finds the stream to the host at descriptor 0, puts everything where the guest
//! expects it, raises the walls that a process raises around itself, and becomes the guest.

use std::{convert::Infallible, ffi::CStr, os::fd::AsFd};

use ak_net::capture::{FIRST_FD, Listeners};
use rustix::{
    fs::{Mode, OFlags, open},
    process::{getpid, set_child_subreaper},
};

use super::{GUEST, PROGRAMS_INSIDE};
use crate::{
    child::Manner,
    fault::{During, Fault, Outcome},
    spec::{Network, SeccompChoice, Spec},
    sys,
    walls::{self, Filter, Kept, Walls, Writes},
};

/// What it is told. Words that the guest knows too are handed on.
const VERB: &str = "inside";
const STRICT: &str = "strict";
const LIVE: &str = "live";
const PROXIED: &str = "proxied";
const KEPT: &str = "kept";
const WARM: &str = "warm";

pub fn words(spec: &Spec, manner: Manner) -> Vec<String> {
    let said = [
        (spec.seccomp == SeccompChoice::Strict, STRICT),
        (walls::has_live_view(spec), LIVE),
        (spec.network == Network::Proxied, PROXIED),
        (manner == Manner::Kept, KEPT),
        (manner == Manner::Warm, WARM),
    ];
    let said = said.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| word);
    std::iter::once(VERB).chain(said).map(str::to_owned).collect()
}

/// Does not come back, unless something failed.
pub fn become_guest(words: &[&str]) -> Fault {
    match build(words) {
        Ok(never) => match never {},
        Err(fault) => fault,
    }
}

fn build(words: &[&str]) -> Outcome<Infallible> {
    let is_told = |word: &str| words.contains(&word);
    let stream = sys::inherited(0).and_then(sys::above_placed).during("find the stream")?;
    let has_orphans = !sys::is_granted_to_a_child(|| set_child_subreaper(Some(getpid())).is_ok()).during("fork")?;
    let path = format!("{PROGRAMS_INSIDE}/{GUEST}");
    let guest = open(path.as_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).during("open the guest")?;
    let guest = sys::above_placed(guest).during("move the guest's program")?;
    let listeners = is_told(PROXIED).then(Listeners::of_proxy).transpose().during("listen as a proxy")?;
    let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).during("open /dev/null")?;
    let null = sys::above_placed(null).during("move /dev/null")?;
    let sockets = listeners.iter().flat_map(|all| &all.sockets);
    let sockets = sockets.map(|s| s.as_ref().map(sys::above_placed).transpose()).collect::<Result<Vec<_>, _>>();
    for (number, socket) in (FIRST_FD..).zip(sockets.during("place the listeners")?) {
        if let Some(socket) = socket {
            sys::place_fd(&socket, number).during("place a listener")?;
        }
    }
    sys::place_fd(&stream, 3).during("place the stream")?;
    let choice = if is_told(STRICT) { SeccompChoice::Strict } else { SeccompChoice::Default };
    // gVisor has given this process its ids and capabilities, and its kernel has no Landlock.
    walls::raise(&Walls {
        capabilities: Kept::All,
        user: None,
        dies_with_parent: false,
        writes: Writes::ByMountsAlone,
        filter: Filter::OfSandbox { choice, is_live: is_told(LIVE) },
    })?;
    // gVisor gave us these three and nothing else. Errors are told on the last of them as long as there can be any.
    for number in 0..3 {
        sys::place_fd(&null, number).during("place a descriptor")?;
    }
    let told = [
        (true, c"gvisor"),
        (has_orphans, c"orphans"),
        (is_told(PROXIED), c"captured"),
        (is_told(KEPT), c"kept"),
        (is_told(WARM), c"warm"),
    ];
    let words: Vec<&CStr> = std::iter::once(c"ak-guest")
        .chain(told.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| word))
        .collect();
    Err(sys::exec_fd(guest.as_fd(), &words)).during("start the guest")
}
