//! The installation that this program belongs to: its build, whether a checkout's sources have changed since, what it
//! answers always alike, and the command line that does everything by itself.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set by a launcher whose package has the programs apart from the command line; for this program alone.
pub const VARIABLE: &str = "AGENTKERNEL_DIST";

/// Node reads its whole list of authorities at its start where the first of these is set, which takes longer than the
/// rest of its start. The command line takes the second for it, and trusts them when it needs them.
const AUTHORITIES: &str = "NODE_EXTRA_CA_CERTS";
const HELD_AUTHORITIES: &str = "AGENTKERNEL_HELD_CA_CERTS";

/// Commands with a fixed answer are one word of a few letters.
const LONGEST_ANSWERED: usize = 16;

pub struct Installation {
    /// The directory of the built command line.
    dist: PathBuf,
}

impl Installation {
    /// Finds the installation. Unless the variable is set, this program lies in `dist/native`.
    pub fn find() -> io::Result<Self> {
        if let Some(named) = env::var_os(VARIABLE).map(PathBuf::from).filter(|named| named.is_absolute()) {
            return Ok(Self { dist: fs::canonicalize(named)? });
        }
        let program = fs::read_link("/proc/self/exe")?;
        let dist = program.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        Ok(Self { dist: dist.to_owned() })
    }

    /// A release has written down what it answers always alike (its version): a file named like the word. Whether that
    /// was so; where not even this could be written, the command line says why.
    pub fn answer(&self, words: &[OsString]) -> bool {
        let [word] = words else { return false };
        let is_plain = word.len() <= LONGEST_ANSWERED
            && word.as_bytes().iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'-');
        if !is_plain {
            return false;
        }
        let Ok(answer) = fs::read(self.dist.join("answers").join(word)) else { return false };
        let mut stdout = io::stdout();
        stdout.write_all(&answer).and_then(|()| stdout.flush()).is_ok()
    }

    /// None where it is not known.
    pub fn build(&self) -> Option<String> {
        fs::read_to_string(self.dist.join("build-id")).ok().map(|build| build.trim().to_owned())
    }

    /// Whether the daemon in this directory is of this installation and knows itself when its sources have changed.
    pub fn is_watched(&self, daemon_directory: &Path) -> bool {
        fs::read_link(daemon_directory.join("watched")).is_ok_and(|watched| watched == self.dist)
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
            // A deleted file changes its directory's mtime, and the list has the directory too.
            fs::metadata(root.join(OsStr::from_bytes(line)))
                .and_then(|found| found.modified())
                .map_or(true, |changed| changed <= built)
        })
    }

    /// Becomes the command line that needs no daemon. Returns only if that cannot be started.
    pub fn become_embedded(&self, words: &[OsString]) -> String {
        let become_it = |mut command: Command| {
            let error = command.args(words).env_remove(VARIABLE).exec();
            format!("the command line cannot be started: {}: {error}", command.get_program().to_string_lossy())
        };
        let script = self.dist.join("../scripts/embedded.sh");
        let is_checkout = script.exists();
        let is_built = !is_checkout || (self.dist.join("sources.list").exists() && self.is_up_to_date());
        let mut why = String::new();
        if is_built {
            let mut node = Command::new(env::var_os("AGENTKERNEL_NODE").unwrap_or_else(|| OsString::from("node")));
            node.arg(self.dist.join("agentkernel.js"));
            if let Some(held) = env::var_os(AUTHORITIES).filter(|held| !held.is_empty()) {
                node.env_remove(AUTHORITIES).env(HELD_AUTHORITIES, held);
            }
            why = become_it(node);
        }
        // It builds what is not built, and says what is missing.
        if is_checkout { become_it(Command::new(script)) } else { why }
    }
}
