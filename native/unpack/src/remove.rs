//! Removes something with all below it, never following a link.

use std::{
    ffi::OsStr,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::ffi::OsStrExt,
    },
};

use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags, openat, unlinkat},
    io::Errno,
};

use crate::refused::Refused;

/// Removes a name. An absent one counts as removed, also where another process removes it at the same time.
pub fn remove(directory: BorrowedFd<'_>, name: &[u8]) -> Result<(), Refused> {
    let at = OsStr::from_bytes(name);
    let failed = |e: Errno| Refused::during(format!("remove {:?}", String::from_utf8_lossy(name)))(e.into());
    match unlinkat(directory, at, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR) => {}
        Err(e) => return Err(failed(e)),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inner = match openat(directory, at, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened.map_err(failed)?,
    };
    match names(inner.as_fd()) {
        Ok(children) => {
            for child in children {
                remove(inner.as_fd(), &child)?;
            }
        }
        Err(Errno::NOENT) => return Ok(()),
        Err(e) => return Err(failed(e)),
    }
    match unlinkat(directory, at, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(e) => Err(failed(e)),
    }
}

pub fn names(directory: BorrowedFd<'_>) -> rustix::io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = openat(directory, ".", flags, Mode::empty())?;
    for entry in Dir::read_from(&readable)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Barrier, thread};

    use rustix::fs::{CWD, open};

    use super::*;

    #[test]
    fn several_may_remove_the_same() {
        let directory = tempfile::tempdir().expect("make");
        let parent = open(directory.path(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).expect("open");
        for _ in 0..20 {
            for inner in 0..40 {
                fs::create_dir_all(directory.path().join(format!("x/{inner}/a/b/c"))).expect("make");
            }
            let together = Barrier::new(4);
            thread::scope(|scope| {
                let removers: Vec<_> = (0..4)
                    .map(|_| {
                        scope.spawn(|| {
                            together.wait();
                            remove(parent.as_fd(), b"x")
                        })
                    })
                    .collect();
                for remover in removers {
                    remover.join().expect("no panic").expect("removed by one of them");
                }
            });
            assert!(!directory.path().join("x").exists());
        }
        assert!(remove(CWD, b"surely not there").is_ok());
    }
}
