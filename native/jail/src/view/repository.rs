//! What git takes for a repository without being told so: a folder of any name that has `HEAD`, `objects` and `refs`, or
//! `HEAD` and a `commondir` that says where the others are. Git does what `config` says there, so no sandbox may make
//! such a folder, and none may take a repository apart: git would look for another one further on.

use std::{
    ffi::CStr,
    os::fd::{AsFd, BorrowedFd},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat},
    io::{Errno, read},
};

use super::{
    matcher::{Match, Matcher},
    spelling::is_same,
};

const HEAD: u8 = 1;
const OBJECTS: u8 = 2;
const REFS: u8 = 4;
const COMMON: u8 = 8;
const NAMES: [(&CStr, u8); 4] = [(c"HEAD", HEAD), (c"objects", OBJECTS), (c"refs", REFS), (c"commondir", COMMON)];
/// As much as git looks at.
const HEAD_LENGTH: usize = 255;
const REPOSITORY: &[u8] = b".git/";

/// Which of the names that make a repository are in a folder. Whatever they are: a link or a file can be replaced later.
#[derive(Debug, Default, Clone, Copy)]
pub struct Parts(u8);

const ALL: Parts = Parts(HEAD | OBJECTS | REFS | COMMON);

impl Parts {
    pub fn of(folder: BorrowedFd<'_>) -> Self {
        Self(NAMES.iter().filter(|(name, _)| is_there(folder, name)).fold(0, |all, (_, part)| all | part))
    }

    /// Under any spelling: the project's file system may take `head` for `HEAD`, and that of a layer not.
    fn spelled(folder: BorrowedFd<'_>) -> rustix::io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut parts = 0;
        for entry in Dir::new(openat(folder, c".", flags, Mode::empty())?)? {
            let entry = entry?;
            let part = Self::part(entry.file_name().to_bytes());
            if part != 0 && is_there(folder, entry.file_name()) {
                parts |= part;
            }
        }
        Ok(Self(parts))
    }

    pub fn make_repository(self) -> bool {
        let has = |parts| self.0 & parts == parts;
        has(HEAD | COMMON) || has(HEAD | OBJECTS | REFS)
    }

    fn part(name: &[u8]) -> u8 {
        NAMES.iter().find(|(part, _)| is_same(part.to_bytes(), name)).map_or(0, |(_, part)| *part)
    }
}

fn is_there(folder: BorrowedFd<'_>, name: &CStr) -> bool {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        // A deletion, as a layer has it.
        Ok(stat) => FileType::from_raw_mode(stat.st_mode) != FileType::CharacterDevice || stat.st_rdev != 0,
        Err(Errno::NOENT) => false,
        Err(_) => true,
    }
}

/// What may happen to the names in one folder.
#[derive(Debug, Default, Clone, Copy)]
pub struct Place {
    host: Parts,
    is_repository: bool,
    /// With what the sandbox has it would become one.
    would_be_repository: bool,
    /// Where in a path it goes on below a repository that is not called `.git`.
    below: Option<usize>,
}

/// What a sandbox does to a name.
pub enum Deed<'a> {
    Delete,
    /// The layer's folder, and what it has there.
    Put(BorrowedFd<'a>, FileType),
}

impl Place {
    /// Of the folder `path`, which lies in `outer`. The host may have none, and the layer may have nothing of it.
    pub fn of(
        protect: &Matcher,
        path: &[u8],
        outer: Self,
        host: Option<BorrowedFd<'_>>,
        layer: Option<BorrowedFd<'_>>,
    ) -> Self {
        if !guards(protect, REPOSITORY) {
            return Self::default();
        }
        let host = host.map_or_else(Parts::default, Parts::of);
        // One that cannot be read has every part.
        let layer = layer.map_or_else(Parts::default, |layer| Parts::spelled(layer).unwrap_or(ALL));
        let is_repository = host.make_repository();
        let inside = if path.is_empty() { Vec::new() } else { [path, b"/"].concat() };
        let is_guarded = guards(protect, &inside) || outer.below.is_some_and(|at| guards_below(protect, &inside, at));
        Self {
            host,
            is_repository,
            would_be_repository: !is_repository && !is_guarded && Parts(host.0 | layer.0).make_repository(),
            below: if is_repository && !is_guarded { Some(inside.len()) } else { outer.below },
        }
    }

    /// Whether git would be led to something of the sandbox's by this.
    pub fn refuses(&self, name: &CStr, deed: &Deed<'_>) -> bool {
        let part = Parts::part(name.to_bytes());
        if part == 0 {
            return false;
        }
        match deed {
            Deed::Delete => self.is_repository,
            Deed::Put(..) if self.would_be_repository => self.host.0 & part == 0,
            Deed::Put(layer, kind) if self.is_repository => match part {
                HEAD => *kind != FileType::RegularFile || !is_head(*layer, name),
                OBJECTS | REFS => *kind != FileType::Directory,
                _ => false,
            },
            Deed::Put(..) => false,
        }
    }

    /// A path as it would be called if the repository around it were a `.git`.
    pub fn as_in_git(&self, path: &[u8]) -> Option<Vec<u8>> {
        self.below.and_then(|at| path.get(at..)).map(as_in_git)
    }
}

/// Whether the rules say what is protected in a folder, should it be a repository.
pub fn guards(protect: &Matcher, folder: &[u8]) -> bool {
    matches!(protect.matches(folder, b"config"), Match::Yes)
}

/// A path in a repository as it would be called if that were a `.git`.
pub fn as_in_git(path: &[u8]) -> Vec<u8> {
    [REPOSITORY, path].concat()
}

fn guards_below(protect: &Matcher, folder: &[u8], at: usize) -> bool {
    folder.get(at..).is_some_and(|rest| guards(protect, &as_in_git(rest)))
}

/// Whether git would take a file for a `HEAD`.
fn is_head(folder: BorrowedFd<'_>, name: &CStr) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut text = [0; HEAD_LENGTH];
    let Ok(n) = openat(folder, name, flags, Mode::empty()).and_then(|file| read(file.as_fd(), &mut text[..])) else {
        return false;
    };
    let text = &text[..n];
    let is_id = |digits: usize| text.get(..digits).is_some_and(|id| id.iter().all(u8::is_ascii_hexdigit));
    match text.strip_prefix(b"ref:") {
        Some(name) => name.trim_ascii_start().starts_with(b"refs/"),
        None => is_id(40),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use rustix::fd::OwnedFd;

    use super::*;

    fn open(path: &Path) -> OwnedFd {
        rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("open")
    }

    fn folder(root: &Path, names: &[&str]) -> OwnedFd {
        fs::create_dir_all(root).expect("make");
        for name in names {
            fs::write(root.join(name), "ref: refs/heads/main\n").expect("write");
        }
        open(root)
    }

    fn protect() -> Matcher {
        Matcher::of(&["**/.git/config".to_owned(), "**/.git/modules/**/config".to_owned()])
    }

    struct Scratch(std::path::PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("ak-repository-{name}-{}", std::process::id())))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("remove");
        }
    }

    #[test]
    fn no_folder_becomes_a_repository_whichever_part_comes_last() {
        let scratch = Scratch::new("becomes");
        for (i, (host, layer)) in [
            (&[][..], &["HEAD", "objects", "refs"][..]),
            (&["HEAD"], &["objects", "refs"]),
            (&["objects", "refs", "config"], &["HEAD"]),
            (&[], &["HEAD", "commondir"]),
            (&["HEAD", "refs"], &["Objects"]),
            (&[], &["head", "OBJECTS", "refs."]),
        ]
        .into_iter()
        .enumerate()
        {
            let host = folder(&scratch.0.join(format!("host{i}")), host);
            let upper = folder(&scratch.0.join(format!("layer{i}")), layer);
            let at =
                |path: &[u8]| Place::of(&protect(), path, Place::default(), Some(host.as_fd()), Some(upper.as_fd()));
            let put = Deed::Put(upper.as_fd(), FileType::RegularFile);
            for name in layer {
                let name = std::ffi::CString::new(*name).expect("a name");
                assert!(at(b"sub").refuses(&name, &put) && at(b"").refuses(&name, &put), "{i} {name:?}");
                assert!(!at(b"a/.git").refuses(&name, &put) && !at(b".git/modules/x").refuses(&name, &put));
            }
            assert!(!at(b"sub").refuses(c"README", &put));
        }
    }

    #[test]
    fn a_repository_stays_one() {
        let scratch = Scratch::new("stays");
        let host = folder(&scratch.0.join("host"), &["HEAD", "objects", "refs"]);
        let upper = folder(&scratch.0.join("layer"), &["HEAD"]);
        let place = Place::of(&protect(), b".git", Place::default(), Some(host.as_fd()), Some(upper.as_fd()));
        for name in [c"HEAD", c"objects", c"refs"] {
            assert!(place.refuses(name, &Deed::Delete), "{name:?}");
            assert!(place.refuses(name, &Deed::Put(upper.as_fd(), FileType::Symlink)), "{name:?}");
        }
        let head = Deed::Put(upper.as_fd(), FileType::RegularFile);
        assert!(!place.refuses(c"HEAD", &head) && !place.refuses(c"index", &Deed::Delete));
        for (text, is_one) in [("", false), ("main", false), ("ref: x", false), (&"a".repeat(40), true)] {
            fs::write(scratch.0.join("layer/HEAD"), text).expect("write");
            assert_eq!(!place.refuses(c"HEAD", &head), is_one, "{text}");
        }
    }

    #[test]
    fn a_repository_of_another_name_is_protected_like_a_git_folder() {
        let scratch = Scratch::new("bare");
        let host = folder(&scratch.0.join("host"), &["HEAD", "objects", "refs"]);
        let bare = Place::of(&protect(), b"a.bare", Place::default(), Some(host.as_fd()), None);
        assert_eq!(bare.as_in_git(b"a.bare/config").as_deref(), Some(&b".git/config"[..]));
        let inner = Place::of(&protect(), b"a.bare/modules/x", bare, Some(host.as_fd()), None);
        assert_eq!(inner.as_in_git(b"a.bare/modules/x/config").as_deref(), Some(&b".git/modules/x/config"[..]));
        let named = Place::of(&protect(), b".git", Place::default(), Some(host.as_fd()), None);
        assert_eq!(named.as_in_git(b".git/config"), None);
    }
}
