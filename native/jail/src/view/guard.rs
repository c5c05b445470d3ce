//! A writable, live view (`mount`): hidden files are covered, protected ones are read-only and their parents
//! pinned, and protected names that do not exist yet are taken by placeholders for as long as the sandbox lives.
//! What this cannot do (the host replacing a covered file by rename; globs of names that do not exist yet) is
//! said in the layer report.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags, ResolveFlags, flock, open, openat2},
    io::Errno,
    mount::{OpenTreeFlags, open_tree},
};
use serde::{Deserialize, Serialize};

use super::survey::{Hit, Survey};
use crate::{
    claim,
    fault::{During, Fault, Outcome},
    place,
};

/// What stands in for something hidden.
pub struct Void {
    pub file: OwnedFd,
    pub folder: OwnedFd,
}

/// Covers and pins below an attached view. `view` must be the mounted folder.
pub fn apply(view: BorrowedFd<'_>, survey: &Survey, void: &Void) -> Outcome<()> {
    let mut pins = BTreeSet::new();
    for hit in &survey.protected {
        pins.extend(hit.path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(end, _)| hit.path[..end].to_vec()));
    }
    // Parents before children: a set of paths is sorted that way.
    for path in &pins {
        bind_on_itself(view, path, false)?;
    }
    for Hit { path, .. } in &survey.protected {
        bind_on_itself(view, path, true)?;
    }
    for hit in &survey.hidden {
        let Some(at) = below(view, &hit.path)? else {
            continue;
        };
        let cover = clone_of(if hit.folder { &void.folder } else { &void.file }).during("cover a hidden file")?;
        place::readonly(&cover).during("cover a hidden file")?;
        place::attach(&cover, &at).during("cover a hidden file")?;
    }
    Ok(())
}

fn bind_on_itself(view: BorrowedFd<'_>, path: &[u8], readonly: bool) -> Outcome<()> {
    let Some(at) = below(view, path)? else {
        return Ok(());
    };
    let tree = clone_of(&at).during("protect a path")?;
    if readonly {
        place::readonly(&tree).during("protect a path")?;
    }
    place::attach(&tree, &at).during("protect a path")
}

fn clone_of(at: &OwnedFd) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    open_tree(at, "", flags | OpenTreeFlags::AT_EMPTY_PATH | OpenTreeFlags::AT_RECURSIVE)
}

/// A path of the view; None if it is gone by now or is a link (which is harmless: it leads nowhere outside).
fn below(view: BorrowedFd<'_>, path: &[u8]) -> Outcome<Option<OwnedFd>> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat2(
        view,
        OsStr::from_bytes(path),
        flags,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
    ) {
        Ok(fd) => Ok(Some(fd)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(e) => Err(e).during("find a path to guard"),
    }
}

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
    path: PathBuf,
    /// None: a folder.
    text: Option<String>,
}

impl Placeholders {
    /// Takes the protected names that are not there yet. Only rules without wildcards name something to take.
    pub fn make(source: &Path, protect: &[String], journal: &Path) -> Outcome<Self> {
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
        for rule in protect {
            let name = rule.strip_prefix("**/").unwrap_or(rule);
            if name.contains(['*', '?', '[', '{']) {
                continue;
            }
            if let Some(placeholder) = first_absent(source, Path::new(name))
                && !wanted.iter().any(|w| w.path == placeholder.path)
            {
                wanted.push(placeholder);
            }
        }
        let others = noted.iter().filter(|p| p.path.starts_with(source) && fs::symlink_metadata(&p.path).is_ok());
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
            if shared.iter().any(|s| s.path == placeholder.path)
                || placeholder.make().during(format_args!("reserve {}", placeholder.path.display()))?
            {
                placeholders.made.push(placeholder);
            }
        }
        Ok(placeholders)
    }

    /// As paths relative to the view, for the survey.
    pub fn hits<'a>(&'a self, source: &'a Path) -> impl Iterator<Item = Hit> + 'a {
        self.made.iter().filter_map(move |p| {
            let path = p.path.strip_prefix(source).ok()?;
            Some(Hit { path: path.as_os_str().as_bytes().to_vec(), folder: p.text.is_none() })
        })
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
        for placeholder in self.made.iter().rev().filter(|p| !needed.iter().any(|n| n.path == p.path)) {
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
    /// False if somebody else made it in the meantime.
    fn make(&self) -> std::io::Result<bool> {
        let made = match &self.text {
            None => fs::create_dir(&self.path),
            Some(text) => {
                fs::File::create_new(&self.path).and_then(|mut f| std::io::Write::write_all(&mut f, text.as_bytes()))
            }
        };
        match made {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Removes it if it is still what we made; what the user put there since stays.
    fn remove(&self) {
        let still_ours = match &self.text {
            None => true,
            Some(text) => {
                // Empty: its maker was killed between making and filling it.
                fs::symlink_metadata(&self.path).is_ok_and(|m| m.is_file() && m.len() <= text.len() as u64)
                    && fs::read(&self.path).is_ok_and(|t| t.is_empty() || t == text.as_bytes())
            }
        };
        if still_ours {
            // A folder with something in it is not removed by this.
            let _ = if self.text.is_some() { fs::remove_file(&self.path) } else { fs::remove_dir(&self.path) };
        }
    }
}

/// The first part of `name` that is not there. Its own kind only where it is the last part.
fn first_absent(source: &Path, name: &Path) -> Option<Placeholder> {
    let mut path = source.to_owned();
    for part in name {
        path.push(part);
        match fs::symlink_metadata(&path) {
            Err(_) => {
                let whole = path == source.join(name);
                return Some(Placeholder { text: if whole { file_text(name) } else { None }, path });
            }
            // A file or link in the way is protected itself, and nothing is made where a link leads.
            Ok(there) if !there.is_dir() => return None,
            Ok(_) => {}
        }
    }
    None
}

/// What a placeholder file says to programs of the host that read it; None for what is usually a folder.
fn file_text(name: &Path) -> Option<String> {
    match name.extension().and_then(OsStr::to_str) {
        Some("json") => Some("{}\n".into()),
        Some(_) => Some(String::new()),
        None if name.ends_with("config") => Some(String::new()),
        // Git takes the folder that is named here for its own: this says that it is the one it is in.
        None if name.ends_with("commondir") => Some(".\n".into()),
        None => None,
    }
}

pub fn void(file: &Path, folder: &Path) -> Outcome<Void> {
    let make = |path: &Path, flags| {
        rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty()).during("open the cover of hidden files")
    };
    fs::write(file, "").during("make the cover of hidden files")?;
    fs::create_dir(folder).during("make the cover of hidden files")?;
    for (path, mode) in [(file, 0o000), (folder, 0o555)] {
        rustix::fs::chmod(path, Mode::from_raw_mode(mode)).during("make the cover of hidden files")?;
    }
    Ok(Void { file: make(file, OFlags::PATH)?, folder: make(folder, OFlags::PATH)? })
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
        let protect: Vec<String> = protect.iter().map(|p| (*p).to_owned()).collect();
        let made = Placeholders::make(&source, &protect, &journal).expect("make placeholders");
        assert!(source.join(".git/hooks").is_dir() && source.join(".claude").is_dir());
        assert_eq!(fs::read_to_string(source.join(".mcp.json")).expect("read"), "{}\n");
        assert_eq!(made.hits(&source).count(), 4);
        fs::write(source.join(".git/config"), "the user's").expect("write");
        drop(made);
        assert!(!source.join(".claude").exists() && !source.join(".mcp.json").exists());
        assert!(source.join(".git/config").exists(), "what the user wrote stays");
        assert_eq!(fs::read_dir(&journal).expect("journal").count(), 0);
        fs::remove_dir_all(&source).expect("remove");
    }
}
