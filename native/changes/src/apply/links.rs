//! Files of the host with several names. To take one of the names away changes the file's time of change, and the others
//! would look as if the host had changed them just now.

use std::{collections::HashMap, ffi::CStr, os::fd::OwnedFd};

use ak_jail::fault::{During, Outcome};
use rustix::fs::{Mode, OFlags, Stat, fstat, openat};

use crate::record::Print;

/// By device and number: how an order has left a file.
#[derive(Default)]
pub struct OwnChanges(HashMap<(u64, u64), Print>);

impl OwnChanges {
    pub fn is_as_seen(&self, now: &Stat, seen: &Stat) -> bool {
        let same = (now.st_dev, now.st_ino) == (seen.st_dev, seen.st_ino);
        let print = Print::of(now);
        print == Print::of(seen) || same && self.0.get(&(now.st_dev, now.st_ino)) == Some(&print)
    }

    /// Does what takes a name from the file that is there.
    pub fn taking_name<T>(
        &mut self,
        at: &OwnedFd,
        name: &CStr,
        old: Option<&Stat>,
        take: impl FnOnce() -> Outcome<T>,
    ) -> Outcome<T> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |_| openat(at, name, flags, Mode::empty()).during("open a file of the project");
        let linked = old.filter(|old| old.st_nlink > 1).map(open).transpose()?;
        let taken = take()?;
        if let Some(file) = linked {
            let now = fstat(&file).during("look at a file of the project")?;
            self.0.insert((now.st_dev, now.st_ino), Print::of(&now));
        }
        Ok(taken)
    }
}
