//! A user namespace whose root really has power inside it (a host name can be set), and ids as mapped.

use rustix::thread::UnshareFlags;

use super::Context;
use crate::namespace::inside;
use crate::report::{Explain, Verdict, expect};
use crate::userns_hint;

pub fn probe(_: &Context) -> Verdict {
    inside(UnshareFlags::NEWUTS, || {
        let hint = userns_hint::hint();
        expect(
            rustix::process::getuid().is_root() && rustix::process::getgid().is_root(),
            "the maps were written, but the process is not root in its user namespace",
            &hint,
        )?;
        // AppArmor's restriction lets the namespace be made and then denies every capability in it.
        rustix::system::sethostname(b"probe").or_fault("using a capability inside a user namespace", &hint)?;
        expect(
            rustix::system::uname().nodename() == c"probe",
            "a host name set inside a user namespace did not take effect",
            &hint,
        )?;
        Ok("made one, mapped ids, was root in it".to_owned())
    })
}
