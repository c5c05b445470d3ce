//! What root of a sandbox may do inside it.

use super::has_live_view;
use crate::{
    fault::{During, Outcome},
    spec::{Capabilities, Spec},
    sys,
};

/// Own and change files, change ids, bind low ports.
const KEPT: [u32; 10] = [
    0,  // chown
    1,  // dac_override
    3,  // fowner
    4,  // fsetid
    5,  // kill
    6,  // setgid
    7,  // setuid
    10, // net_bind_service
    18, // sys_chroot
    SETFCAP,
];
/// Give capabilities to programs.
const SETFCAP: u32 = 31;

/// Whether root of this sandbox has the capability.
pub fn keeps(spec: &Spec, capability: u32) -> bool {
    is_kept(spec.capabilities, has_live_view(spec), capability)
}

pub fn of_sandbox(choice: Capabilities, is_live: bool) -> Vec<u32> {
    KEPT.into_iter().filter(|&capability| is_kept(choice, is_live, capability)).collect()
}

fn is_kept(choice: Capabilities, is_live: bool, capability: u32) -> bool {
    // Through a mount with mapped ids, a capability given to a file of the host's counts on the host.
    let is_lost = capability == SETFCAP && is_live;
    choice == Capabilities::Default && KEPT.contains(&capability) && !is_lost
}

/// Nothing that is executed from here on has other capabilities than these.
pub fn bound(kept: &[u32]) -> Outcome<()> {
    for capability in 0..64 {
        if !kept.contains(&capability) && !sys::drop_from_bounding_set(capability).during("drop capabilities")? {
            break;
        }
    }
    Ok(())
}
