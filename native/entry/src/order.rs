//! The host's order. It comes from our own process outside the walls, but everything this program relies on is checked.

use std::path::PathBuf;

use ak_jail::{
    fault::{Fault, Outcome},
    spec::{Capabilities, GitFiles, Network, SeccompChoice, User, View},
};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Order {
    pub version: u32,
    pub hostname: String,
    pub network: Network,
    /// Whom the guest, and so every command, runs as.
    pub user: User,
    /// The root cannot be written: the engine has put in place what differs from sandbox to sandbox.
    pub root_readonly: bool,
    pub capabilities: Capabilities,
    pub seccomp: SeccompChoice,
    /// Something of the host's can be written directly.
    pub live: bool,
    pub landlock_writable: Vec<PathBuf>,
    /// Paths that must not be written although they lie in a writable place.
    pub readonly: Vec<PathBuf>,
    /// PEM of a certificate that programs in the sandbox are to trust.
    pub trusted_certificate: Option<String>,
    /// For git inside.
    #[serde(default)]
    pub git: Option<GitFiles>,
    /// Directories and files that follow on the stream, in this order.
    pub trees: Vec<PathBuf>,
    /// Directories and files that the engine has mounted for us to show; what is known of them follows the order.
    pub views: Vec<View>,
    /// How much the sandbox may change in all of them that are copy-on-write.
    #[serde(default)]
    pub scratch_mib: u64,
    /// Who is shown something, unless that is root: what only others may read stays out of reach.
    #[serde(default)]
    pub caller: Option<User>,
    /// Where the project is on the host; it can be found there inside as well.
    #[serde(default)]
    pub project: Option<PathBuf>,
    /// The directory of these that is listed when it is in place, so that its changes can be found.
    pub listed: Option<PathBuf>,
    /// Whether earlier contents of the directories are removed.
    pub anew: bool,
    /// Hosts come and go; the standard streams are for this order only.
    pub kept: bool,
    /// Whether the guest stays after its end, until a host has read what it leaves.
    pub lingers: bool,
}

impl Order {
    pub fn parse(text: &[u8]) -> Outcome<Self> {
        let order: Self = serde_json::from_slice(text).map_err(|e| wrong(&e.to_string()))?;
        order.check()?;
        Ok(order)
    }

    pub fn check(&self) -> Outcome<()> {
        if self.version != 1 {
            return Err(wrong(&format!("version {} is not 1", self.version)));
        }
        if self.hostname.is_empty() || self.hostname.len() > 64 {
            return Err(wrong("hostname must have 1 to 64 bytes"));
        }
        let paths = self
            .landlock_writable
            .iter()
            .chain(&self.readonly)
            .chain(&self.trees)
            .chain(&self.listed)
            .chain(&self.project);
        let shown = self.views.iter().flat_map(|view| [&view.source, &view.target]);
        for path in paths.chain(shown) {
            if !path.is_absolute() || path.components().any(|c| c.as_os_str() == "..") {
                return Err(wrong(&format!("{} must be absolute without ..", path.display())));
            }
        }
        Ok(())
    }
}

fn wrong(what: &str) -> Fault {
    Fault::new("internal", format!("the container's order: {what}"))
}
