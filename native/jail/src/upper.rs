//! The writable layer of an overlay: in the scratch filesystem, for as long as a temporary sandbox lives, or on the disk
//! of a kept one, where it is found again at the next start.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{Mode, OFlags, Stat, mkdir, open},
    io::Errno,
    mount::fsconfig_set_string,
};

use crate::{
    fault::{During, Outcome},
    view::mask,
};

#[derive(Clone, Copy)]
pub enum Uppers {
    Fresh,
    /// In this folder of the scratch filesystem, which is the current one.
    Kept(&'static str),
}

impl Uppers {
    /// Gives the overlay its writable layer, which looks like `like` when it is new.
    pub fn add_to(self, overlay: &OwnedFd, upper: &str, work: &str, like: &Stat) -> Outcome<OwnedFd> {
        let (upper, work) = (self.path(upper), self.path(work));
        let is_new = self.make(&upper)?;
        let top = open(Path::new(&upper), OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .during("open the writable layer")?;
        if is_new {
            mask::resemble(top.as_fd(), &c".".to_owned(), like)?;
        }
        self.make(&work)?;
        fsconfig_set_string(overlay, "upperdir", upper.as_str()).during("overlay's writable layer")?;
        fsconfig_set_string(overlay, "workdir", work.as_str()).during("overlay's work folder")?;
        Ok(top)
    }

    fn path(self, name: &str) -> String {
        match self {
            Self::Fresh => name.to_owned(),
            Self::Kept(folder) => format!("{folder}/{name}"),
        }
    }

    /// False if it was there.
    fn make(self, path: &str) -> Outcome<bool> {
        match mkdir(path, Mode::from_raw_mode(0o755)) {
            Err(Errno::EXIST) if matches!(self, Self::Kept(_)) => Ok(false),
            made => made.during("make a writable layer").map(|()| true),
        }
    }
}
