//! Names in a live folder that are protected and do not exist yet: held by placeholders of ours on the host for as long
//! as a sandbox could take them. Everything is reached from the project's own folder without following links.

use std::{
    ffi::OsStr,
    fs,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, FileType, FlockOperation, Gid, Mode, OFlags, ResolveFlags, Uid, chownat, flock, fstat, mkdirat, open,
        openat, openat2, unlinkat,
    },
    io::Errno,
};
use serde::{Deserialize, Serialize};

use super::{repository::Parts, survey::Hit};
use crate::{
    claim,
    fault::{During, Fault, Outcome},
};

const COMMON_FOLDER: &str = "commondir";
/// What a repository has, those first that disturb nobody: a file named HEAD makes git ask which one is meant.
const PARTS: [&str; 3] = ["refs", "objects", "HEAD"];

/// Placeholders made on the host, undone when dropped, or by a later sweep if we are killed.
/// Sandboxes on one project share them: whoever ends last removes them.
#[derive(Default)]
pub struct Placeholders {
    made: Vec<Placeholder>,
    journal: Option<Journal>,
}

/// The note of what was made.
struct Journal {
    entry: PathBuf,
    /// Held for as long as we live.
    _claim: Option<OwnedFd>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Placeholder {
    source: PathBuf,
    /// Relative to the source.
    name: PathBuf,
    /// None: a folder.
    text: Option<String>,
}

impl Placeholders {
    /// Takes the protected names at the top of a folder that are not there yet.
    pub fn make(source: &Path, protect: &[String], journal: &Path) -> Outcome<Self> {
        let names: Vec<PathBuf> = literal(protect).map(PathBuf::from).collect();
        let folders = if names.iter().any(|name| name.starts_with(".git")) { vec![PathBuf::new()] } else { Vec::new() };
        Self::take(source, &names, &folders, journal)
    }

    /// Takes the protected names in repositories that were found below it, and what would make the folder around each of
    /// them a repository.
    pub fn of_repositories(
        source: &Path,
        repositories: &[Vec<u8>],
        protect: &[String],
        journal: &Path,
    ) -> Outcome<Self> {
        let (mut names, mut folders) = (Vec::new(), Vec::new());
        for repository in repositories.iter().map(|path| Path::new(OsStr::from_bytes(path))) {
            names.extend(literal(protect).filter_map(|name| name.strip_prefix(".git/")).map(|n| repository.join(n)));
            if repository.ends_with(".git")
                && let Some(around) = repository.parent()
            {
                names.push(around.join(COMMON_FOLDER));
                folders.push(around.to_owned());
            }
        }
        Self::take(source, &names, &folders, journal)
    }

    /// `folders` are those that shall not become repositories: a part of one that they do not have is taken as well.
    fn take(source: &Path, names: &[PathBuf], folders: &[PathBuf], journal: &Path) -> Outcome<Self> {
        let no_journal = |e: std::io::Error| {
            Fault::start(format!("the folder {} cannot be written: {e}", journal.display())).hint(
                "a live mount is noted there, to be undone after a crash: set XDG_STATE_HOME to a folder of yours, or \
                 use another --workspace",
            )
        };
        fs::create_dir_all(journal).map_err(no_journal)?;
        let _turn = turn(journal).map_err(|e| no_journal(e.into()))?;
        let noted = noted(journal, None);
        let mut wanted: Vec<Placeholder> = Vec::new();
        let parts = folders.iter().filter_map(|folder| missing_part(source, folder, &noted));
        for name in names.iter().cloned().chain(parts) {
            // What is in a placeholder is closed with it.
            let is_inside = |p: &Placeholder| p.source == source && name != p.name && name.starts_with(&p.name);
            if !noted.iter().any(is_inside)
                && let Some(placeholder) = first_absent(source, &name)
                && !wanted.iter().any(|w| w.path() == placeholder.path())
            {
                wanted.push(placeholder);
            }
        }
        let others = noted.iter().filter(|p| p.source == source && fs::symlink_metadata(p.path()).is_ok());
        let shared: Vec<Placeholder> = others.cloned().collect();
        wanted.extend(shared.iter().cloned());
        let mut placeholders = Self::default();
        if wanted.is_empty() {
            return Ok(placeholders);
        }
        let entry = journal.join(claim::unique_name());
        fs::write(&entry, serde_json::to_vec(&wanted).during("write the journal")?).during("write the journal")?;
        let lock = claim::claim(&entry).during("claim the journal")?;
        let claim = Some(lock.ok_or_else(|| Fault::start("somebody else has our journal"))?);
        placeholders.journal = Some(Journal { entry, _claim: claim });
        for placeholder in wanted {
            if shared.iter().any(|s| s.path() == placeholder.path())
                || placeholder.make().during(format_args!("reserve {}", placeholder.path().display()))?
            {
                placeholders.made.push(placeholder);
            }
        }
        Ok(placeholders)
    }

    /// As paths relative to the view, for the survey.
    pub fn hits<'a>(&'a self, source: &'a Path) -> impl Iterator<Item = Hit> + 'a {
        let here = self.made.iter().filter(move |p| p.source == source);
        here.map(|p| Hit { path: p.name.as_os_str().as_bytes().to_vec(), folder: p.text.is_none() })
    }

    /// Undoes what killed supervisors left.
    pub fn sweep(journal: &Path) {
        claim::sweep(journal, |entry| {
            // One that does not parse was being written when its owner was killed, before anything was made.
            let made = fs::read(entry).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
            drop(Self { made, journal: Some(Journal { entry: entry.to_owned(), _claim: None }) });
        });
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let Some(Journal { entry, .. }) = &self.journal else { return };
        let folder = entry.parent().unwrap_or(Path::new("/"));
        // Without the lock it is still removed: two that end together could at worst both leave it to the other.
        let _turn = turn(folder);
        let needed = noted(folder, Some(entry));
        for placeholder in self.made.iter().rev().filter(|p| !needed.iter().any(|n| n.path() == p.path())) {
            placeholder.remove();
        }
        // Left behind it is only read again by the next sweep.
        let _ = fs::remove_file(entry);
    }
}

/// Whoever makes or removes placeholders does it alone.
fn turn(journal: &Path) -> rustix::io::Result<OwnedFd> {
    let folder = open(journal, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    flock(&folder, FlockOperation::LockExclusive)?;
    Ok(folder)
}

/// What all the notes in `journal` list, but for one.
fn noted(journal: &Path, but: Option<&Path>) -> Vec<Placeholder> {
    let Ok(entries) = fs::read_dir(journal) else { return Vec::new() };
    let others = entries.flatten().map(|e| e.path()).filter(|path| Some(path.as_path()) != but);
    others.filter_map(|path| serde_json::from_slice::<Vec<Placeholder>>(&fs::read(path).ok()?).ok()).flatten().collect()
}

impl Placeholder {
    fn path(&self) -> PathBuf {
        self.source.join(&self.name)
    }

    /// The folder it is in, reached from the project without following a link, and its name in there.
    fn place(&self) -> rustix::io::Result<(OwnedFd, &OsStr)> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let source = rustix::fs::open(&self.source, flags, Mode::empty())?;
        let name = self.name.file_name().ok_or(Errno::INVAL)?;
        match self.name.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            None => Ok((source, name)),
            Some(parent) => {
                let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
                Ok((openat2(&source, parent, flags, Mode::empty(), beneath)?, name))
            }
        }
    }

    /// False if somebody else made it in the meantime, or nobody can: what we may not write in a folder of another's,
    /// no sandbox of ours may.
    fn make(&self) -> rustix::io::Result<bool> {
        let (folder, name) = self.place()?;
        let made = match &self.text {
            None => mkdirat(&folder, name, Mode::from_raw_mode(0o755)),
            Some(text) => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                openat(&folder, name, flags, Mode::from_raw_mode(0o644))
                    .and_then(|file| rustix::io::write(&file, text.as_bytes()).map(drop))
            }
        };
        match made {
            Ok(()) => {}
            Err(Errno::EXIST | Errno::ROFS) => return Ok(false),
            Err(Errno::ACCESS) if fstat(&folder)?.st_uid != rustix::process::geteuid().as_raw() => return Ok(false),
            Err(e) => return Err(e),
        }
        // Root makes it for the project's owner, who may need the name meanwhile.
        let like = fstat(&folder)?;
        let ids = (Some(Uid::from_raw(like.st_uid)), Some(Gid::from_raw(like.st_gid)));
        match chownat(&folder, name, ids.0, ids.1, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(()) | Err(Errno::PERM) => Ok(true),
            Err(e) => Err(e),
        }
    }

    /// Removes it if it is still what we made; what the user put there since stays.
    fn remove(&self) {
        let Ok((folder, name)) = self.place() else { return };
        // A folder with something in it is not removed by this.
        let _ = match &self.text {
            None => unlinkat(&folder, name, AtFlags::REMOVEDIR),
            Some(text) if still_says(&folder, name, text) => unlinkat(&folder, name, AtFlags::empty()),
            Some(_) => Ok(()),
        };
    }
}

/// Whether a file holds this text, or nothing: then its maker was killed between making and filling it.
fn still_says(folder: &OwnedFd, name: &OsStr, text: &str) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = openat(folder, name, flags, Mode::empty()) else { return false };
    let is_file = fstat(&file).is_ok_and(|s| FileType::from_raw_mode(s.st_mode) == FileType::RegularFile);
    let mut held = vec![0; text.len() + 1];
    is_file && rustix::io::read(&file, &mut held).is_ok_and(|n| n == 0 || held[..n] == *text.as_bytes())
}

/// Only rules without wildcards name something to take.
fn literal(protect: &[String]) -> impl Iterator<Item = &str> {
    let names = protect.iter().map(|rule| rule.strip_prefix("**/").unwrap_or(rule));
    names.filter(|name| !name.contains(['*', '?', '[', '{']))
}

/// None where a placeholder holds a part already, and in a repository.
fn missing_part(source: &Path, folder: &Path, noted: &[Placeholder]) -> Option<PathBuf> {
    let parts = || PARTS.iter().map(|part| folder.join(part));
    if parts().any(|part| noted.iter().any(|p| p.source == source && p.name == part)) {
        return None;
    }
    parts().find(|part| fs::symlink_metadata(source.join(part)).is_err())
}

/// The first part of `name` that is not there. Its own kind only where it is the last part.
fn first_absent(source: &Path, name: &Path) -> Option<Placeholder> {
    let mut below = PathBuf::new();
    for part in name {
        below.push(part);
        match fs::symlink_metadata(source.join(&below)) {
            Err(_) => {
                let text = if below == name { file_text(source, name) } else { None };
                return Some(Placeholder { source: source.to_owned(), name: below, text });
            }
            // A file or link in the way is protected itself, and nothing is made where a link leads.
            Ok(there) if !there.is_dir() => return None,
            Ok(_) => {}
        }
    }
    None
}

/// What a placeholder file says to programs of the host that read it; None for what is usually a folder.
fn file_text(source: &Path, name: &Path) -> Option<String> {
    match name.extension().and_then(OsStr::to_str) {
        Some("json") => Some("{}\n".into()),
        Some(_) => Some(String::new()),
        None if name.ends_with("config") => Some(String::new()),
        // A file where git wants a folder, or one that names nothing.
        None if PARTS.iter().any(|part| name.ends_with(part)) => Some(String::new()),
        None if name.ends_with(COMMON_FOLDER) => Some(common_folder(source, name).into()),
        None => None,
    }
}

/// Git looks for the rest of a repository where this says. Of a repository that is the folder itself; any other folder
/// then is none, whatever else is put into it.
fn common_folder(source: &Path, name: &Path) -> &'static str {
    let folder = name.parent().map_or_else(|| source.to_owned(), |parent| source.join(parent));
    let is_repository = open(&folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .is_ok_and(|folder| Parts::of(folder.as_fd()).make_repository());
    if is_repository { ".\n" } else { "/dev/null\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_take_absent_names_and_vanish() {
        let source = std::env::temp_dir().join(format!("ak-guard-{}", std::process::id()));
        let journal = source.join("journal");
        fs::create_dir_all(source.join(".git")).expect("make");
        let protect = ["**/.git/hooks", "**/.git/config", "**/.mcp.json", "**/.claude", "**/*.policy.yaml"];
        fs::create_dir(source.join("refs")).expect("make");
        let protect: Vec<String> = protect.iter().map(|p| (*p).to_owned()).collect();
        let made = Placeholders::make(&source, &protect, &journal).expect("make placeholders");
        assert!(source.join(".git/hooks").is_dir() && source.join(".claude").is_dir());
        assert_eq!(fs::read_to_string(source.join(".mcp.json")).expect("read"), "{}\n");
        assert!(source.join("objects").is_file(), "the first part of a repository that is not there");
        assert_eq!(made.hits(&source).count(), 5);
        let again = Placeholders::make(&source, &protect, &journal).expect("make placeholders");
        assert!(!source.join("HEAD").exists(), "one part is enough for all");
        drop(again);
        fs::write(source.join(".git/config"), "the user's").expect("write");
        drop(made);
        assert!(!source.join(".claude").exists() && !source.join(".mcp.json").exists());
        assert!(!source.join("objects").exists() && source.join("refs").is_dir());
        assert!(source.join(".git/config").exists(), "what the user wrote stays");
        assert_eq!(fs::read_dir(&journal).expect("journal").count(), 0);
        fs::remove_dir_all(&source).expect("remove");
    }
}
