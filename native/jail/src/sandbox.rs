//! One sandbox, from its birth to its end: what has to be made outside the walls for it, and undone after it. Whoever
//! holds it decides when it ends; dropped, it ends at once and nothing of it stays.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{Mode, OFlags, open, openat},
    process::{Signal, pidfd_send_signal},
};
use serde::Serialize;

use crate::{
    carry::{self, Carrier, Report, aside::Aside},
    cgroup::{self, Cgroup, Usage},
    channel::Channel,
    child::{Child, Manner, Prepared, Told, WRITABLE},
    control::{End, Layer, LayerState},
    cpu_time,
    disk_image::{self, DiskImage},
    fault::{During, Fault, Outcome},
    git,
    gvisor::{self, Said},
    host_etc::EtcCopy,
    host_programs::Lower,
    identity::{Identity, is_host_root},
    keep::project::Project,
    layers::Layers,
    monitor::Given,
    spec::Spec,
    sys::{self, Fork},
    view::{
        contents::Contents,
        matcher::Matcher,
        placeholder::Placeholders,
        rules::Rules,
        search::{live_layer, make_placeholders, search},
        source::Source,
        survey::Survey,
        told,
    },
};

mod rlimits;
mod warm;

use rlimits::rlimits;
pub use warm::Warm;

/// What the child needs to be in from its first moment. The rest it makes itself, while its ids are being mapped.
const NAMESPACES: i32 = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID;

/// Writable layers that are carried over, by their views' numbers.
type Uppers = Vec<(usize, OwnedFd)>;

/// Its fields go in this order: the processes before the cgroup that they are in.
pub struct Sandbox<'a> {
    process: Process,
    pub cgroup: Cgroup,
    pub layers: Vec<Layer>,
    spec: &'a Spec,
    uppers: Uppers,
    hide: Matcher,
    surveys: Vec<Survey>,
    sources: Vec<Source>,
    placeholders: Vec<Placeholders>,
    since: (i64, u64),
    /// What the search has found out about contents.
    contents: Option<Contents>,
    /// A mount namespace that nobody needs any more.
    left: Option<OwnedFd>,
    said: Option<Said>,
    _image: Option<DiskImage>,
    /// Stays as long as it is shown.
    _etc: Option<EtcCopy>,
    _identity: Identity,
}

/// How a sandbox is tied to what is outside.
pub struct Ties<'a> {
    /// The guest's stream to its host; of a kept one, its door.
    pub stream: OwnedFd,
    /// Of a kept one: the folder on disk that takes what it writes.
    pub disk: Option<&'a Path>,
    /// When the changes began that are still to be carried over; without it, now.
    pub since: Option<(i64, u64)>,
    /// Is told the first process as soon as there is one.
    pub born: &'a mut dyn FnMut(i32) -> Outcome<()>,
}

impl<'a> Sandbox<'a> {
    pub fn start(spec: &'a Spec, ties: Ties<'_>) -> Outcome<Self> {
        let Ties { stream, disk, since, born: tell_of_birth } = ties;
        let guest = open_guest(spec)?;
        let (runtime, of_gvisor) = gvisor::Runtime::open(spec)?.unzip();
        let identity = Identity::choose(spec.ids, spec.user)?;
        let privileged = identity.is_host_roots();
        let opened = spec.monitor.as_ref().map(|monitor| Given::open(monitor, privileged)).transpose()?;
        let (given, of_monitor) = opened.unzip();
        let said = of_gvisor.or(of_monitor);
        let mut sources = spec.views.iter().map(|v| Source::open(v, privileged)).collect::<Outcome<Vec<_>>>()?;
        let etc = EtcCopy::for_root(spec);
        let lower = Lower::open(&spec.root, etc.as_ref(), privileged)?;
        // A machine has a disk of its own among its files, and its monitor writes nothing else.
        let on_disk = disk.filter(|_| spec.monitor.is_none());
        let disk_layer = on_disk.map(|folder| Layers::open(&[folder.to_owned()], privileged)).transpose()?;
        let image = disk_image::make(spec, privileged).transpose();
        let image_layer = disk_image::layer(spec, image.as_ref().err());
        let (image, disk_layer) =
            image.ok().flatten().map_or((None, disk_layer), |(i, layers)| (Some(i), Some(layers)));
        let mut placeholders = make_placeholders(spec.into())?;
        // Made while the child is at work, unless it is to be born in it. Declared before the process, to outlive it.
        let born = cgroup::is_pure_v2();
        let limits = spec.limits_around();
        let create = || Cgroup::create(&limits, disk.is_some());
        let mut limited = born.then(create).transpose()?;
        let (ours, theirs) = Channel::pair()?;
        let since = since.unwrap_or_else(carry::now);
        let birthplace = limited.as_ref().and_then(|(cgroup, _)| cgroup.birthplace());
        let (pid, pidfd) = match sys::fork_into(NAMESPACES, birthplace).map_err(no_namespaces)? {
            Fork::Parent { pid, pidfd } => (pid, pidfd),
            Fork::Child => {
                drop(ours);
                let manner = if disk.is_some() { Manner::Kept } else { Manner::Temporary };
                let child = Child { spec, identity: &identity, channel: theirs, guest, runtime, given, stream, manner };
                child.become_guest(sources, lower, disk_layer);
                std::process::exit(1);
            }
        };
        drop((theirs, stream, guest, runtime, given));
        let process = Process { pid, pidfd, reaped: false };
        tell_of_birth(pid)?;
        identity.write_maps(pid).map_err(|fault| why_gone(&ours).unwrap_or(fault))?;
        lower.map_ids(pid).map_err(|fault| why_gone(&ours).unwrap_or(fault))?;
        if let Some(disk_layer) = &disk_layer {
            let mapped = disk_layer.map_ids(pid, WRITABLE);
            mapped.map_err(|fault| why_gone(&ours).unwrap_or_else(|| no_disk(&fault)))?;
        }
        drop((lower, disk_layer));
        tell(&ours, &(), &[])?;
        // From here on the child builds; what follows is done beside it and needed only at its end.
        map_ids(spec, &identity, &sources, pid).map_err(|fault| why_gone(&ours).unwrap_or(fault))?;
        let hide = Matcher::hiding(&spec.hide.read()?);
        let protect = spec.guarded();
        let made = limited.take().map_or_else(create, Ok)?;
        let (cgroup, cgroup_layers) = limited.insert(made);
        if identity.has_range() && !cgroup.limits("pids") {
            // The kernel counts by id, and root of the sandbox can become any of the range.
            cgroup_layers.add_to_limits("; that limits processes for each id, not in all");
        }
        let doors = cgroup.doors(born)?;
        let contents = Contents::beside(&spec.journal);
        let rules = Rules::new(&hide, &protect).knowing(contents.as_ref());
        let surveys = search(spec.into(), &mut sources, &rules, &mut placeholders)?;
        let prepared =
            Prepared { cgroups: doors.len(), limited: cgroup.limited(), surveys, rlimits: rlimits(spec, cgroup) };
        tell(&ours, &prepared, &borrowed(&doors))?;
        drop(doors);
        let mut walls = vec![
            Layer::new("namespaces", LayerState::Applied, identity.describe()),
            Layer::applied("seccomp"),
            cgroup_layers.limits.clone(),
        ];
        walls.extend(cgroup_layers.freezer.clone());
        let uppers = follow_child(&ours, &mut walls)?;
        walls.extend(live_layer(&spec.views));
        walls.extend(git::live::layer(&prepared.surveys));
        walls.extend(told::layer(&spec.views, &sources, &prepared.surveys));
        walls.extend(on_disk.map(|_| disk_layer_of_kept()).or(image_layer));
        let Some((cgroup, _)) = limited.take() else { return Err(Fault::new("internal", "the cgroup is gone")) };
        let Prepared { surveys, .. } = prepared;
        let _identity = identity;
        Ok(Self {
            process,
            cgroup,
            layers: walls,
            spec,
            uppers,
            hide,
            surveys,
            sources,
            placeholders,
            since,
            contents,
            left: None,
            said,
            _image: image,
            _etc: etc,
            _identity,
        })
    }

    pub fn pid(&self) -> i32 {
        self.process.pid
    }

    /// To be kept for others once nobody waits any more.
    pub fn contents(&mut self) -> Option<Contents> {
        self.contents.take()
    }

    /// What was needed only to start it. Taking it apart, by dropping it, may take a while.
    pub fn remains(&mut self) -> Option<OwnedFd> {
        self.left.take()
    }

    /// What runs in it is a virtual machine's monitor.
    pub fn is_machine(&self) -> bool {
        self.spec.monitor.is_some()
    }

    /// Readable when the first process has ended, and so all others.
    pub fn pidfd(&self) -> &OwnedFd {
        &self.process.pidfd
    }

    pub fn usage(&self) -> Usage {
        let usage = self.cgroup.usage();
        // What is counted outside are the threads of gVisor, or of a machine's monitor.
        let has_own_kernel = self.spec.gvisor.is_some() || self.spec.monitor.is_some();
        Usage { processes: usage.processes.filter(|_| !has_own_kernel), ..usage }
    }

    pub fn kill(&self) {
        // It may have ended by itself; then there is nobody to signal.
        let _ = pidfd_send_signal(&self.process.pidfd, Signal::KILL);
    }

    /// Ends it, carries changes over if that is asked for and the spec has where to, and undoes what was made for it.
    pub fn end(self, carries: bool) -> Outcome<End> {
        let Self { mut process, cgroup, spec, uppers, hide, surveys, sources, placeholders, since, said, .. } = self;
        // A machine's monitor is killed however its sandbox ended.
        let is_killed = !carries || spec.monitor.is_some();
        let used_us = if is_killed { cpu_time::of_tree_us(process.pid) } else { 0 };
        let waited = process.end()?;
        let stats = cgroup.stats();
        drop(cgroup);
        let carried = if carries && !uppers.is_empty() {
            Some(carry_over(spec, &sources, &surveys, uppers, &hide, since)?)
        } else {
            None
        };
        // Whoever hears of the end may unmount or remove the project at once.
        drop((placeholders, sources));
        let status = waited.status;
        Ok(End {
            code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
            signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
            oom_kills: stats.oom_kills,
            pids_denied: stats.pids_denied,
            memory_peak_bytes: stats.memory_peak_bytes,
            cpu_us: waited.cpu_us.max(used_us),
            carried,
            said: said.and_then(|said| said.text()),
        })
    }
}

/// The sandbox's first process. Dropped, it takes all others with it.
struct Process {
    pid: i32,
    pidfd: OwnedFd,
    reaped: bool,
}

impl Process {
    fn end(&mut self) -> Outcome<sys::Waited> {
        // It may have ended by itself; then there is nobody to signal, only to wait for.
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
        let waited = sys::wait_for(self.pid).during("wait for the sandbox")?;
        self.reaped = true;
        Ok(waited)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.reaped {
            // A failure is on its way to the user already.
            let _ = self.end();
        }
    }
}

fn open_guest(spec: &Spec) -> Outcome<OwnedFd> {
    open(&spec.guest, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| Fault::new("internal", format!("the guest binary {}: {e}", spec.guest.display())))
}

/// Sends the child something. If it is gone, what it said before is the reason, and not that it cannot be told.
fn tell<T: Serialize>(channel: &Channel, message: &T, with: &[BorrowedFd<'_>]) -> Outcome<()> {
    channel.send_all(message, with).map_err(|fault| why_gone(channel).unwrap_or(fault))
}

fn borrowed(fds: &[OwnedFd]) -> Vec<BorrowedFd<'_>> {
    fds.iter().map(AsFd::as_fd).collect()
}

/// Why the child is gone, if it is: what it said last, or else somebody killed it.
fn why_gone(channel: &Channel) -> Option<Fault> {
    // A process that is killed is out of reach a moment before its end of the channel closes.
    for _ in 0..50 {
        if !channel.peer_lives() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    if channel.peer_lives() {
        return None;
    }
    let told = follow_child(channel, &mut Vec::new()).err();
    Some(told.unwrap_or_else(|| Fault::start("the sandbox's first process was killed while it started")))
}

fn map_ids(spec: &Spec, identity: &Identity, sources: &[Source], pid: i32) -> Outcome<()> {
    if let Identity::Own { base, .. } = identity {
        for (view, source) in spec.views.iter().zip(sources) {
            source.map_ids(view, *base, spec.user, pid)?;
        }
    }
    Ok(())
}

/// Listens until the child has become the guest (its end of the channel closes) or failed.
fn follow_child(channel: &Channel, layers: &mut Vec<Layer>) -> Outcome<Uppers> {
    let mut uppers = Uppers::new();
    while let Some((told, fd)) = channel.receive::<Told>()? {
        match told {
            Told::Upper(index) => uppers.extend(fd.map(|fd| (index, fd))),
            Told::Shown => {}
            Told::Layer(layer) => layers.push(layer),
            Told::Failed(fault) => return Err(fault),
        }
    }
    Ok(uppers)
}

fn no_disk(fault: &Fault) -> Fault {
    Fault::new("layer_unavailable", format!("the sandbox's state folder cannot be its disk: {}", fault.message))
        .hint("its filesystem does not take id-mapped mounts; keep the state folder on ext4, xfs or btrfs, or run as an ordinary user instead of root")
}

fn disk_layer_of_kept() -> Layer {
    Layer::new(
        "disk limit",
        LayerState::Absent,
        "what a kept sandbox writes lies on the host's disk, and nothing but the room there limits it",
    )
}

/// A repository beside the project comes first: one in the project does too, by its name.
fn carry_over(
    spec: &Spec,
    sources: &[Source],
    surveys: &[Survey],
    mut uppers: Uppers,
    hide: &Matcher,
    since: (i64, u64),
) -> Outcome<Report> {
    let (protect, review) = (Matcher::of(&spec.protect), Matcher::of(&spec.review));
    uppers.sort_by_key(|(index, _)| spec.views[*index].repository.is_none());
    let mut report = Report::default();
    for (index, upper) in uppers {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let target = openat(&sources[index].fd, ".", flags, Mode::empty()).during("open the project")?;
        let carrier = Carrier::new(hide, &protect, &surveys[index], since, is_host_root());
        let view = &spec.views[index];
        let carrier = if view.repository.is_some() {
            carrier
        } else {
            carrier.keeping(&review, Aside::new(spec.set_aside.as_deref(), Project::synced(spec, view, since)?))
        };
        let carried = carrier.carry(upper.as_fd(), target.as_fd())?;
        report = report.followed_by(carried, view.repository.as_ref().map(|_| view.source.as_path()));
    }
    Ok(report)
}

fn no_namespaces(e: std::io::Error) -> Fault {
    if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE)) {
        return Fault::new("resource_exhausted", format!("this host has no room for another sandbox: {e}"))
            .hint("end other processes of yours, or raise the limits on processes, memory or open files");
    }
    let fault =
        Fault::new("backend_unavailable", format!("this host does not let us make the sandbox's namespaces: {e}"));
    let restricted = |path: &str, value: &str| std::fs::read_to_string(path).is_ok_and(|t| t.trim() == value);
    let hint = if restricted("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        "AppArmor forbids user namespaces: `sudo agentkernel setup --yes` installs a profile for agentkernel alone, `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` allows them to all"
    } else if restricted("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "user namespaces are off: sudo sysctl kernel.unprivileged_userns_clone=1"
    } else if restricted("/proc/sys/user/max_user_namespaces", "0") {
        "user namespaces are off: sudo sysctl user.max_user_namespaces=15000"
    } else {
        "see `agentkernel doctor` for what is missing"
    };
    fault.hint(hint)
}
