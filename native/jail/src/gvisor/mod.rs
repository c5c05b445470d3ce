//! gVisor's kernel between the sandbox and ours. The jail is built as always, but its root is not the sandbox's: it is
//! a small one for `runsc`, in which the sandbox's root is a folder. So what runs the sandbox's system calls is itself
//! in a sandbox, and views, hidden files, limits and the end of everything with its owner are the jail's as ever.
//!
//! Inside gVisor this program is started once more (`inside`) and becomes the guest. Nothing here decides what a
//! sandbox may do, and no file of `runsc` lies outside the jail.

mod bundle;
pub mod inside;

use std::{
    convert::Infallible,
    ffi::{CStr, CString},
    fs,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{CWD, Mode, OFlags, mkdir, open},
    pipe::{PipeFlags, pipe_with},
};

use crate::{
    child::Manner,
    control::{Layer, LayerState},
    fault::{During, Fault, Outcome},
    filesystems,
    place::{self, Root},
    spec::{Gvisor, Limits, Network, Platform, Spec},
    sys, walls,
};

/// In the jail's own root: the sandbox's, and what `runsc` needs beside it.
const ROOT: &str = "/root";
const PROGRAMS: &str = "programs";
const BUNDLE: &str = "bundle";
const STATE: &str = "state";
const GUEST: &str = "guest";
const INSIDE: &str = "inside";
/// Where the programs are seen in the sandbox: /dev is gVisor's own there, so no image has anything in the way.
const PROGRAMS_INSIDE: &str = "/dev/.agentkernel";
/// gVisor's kernel counts against the sandbox's memory, and cannot run in less than this.
const LEAST_MEMORY_MIB: u64 = 64;
/// What it has of threads for itself, and for each process of the sandbox: by ptrace, as many as it has processors'
/// worth of threads that ever ran that process.
const OWN_THREADS: u64 = 512;
const THREADS_PER_PROCESS: u64 = 32;

impl Platform {
    fn word(self) -> &'static str {
        match self {
            Self::Systrap => "systrap",
            Self::Kvm => "kvm",
            Self::Ptrace => "ptrace",
        }
    }
}

/// What runs in the jail instead of the guest.
pub struct Runtime {
    pub program: OwnedFd,
    /// Where it tells of its own failures.
    pub says: OwnedFd,
}

impl Runtime {
    /// With what it will say. Nothing of the sandbox can write there, and a pipe holds no more than it has room for.
    pub fn open(spec: &Spec) -> Outcome<Option<(Self, Said)>> {
        let Some(Gvisor { program: path, .. }) = &spec.gvisor else { return Ok(None) };
        let program = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(|e| {
            Fault::new("backend_unavailable", format!("gVisor's program {}: {e}", path.display()))
                .hint("install runsc, or look at `agentkernel doctor`")
        })?;
        let (said, says) = Said::pair()?;
        Ok(Some((Self { program, says }, said)))
    }

    /// At numbers above those that its descriptors will have.
    pub fn above_placed(self) -> Outcome<Self> {
        let move_up = |fd: OwnedFd| sys::above_placed(fd).during("move gVisor's program");
        Ok(Self { program: move_up(self.program)?, says: move_up(self.says)? })
    }
}

/// The other end of what gVisor, or a machine's monitor, says.
pub struct Said(OwnedFd);

impl Said {
    /// With the end to write to, which never holds up who writes.
    pub fn pair() -> Outcome<(Self, OwnedFd)> {
        let (heard, says) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).during("make a pipe")?;
        Ok((Self(heard), says))
    }

    pub fn text(&self) -> Option<String> {
        let mut bytes = [0; 4096];
        let count = rustix::io::read(&self.0, &mut bytes).unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..count]).trim().to_owned();
        Some(text).filter(|text| !text.is_empty())
    }
}

/// What the cgroup holds: gVisor and the sandbox in it. How many processes the sandbox has is limited by gVisor's own
/// kernel; a number of ours that was hit would end all of it.
pub fn limits_around(limits: &Limits) -> Limits {
    Limits {
        memory_mib: limits.memory_mib.max(LEAST_MEMORY_MIB),
        pids: limits.pids.saturating_mul(THREADS_PER_PROCESS).saturating_add(OWN_THREADS),
        ..*limits
    }
}

/// Mounts of the two programs that run inside gVisor.
pub struct Programs {
    guest: OwnedFd,
    inside: OwnedFd,
}

impl Programs {
    /// By their paths on the host, in our own mount namespace: what was opened in another cannot be mounted.
    pub fn open(spec: &Spec) -> Outcome<Option<Self>> {
        if spec.gvisor.is_none() {
            return Ok(None);
        }
        let own = fs::read_link("/proc/self/exe").during("find our own program")?;
        let show = |path: &Path| place::clone_readonly(path).during(format_args!("show {} to gVisor", path.display()));
        Ok(Some(Self { guest: show(&spec.guest)?, inside: show(&own)? }))
    }
}

/// Adds to the scratch filesystem, which is the current folder and becomes the jail's root, what `runsc` needs.
pub fn furnish(
    spec: &Spec,
    root: &Root,
    programs: &Programs,
    manner: Manner,
    rlimits: &[(sys::Resource, u64)],
) -> Outcome<()> {
    // `runsc` makes mount points in the root itself, which may be read-only by then.
    root.folder(Path::new(PROGRAMS_INSIDE))?;
    for folder in ["proc", "dev", "tmp", PROGRAMS, BUNDLE, STATE] {
        mkdir(folder, Mode::from_raw_mode(0o755)).during("make a folder for gVisor")?;
    }
    place::attach_at(&filesystems::proc()?, Path::new("proc")).during("mount /proc for gVisor")?;
    let mut devices = vec!["null", "zero", "urandom"];
    devices.extend(has_kvm(spec).then_some("kvm"));
    for name in devices {
        show_file(&Path::new("/dev").join(name), &Path::new("dev").join(name))?;
    }
    attach_file(&programs.inside, &Path::new(PROGRAMS).join(INSIDE))?;
    attach_file(&programs.guest, &Path::new(PROGRAMS).join(GUEST))?;
    let config = bundle::config(spec, &inside::words(spec, manner), rlimits);
    fs::write(Path::new(BUNDLE).join("config.json"), config.to_string()).during("write gVisor's configuration")
}

/// Where the sandbox's root lies for those in the jail.
pub fn root_in_jail(spec: &Spec) -> &'static str {
    if spec.gvisor.is_some() { ROOT } else { "/" }
}

/// What stands around and in front of the sandbox here, and what does not.
pub fn layers(spec: &Spec, gvisor: &Gvisor) -> Vec<Layer> {
    let kernel = format!("the sandbox has a kernel of its own, by {}", gvisor.platform.word());
    let mut layers = vec![Layer::new("gvisor", LayerState::Applied, kernel)];
    if spec.landlock_writable != [Path::new("/")] {
        let detail = "gVisor has none; what may not be written is read-only";
        layers.push(Layer::new("landlock", LayerState::Absent, detail));
    }
    if spec.network == Network::Proxied {
        let detail = "gVisor cannot redirect connections: only programs that use HTTP_PROXY reach the network";
        layers.push(Layer::new("network capture", LayerState::Absent, detail));
    }
    layers
}

/// Becomes `runsc`. Does not come back, unless something failed.
pub fn start(spec: &Spec, gvisor: &Gvisor, runtime: &OwnedFd, has_range: bool) -> Outcome<Infallible> {
    // Nobody but the sandbox changes what it sees, unless a folder of the host's is shown live.
    let access = if walls::has_live_view(spec) { "shared" } else { "exclusive" };
    let words = [
        "runsc".to_owned(),
        format!("--root=/{STATE}"),
        // The jail's own cgroup holds all of it.
        "--ignore-cgroups".to_owned(),
        "--network=none".to_owned(),
        format!("--platform={}", gvisor.platform.word()),
        format!("--file-access={access}"),
        // With a range of ids gVisor takes one of them for itself; else it is the only one there is.
        format!("--rootless={}", !has_range),
        "run".to_owned(),
        format!("--bundle=/{BUNDLE}"),
        "sandbox".to_owned(),
    ];
    let words = words.into_iter().map(CString::new).collect::<Result<Vec<_>, _>>().during("name gVisor's options")?;
    let words: Vec<&CStr> = words.iter().map(CString::as_c_str).collect();
    Err(sys::exec_fd(runtime.as_fd(), &words)).during("start gVisor")
}

fn has_kvm(spec: &Spec) -> bool {
    spec.gvisor.as_ref().is_some_and(|gvisor| gvisor.platform == Platform::Kvm)
}

fn show_file(from: &Path, to: &Path) -> Outcome<()> {
    let tree = place::clone_tree(CWD, from).during(format_args!("show {} to gVisor", from.display()))?;
    attach_file(&tree, to)
}

fn attach_file(tree: &OwnedFd, to: &Path) -> Outcome<()> {
    fs::write(to, "").during("make a place for a file")?;
    place::attach_at(tree, to).during(format_args!("show {} to gVisor", to.display()))
}
