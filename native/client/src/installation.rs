//! The installation that this program belongs to: its build, whether a checkout's sources have changed since, and the
//! command line that does everything by itself.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Installation {
    /// The folder of the built command line.
    dist: PathBuf,
}

impl Installation {
    /// This program lies in `dist/native`.
    pub fn find() -> io::Result<Self> {
        let program = fs::read_link("/proc/self/exe")?;
        let dist = program.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        Ok(Self { dist: dist.to_owned() })
    }

    /// None where it is not known.
    pub fn build(&self) -> Option<String> {
        fs::read_to_string(self.dist.join("build-id")).ok().map(|build| build.trim().to_owned())
    }

    /// Whether the daemon in this folder is of this installation and knows itself when its sources have changed.
    pub fn is_watched(&self, daemon_folder: &Path) -> bool {
        fs::read_link(daemon_folder.join("watched")).is_ok_and(|watched| watched == self.dist)
    }

    /// A checkout lists what it was built from, one path a line; a package has no such list.
    pub fn is_up_to_date(&self) -> bool {
        let Ok(list) = fs::read(self.dist.join("sources.list")) else {
            return true;
        };
        let Some(root) = self.dist.parent() else { return true };
        let Ok(built) = fs::metadata(self.dist.join(".built")).and_then(|found| found.modified()) else {
            return false;
        };
        list.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).all(|line| {
            // What is not there any more changed the time of its folder, which is in the list too.
            fs::metadata(root.join(OsStr::from_bytes(line)))
                .and_then(|found| found.modified())
                .map_or(true, |changed| changed <= built)
        })
    }

    /// Becomes the command line that needs no daemon. Returns only if that cannot be started.
    pub fn become_embedded(&self, words: &[OsString]) -> String {
        let script = self.dist.join("../scripts/embedded.sh");
        let mut command = if script.exists() {
            Command::new(script)
        } else {
            let mut node = Command::new(env::var_os("AGENTKERNEL_NODE").unwrap_or_else(|| OsString::from("node")));
            node.arg(self.dist.join("agentkernel.js"));
            node
        };
        let error = command.args(words).exec();
        format!("the command line cannot be started: {}: {error}", command.get_program().to_string_lossy())
    }
}
