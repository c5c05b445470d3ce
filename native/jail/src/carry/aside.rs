//! What is not carried over, kept outside the project: an overlay's layer in a state folder of its own, so that what
//! lists, shows and applies the changes of a sandbox works on it as well. Nothing is made until there is something to keep.

use std::{
    ffi::{CStr, CString},
    fs::{self, DirBuilder},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::DirBuilderExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FileType, Mode, OFlags, RawMode, Stat, mkdirat, mknodat, open},
    io::Errno,
};

use super::{open_folder, split, transfer};
use crate::{
    fault::{During, Fault, Outcome},
    keep::project::Project,
};

const PREFIX: &str = "held-";

pub struct Aside {
    /// Where such state folders are made; without it nothing is kept.
    parent: Option<PathBuf>,
    project: Project,
    made: Option<Made>,
}

struct Made {
    name: String,
    layer: OwnedFd,
}

impl Aside {
    pub fn new(parent: Option<&Path>, project: Project) -> Self {
        Self { parent: parent.map(Path::to_owned), project, made: None }
    }

    /// Under which the user finds it, if there is anything.
    pub fn name(self) -> Option<String> {
        self.made.map(|made| made.name)
    }

    /// A file or link.
    pub fn put(&mut self, upper: BorrowedFd<'_>, name: &CStr, path: &[u8], stat: &Stat) -> Outcome<()> {
        let Some((folder, _)) = self.place(path)? else { return Ok(()) };
        transfer::put((upper, None), folder.as_fd(), name, None, stat, false)
            .map(drop)
            .map_err(|fault| not_kept(path, fault))
    }

    pub fn folder(&mut self, path: &[u8], mode: RawMode) -> Outcome<()> {
        let Some((folder, name)) = self.place(path)? else { return Ok(()) };
        // It has to be filled, also where the sandbox left it closed.
        unless_there(mkdirat(&folder, &name, Mode::from_raw_mode(mode & 0o777 | 0o700))).during("set a folder aside")
    }

    /// As the kernel notes it in a layer.
    pub fn delete(&mut self, path: &[u8]) -> Outcome<()> {
        let Some((folder, name)) = self.place(path)? else { return Ok(()) };
        unless_there(mknodat(&folder, &name, FileType::CharacterDevice, Mode::empty(), 0))
            .during("set a deletion aside")
    }

    /// The folder of the layer that a path is in, and its name there.
    fn place(&mut self, path: &[u8]) -> Outcome<Option<(OwnedFd, CString)>> {
        let Some(layer) = self.layer()? else { return Ok(None) };
        let mut folder = layer.try_clone().during("open what is set aside")?;
        let (above, name) = split(path);
        for part in above.split(|&b| b == b'/').filter(|part| !part.is_empty()) {
            let part = CString::new(part).during("a name")?;
            unless_there(mkdirat(&folder, &part, Mode::from_raw_mode(0o755))).during("set a folder aside")?;
            folder = open_folder(folder.as_fd(), &part)?;
        }
        Ok(Some((folder, CString::new(name).during("a name")?)))
    }

    fn layer(&mut self) -> Outcome<Option<&OwnedFd>> {
        if self.made.is_none() {
            let Some(parent) = &self.parent else { return Ok(None) };
            self.made = Some(make(parent, &self.project).map_err(|fault| {
                fault.hint("what is not carried over is kept in the state folder; make room, and run it again")
            })?);
        }
        Ok(self.made.as_ref().map(|made| &made.layer))
    }
}

fn make(parent: &Path, project: &Project) -> Outcome<Made> {
    DirBuilder::new().recursive(true).mode(0o700).create(parent).during("make room for what is set aside")?;
    let mut random = [0; 6];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).during("make a name")?;
    let name = format!("{PREFIX}{}", random.map(|byte| format!("{byte:02x}")).concat());
    let state = parent.join(&name);
    DirBuilder::new().mode(0o700).create(&state).during("make room for what is set aside")?;
    let layer = project.set_aside_in(&state).inspect_err(|_| {
        // The error says why nothing is in it.
        let _ = fs::remove_dir_all(&state);
    })?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(Made { name, layer: open(&layer, flags, Mode::empty()).during("open what is set aside")? })
}

fn unless_there(done: rustix::io::Result<()>) -> rustix::io::Result<()> {
    match done {
        Err(Errno::EXIST) => Ok(()),
        done => done,
    }
}

fn not_kept(path: &[u8], fault: Fault) -> Fault {
    let message = format!("{} could not be set aside: {}", String::from_utf8_lossy(path), fault.message);
    Fault { message, ..fault }
}
