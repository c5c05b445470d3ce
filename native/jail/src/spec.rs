//! The one JSON object that says what to build. The host side has validated the user's wishes already; what is
//! checked here is what this program relies on.

use std::path::PathBuf;

pub use ak_secrets::HideRule;
use serde::{Deserialize, Serialize};

use crate::{
    fault::{Fault, Outcome},
    gvisor,
    hide_rules::HideRules,
    host_programs::HostProgram,
    monitor::Monitor,
    view::matcher::Matcher,
};

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spec {
    pub version: u32,
    pub hostname: String,
    /// The guest binary on the host.
    pub guest: PathBuf,
    pub ids: IdChoice,
    /// Whom the guest, and so every command, runs as inside.
    pub user: User,
    pub root: RootChoice,
    pub root_readonly: bool,
    /// Everything that the sandbox writes to its root and to copied folders, in memory.
    pub scratch_mib: u64,
    /// So much of it on the host's disk instead, as far as that is possible.
    #[serde(default)]
    pub disk_mib: Option<u64>,
    pub tmp_mib: u64,
    pub views: Vec<View>,
    pub hide: HideRules,
    pub protect: Vec<String>,
    /// Changes to these wait until the user has said yes.
    #[serde(default)]
    pub review: Vec<String>,
    /// Where what is not carried over is kept.
    pub set_aside: Option<PathBuf>,
    pub capabilities: Capabilities,
    pub seccomp: SeccompChoice,
    /// Where Landlock lets the sandbox write.
    pub landlock_writable: Vec<PathBuf>,
    pub limits: Limits,
    pub network: Network,
    /// PEM of a certificate that programs in the sandbox are to trust.
    pub trusted_certificate: Option<String>,
    /// For git inside.
    #[serde(default)]
    pub git: Option<GitFiles>,
    /// Folder for what has to be undone on the host after a crash.
    pub journal: PathBuf,
    /// Build all but what is shown, and wait for a second spec of the same shape.
    #[serde(default)]
    pub warm: bool,
    /// gVisor's kernel between the sandbox and ours.
    pub gvisor: Option<Gvisor>,
    /// A virtual machine's monitor in place of the guest.
    pub monitor: Option<Monitor>,
    /// The number of the look ahead that was made for this spec.
    #[serde(default)]
    pub foreseen: Option<u64>,
    /// `keep`: the folder of the sandbox's own state, and of all that it writes.
    pub state: Option<PathBuf>,
}

/// Texts of two files of git's.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GitFiles {
    /// Who the user is.
    pub config: String,
    /// Names that git passes over: we have made them, and not the user.
    pub ignored: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdChoice {
    /// One id inside: quick, and enough where nobody asks for a second user.
    Single,
    /// A range of ids: an own one when started by root, subordinate ids otherwise.
    Range,
    /// A range where the caller has one.
    Best,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum RootChoice {
    /// The machine's own programs: /usr, and what the caller's PATH names beside it.
    Host {
        #[serde(default)]
        programs: Vec<HostProgram>,
    },
    /// Folders of an image's layers, the uppermost first.
    Layers { layers: Vec<PathBuf> },
}

impl RootChoice {
    pub fn layers(&self) -> &[PathBuf] {
        match self {
            Self::Host { .. } => &[],
            Self::Layers { layers } => layers,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Capabilities {
    Default,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeccompChoice {
    Default,
    Strict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// Loopback, and nothing else.
    None,
    /// Loopback, and whatever would go further arrives at the guest.
    Captured,
    /// Loopback, and on it a proxy of the guest's, for programs that use one. Needs gVisor, whose loopback is its own.
    Proxied,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gvisor {
    /// `runsc` on the host.
    pub program: PathBuf,
    pub platform: Platform,
}

/// How gVisor gets hold of the sandbox's system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    Systrap,
    Kvm,
    Ptrace,
}

/// A folder of the host shown in the sandbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    pub source: PathBuf,
    pub target: PathBuf,
    pub form: ViewForm,
    pub readonly: bool,
    /// Shown at the path of its source as well.
    #[serde(default, rename = "atSource")]
    pub at_source: bool,
    /// It is the repository of the project.
    #[serde(default)]
    pub repository: Option<RepositoryView>,
}

/// The repository of a project that lies elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RepositoryView {
    /// What the working tree has of its own in it: empty, or `worktrees/NAME`.
    pub own: String,
    /// The directory of the working tree that is the project; empty where it is all of it.
    pub part: String,
}

impl View {
    /// The real folder, open for writing.
    pub fn is_live(&self) -> bool {
        self.form == ViewForm::Mount && !self.readonly
    }

    /// Whether what appears in it appears in the host's folder, at once or at the end.
    pub fn reaches_host(&self) -> bool {
        self.is_live() || self.form == ViewForm::Sync
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ViewForm {
    /// Copy-on-write; the host's files never change.
    Copy,
    /// Copy-on-write, and the changes are carried over when the sandbox ends.
    Sync,
    /// The real folder.
    Mount,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    pub vcpus: f64,
    pub memory_mib: u64,
    pub pids: u64,
    pub open_files: u64,
}

impl Spec {
    /// Whether a sandbox that was built for one of the two can serve the other: everything is equal but what is brought
    /// in at the end.
    pub fn has_shape_of(&self, other: &Self) -> bool {
        let form = |v: &View| (v.target.clone(), v.form, v.readonly, v.at_source, v.repository.clone());
        // With a read-only root, homes are temporary filesystems too, of this size.
        let has_same_home = !self.root_readonly || self.tmp_mib == other.tmp_mib;
        // gVisor is told of limits and of the size of its own temporary places when it starts.
        let has_same_kernel = self.gvisor == other.gvisor
            && (self.gvisor.is_none() || (self.tmp_mib == other.tmp_mib && self.limits == other.limits));
        has_same_home
            && has_same_kernel
            && self.guest == other.guest
            && self.ids == other.ids
            && self.user == other.user
            && self.root == other.root
            && self.root_readonly == other.root_readonly
            && self.views.iter().map(form).eq(other.views.iter().map(form))
            && self.capabilities == other.capabilities
            && self.seccomp == other.seccomp
            && self.landlock_writable == other.landlock_writable
            && self.network == other.network
    }

    /// Whether the same is hidden and protected.
    pub fn has_rules_of(&self, other: &Self) -> bool {
        self.hide == other.hide && self.protect == other.protect && self.review == other.review
    }

    /// What no shown folder lets the sandbox change.
    pub fn guarded(&self) -> Matcher {
        if self.views.iter().any(View::is_live) {
            Matcher::guarding(&self.protect, &self.review)
        } else {
            Matcher::of(&self.protect)
        }
    }

    /// What the cgroup holds: the sandbox, and what runs it.
    pub fn limits_around(&self) -> Limits {
        if self.gvisor.is_some() { gvisor::limits_around(&self.limits) } else { self.limits.clone() }
    }

    pub fn parse(text: &[u8]) -> Outcome<Self> {
        let spec: Self =
            serde_json::from_slice(text).map_err(|e| Fault::new("internal", format!("the jail's spec: {e}")))?;
        spec.check().map_err(|what| Fault::new("internal", format!("the jail's spec: {what}")))?;
        Ok(spec)
    }

    pub fn check(&self) -> Result<(), String> {
        if self.version != 1 {
            return Err(format!("version {} is not 1", self.version));
        }
        if !self.guest.is_absolute() || !self.journal.is_absolute() {
            return Err("paths of the guest and the journal must be absolute".into());
        }
        if self.state.as_ref().is_some_and(|state| !state.is_absolute()) {
            return Err("the path of the state folder must be absolute".into());
        }
        if (self.network == Network::Proxied) != self.gvisor.is_some() && self.network != Network::None {
            return Err("gVisor has a proxied network, and only gVisor".into());
        }
        if self.gvisor.as_ref().is_some_and(|gvisor| !gvisor.program.is_absolute()) {
            return Err("the path of runsc must be absolute".into());
        }
        if let Some(monitor) = &self.monitor {
            monitor.check()?;
            if self.gvisor.is_some() || self.warm || !self.views.is_empty() || self.network != Network::None {
                return Err("around a monitor there is nothing but its own files".into());
            }
        }
        if matches!(&self.root, RootChoice::Layers { layers } if layers.is_empty()) {
            return Err("a root needs at least one layer".into());
        }
        if let RootChoice::Host { programs } = &self.root {
            programs.iter().try_for_each(HostProgram::check)?;
        }
        if !self.root.layers().iter().all(|layer| layer.is_absolute()) {
            return Err("paths of layers must be absolute".into());
        }
        if self.hostname.is_empty() || self.hostname.len() > 64 {
            return Err("hostname must have 1 to 64 bytes".into());
        }
        if self.user.uid >= 65_536 || self.user.gid >= 65_536 {
            return Err("user ids go up to 65535".into());
        }
        for view in &self.views {
            for path in [&view.source, &view.target] {
                if !path.is_absolute() || path.components().any(|c| c.as_os_str() == "..") {
                    return Err(format!("view path {} must be absolute without ..", path.display()));
                }
            }
            if view.target.as_os_str() == "/" {
                return Err("a view cannot be the root".into());
            }
        }
        let synced = |is_repository: bool| {
            let views = self.views.iter().filter(|v| v.form == ViewForm::Sync);
            views.filter(|v| v.repository.is_some() == is_repository).count()
        };
        if synced(false) > 1 || synced(true) > 1 {
            return Err("only the project and its repository can be carried over".into());
        }
        for view in self.views.iter().filter_map(|view| view.repository.as_ref()) {
            let is_plain = |path: &str| path.is_empty() || path.split('/').all(|part| !matches!(part, "" | "." | ".."));
            if !is_plain(&view.own) || !is_plain(&view.part) {
                return Err("paths of a repository must be relative without ..".into());
            }
        }
        if self.limits.vcpus.is_nan()
            || self.limits.vcpus <= 0.0
            || self.limits.memory_mib == 0
            || self.limits.pids == 0
        {
            return Err("limits must be above zero".into());
        }
        Ok(())
    }
}
