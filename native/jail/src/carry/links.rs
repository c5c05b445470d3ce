//! Files of the host with several names. To take one of the names away changes the file's time of change, and the others
//! would look as if the host had changed them.

use std::{
    collections::HashMap,
    ffi::CStr,
    os::fd::{BorrowedFd, OwnedFd},
};

use rustix::fs::{Mode, OFlags, Stat, fstat, openat};

use super::Carrier;
use crate::fault::{During, Outcome};

/// By device and number: the time of change that the carry itself gave to a file.
#[derive(Default)]
pub(super) struct OwnChanges(HashMap<(u64, u64), (i64, u64)>);

impl Carrier<'_> {
    /// Does what takes a name from the file that is there.
    pub(super) fn taking_name<T>(
        &mut self,
        target: BorrowedFd<'_>,
        name: &CStr,
        old: Option<&Stat>,
        take: impl FnOnce(&Self) -> Outcome<T>,
    ) -> Outcome<T> {
        let linked = old.filter(|old| old.st_nlink > 1).map(|_| open(target, name)).transpose()?;
        let taken = take(self)?;
        if let Some(file) = linked {
            let now = fstat(&file).during("look at a file of the project")?;
            self.own_changes.0.insert((now.st_dev, now.st_ino), changed(&now));
        }
        Ok(taken)
    }

    pub(super) fn changed_on_host(&self, old: &Stat) -> bool {
        changed(old) >= self.since && self.own_changes.0.get(&(old.st_dev, old.st_ino)) != Some(&changed(old))
    }
}

fn open(target: BorrowedFd<'_>, name: &CStr) -> Outcome<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(target, name, flags, Mode::empty()).during("open a file of the project")
}

fn changed(stat: &Stat) -> (i64, u64) {
    (stat.st_ctime, stat.st_ctime_nsec)
}
