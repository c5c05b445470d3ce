//! Repositories that the host changed as well. `HEAD`, the index and references mean something only together: with the
//! sandbox's branch and the host's index, the next commit of the user's would undo what either has committed. So none of
//! them is carried over where both changed one, and the sandbox's are set aside.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, Dir, FileType, OFlags, fstat, statat};

use super::{Carrier, DEEPEST};
use crate::{
    fault::{During, Outcome},
    git::{
        directories::{inside, repository_of},
        work_trees::{LARGEST_INDEX, file, open},
    },
};

const TOGETHER: [&[u8]; 4] = [b"HEAD", b"index", b"packed-refs", b"refs"];
const LOOK: &str = "look at a repository";

impl Carrier<'_> {
    /// Of a repository outside of the project, nothing is set aside: `LinkedRepository::refusal`.
    pub(super) fn contested_in(&self, upper: BorrowedFd<'_>, project: BorrowedFd<'_>) -> Outcome<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        if self.survey.linked.is_some() {
            return Ok(found);
        }
        for git in &self.survey.repositories {
            let mut both = false;
            for name in TOGETHER {
                both = both || self.changed_by_both(upper, project, &[git, name].concat())?;
            }
            if both {
                found.push(repository_of(git, self.survey).to_vec());
            }
        }
        Ok(found)
    }

    fn changed_by_both(&self, upper: BorrowedFd<'_>, project: BorrowedFd<'_>, path: &[u8]) -> Outcome<bool> {
        let entry = |root| open(root, path, OFlags::PATH | OFlags::NOFOLLOW).during(LOOK);
        let (Some(new), Some(old)) = (entry(upper)?, entry(project)?) else { return Ok(false) };
        let (new, old) = (fstat(&new).during(LOOK)?, fstat(&old).during(LOOK)?);
        if FileType::from_raw_mode(new.st_mode) != FileType::Directory {
            let read = |root| file(root, path, LARGEST_INDEX).during(LOOK);
            let is_other = || Ok(read(upper)? != read(project)?);
            return Ok(FileType::from_raw_mode(old.st_mode) != FileType::Directory
                && self.changed_on_host(&old)
                && is_other()?);
        }
        let directory = open(upper, path, OFlags::RDONLY | OFlags::DIRECTORY).during(LOOK)?;
        let Some(directory) = directory.filter(|_| path.iter().filter(|byte| **byte == b'/').count() <= DEEPEST) else {
            return Ok(false);
        };
        for entry in Dir::read_from(&directory).during(LOOK)? {
            let entry = entry.during(LOOK)?;
            let name = entry.file_name();
            // One that cannot be looked at any more is no change.
            let is_there = || statat(directory.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
            if !matches!(name.to_bytes(), b"." | b"..")
                && is_there()
                && self.changed_by_both(upper, project, &[path, b"/", name.to_bytes()].concat())?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a path stays as the host has it because of that. Objects are only added, and so are new references.
    pub(super) fn is_contested(&self, path: &[u8], is_on_host: bool) -> bool {
        let Some((own, within)) = inside(path, &self.survey.repositories) else { return false };
        let is_in = |directory: &[u8]| within.starts_with(directory);
        self.contested.iter().any(|git| git == repository_of(own, self.survey))
            && !(is_in(b"objects/") || is_in(b"modules/") || within == b"objects" || within == b"modules")
            && (is_on_host || !(is_in(b"refs/") || is_in(b"logs/refs/")))
    }
}
