//! The process outside the walls: prepares, starts the child, stays until the sandbox has ended, and leaves nothing
//! behind. It ends the sandbox when the order comes or when whoever gave the orders is gone.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags, open, openat},
    process::{Signal, pidfd_send_signal},
};
use serde::Serialize;

use crate::{
    carry::{self, Carrier, Report},
    cgroup::{self, Cgroup},
    channel::Channel,
    child::{Asked, Child, Prepared, READONLY, Told},
    control::{Control, Event, Layer, LayerState, Order},
    fault::{During, Fault, Outcome},
    identity::{Identity, is_host_root},
    layers::Layers,
    spec::{Spec, ViewForm},
    sys::{self, Fork},
    view::{
        matcher::Matcher,
        placeholder::Placeholders,
        source::Source,
        survey::{Rules, Survey},
    },
};

/// What the child needs to be in from its first moment. The rest it makes itself, while its ids are being mapped.
const NAMESPACES: i32 = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID;

pub fn run(control: &mut Control, stream: OwnedFd) -> Outcome<()> {
    let Some(line) = control.line()? else {
        return Ok(());
    };
    let spec = Spec::parse(&line)?;
    let privileged = is_host_root();
    let guest = open(&spec.guest, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| Fault::new("internal", format!("the guest binary {}: {e}", spec.guest.display())))?;
    let identity = Identity::choose(spec.ids, spec.user)?;
    let sources = spec.views.iter().map(|v| Source::open(v, privileged)).collect::<Outcome<Vec<_>>>()?;
    let layers = Layers::open(spec.root.layers(), privileged)?;
    let placeholders = make_placeholders(&spec)?;
    // Made while the child is at work, unless it is to be born in it. Declared before the sandbox, to outlive it.
    let born = cgroup::is_pure_v2();
    let mut limited = born.then(|| Cgroup::create(&spec.limits)).transpose()?;
    let (ours, theirs) = Channel::pair()?;
    let since = carry::now();
    let birthplace = limited.as_ref().and_then(|(cgroup, _)| cgroup.birthplace());
    let (pid, pidfd) = match sys::fork_into(NAMESPACES, birthplace).map_err(no_namespaces)? {
        Fork::Parent { pid, pidfd } => (pid, pidfd),
        Fork::Child => {
            drop(ours);
            let child = Child { spec: &spec, identity: &identity, channel: theirs, guest, stream };
            child.become_guest(sources, layers);
            std::process::exit(1);
        }
    };
    drop((theirs, stream, guest));
    let mut sandbox = Sandbox { pid, pidfd, reaped: false };
    identity.write_maps(pid).map_err(|fault| why_gone(&ours).unwrap_or(fault))?;
    layers.map_ids(pid, READONLY).map_err(|fault| why_gone(&ours).unwrap_or(fault))?;
    drop(layers);
    tell(&ours, &(), None)?;
    // From here on the child builds; what follows is done beside it and needed only at its end.
    map_ids(&spec, &identity, &sources, pid).map_err(|fault| why_gone(&ours).unwrap_or(fault))?;
    let hide = Matcher::hiding(&spec.hide);
    let protect = Matcher::of(&spec.protect);
    let made = match limited.take() {
        Some(made) => made,
        None => Cgroup::create(&spec.limits)?,
    };
    let (cgroup, cgroup_layer) = limited.insert(made);
    if identity.has_range() && !cgroup.limits("pids") {
        // The kernel counts by id, and root of the sandbox can become any of the range.
        let detail = cgroup_layer.detail.get_or_insert_default();
        detail.push_str("; that limits processes for each id, not in all");
    }
    for door in cgroup.doors(born)? {
        tell(&ours, &Asked::Join, Some(door.as_fd()))?;
    }
    let mut surveys = sources.iter().map(|s| survey(s, &hide, &protect)).collect::<Outcome<Vec<_>>>()?;
    for (view, survey) in spec.views.iter().zip(&mut surveys) {
        survey.protected.extend(placeholders.iter().flat_map(|p| p.hits(&view.source)));
        survey.protected.sort();
        survey.protected.dedup();
    }
    tell(&ours, &Asked::Finish, None)?;
    let prepared = Prepared { surveys, rlimits: rlimits(&spec, cgroup) };
    tell(&ours, &prepared, None)?;
    let mut walls = vec![
        Layer::new("namespaces", LayerState::Applied, identity.describe()),
        Layer::applied("seccomp"),
        cgroup_layer.clone(),
    ];
    let upper = follow_child(&ours, &mut walls)?;
    walls.extend(mount_layer(&spec));
    control.send(&Event::Started { pid, layers: &walls });
    let order = await_end(control, &sandbox)?;
    let waited = sandbox.end()?;
    let stats = cgroup.stats();
    drop(limited);
    let carried = match (order, upper) {
        (Some(Order::Finish), Some(upper)) => {
            Some(carry_over(&spec, &sources, &prepared.surveys, upper, (&hide, &protect), since)?)
        }
        _ => None,
    };
    // Whoever hears of the end may unmount or remove the project at once.
    drop((placeholders, sources));
    let status = waited.status;
    control.send(&Event::Exited {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        oom_kills: stats.oom_kills,
        pids_denied: stats.pids_denied,
        memory_peak_bytes: stats.memory_peak_bytes,
        cpu_us: waited.cpu_us,
        carried,
    });
    cgroup::sweep();
    Placeholders::sweep(&spec.journal);
    Ok(())
}

/// The sandbox's first process. Dropped, it takes all others with it.
struct Sandbox {
    pid: i32,
    pidfd: OwnedFd,
    reaped: bool,
}

impl Sandbox {
    fn end(&mut self) -> Outcome<sys::Waited> {
        // It may have ended by itself; then there is nobody to signal, only to wait for.
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
        let waited = sys::wait_for(self.pid).during("wait for the sandbox")?;
        self.reaped = true;
        Ok(waited)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if !self.reaped {
            // A failure is on its way to the user already.
            let _ = self.end();
        }
    }
}

fn make_placeholders(spec: &Spec) -> Outcome<Vec<Placeholders>> {
    let live = spec.views.iter().filter(|v| v.is_live() && v.source.is_dir());
    live.map(|v| Placeholders::make(&v.source, &spec.protect, &spec.journal)).collect()
}

fn survey(source: &Source, hide: &Matcher, protect: &Matcher) -> Outcome<Survey> {
    if !source.is_folder() {
        return Ok(Survey::default());
    }
    Survey::of(source.shown(), source.fd.as_fd(), &Rules { hide, protect })
}

/// Sends the child something. If it is gone, what it said before is the reason, and not that it cannot be told.
fn tell<T: Serialize>(channel: &Channel, message: &T, with: Option<BorrowedFd<'_>>) -> Outcome<()> {
    channel.send(message, with).map_err(|fault| why_gone(channel).unwrap_or(fault))
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
fn follow_child(channel: &Channel, layers: &mut Vec<Layer>) -> Outcome<Option<OwnedFd>> {
    let mut upper = None;
    while let Some((told, fd)) = channel.receive::<Told>()? {
        match told {
            Told::Upper => upper = fd,
            Told::Layer(layer) => layers.push(layer),
            Told::Failed(fault) => return Err(fault),
        }
    }
    Ok(upper)
}

fn mount_layer(spec: &Spec) -> Option<Layer> {
    spec.views.iter().any(|v| v.is_live()).then(|| {
        Layer::new(
            "protected-paths",
            LayerState::Partial,
            "a live mount: a hidden or protected file that the host replaces by rename while the sandbox runs becomes \
             visible or writable, protected names that do not exist yet can be made in subfolders or where a pattern has a wildcard, and a socket \
             that a program of the host makes in it meanwhile can be connected to",
        )
    })
}

/// Waits for the sandbox to end, for an order, or for the owner to go.
fn await_end(control: &mut Control, sandbox: &Sandbox) -> Outcome<Option<Order>> {
    let mut patience = Timespec::try_from(ak_footprint::IDLE_AFTER).ok();
    loop {
        if control.has_line() {
            return control.order();
        }
        let mut fds =
            [PollFd::new(&sandbox.pidfd, PollFlags::IN), PollFd::from_borrowed_fd(control.as_fd(), PollFlags::IN)];
        match poll(&mut fds, patience.as_ref()) {
            Ok(0) => {
                ak_footprint::trim();
                patience = None;
                continue;
            }
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(e) => return Err(e).during("wait for the sandbox"),
        }
        let (ended, spoken) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
        if spoken {
            return control.order();
        }
        if ended {
            // By itself: whoever owns it decides what to do with its changes.
            return control.order();
        }
    }
}

fn carry_over(
    spec: &Spec,
    sources: &[Source],
    surveys: &[Survey],
    upper: OwnedFd,
    rules: (&Matcher, &Matcher),
    since: (i64, u64),
) -> Outcome<Report> {
    let index = spec.views.iter().position(|v| v.form == ViewForm::Sync);
    let index = index.ok_or_else(|| Fault::new("internal", "nothing to carry over to"))?;
    let project = openat(&sources[index].fd, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .during("open the project")?;
    let carrier = Carrier::new(rules.0, rules.1, &surveys[index], since, is_host_root());
    carrier.carry(upper.as_fd(), project.as_fd())
}

/// Limits for each process, and where no cgroup holds all of them together, the next best thing.
fn rlimits(spec: &Spec, cgroup: &Cgroup) -> Vec<(u32, u64)> {
    let mut limits = vec![(libc::RLIMIT_NOFILE, spec.limits.open_files), (libc::RLIMIT_CORE, 0)];
    if !cgroup.limits("pids") {
        limits.push((libc::RLIMIT_NPROC, spec.limits.pids));
    }
    if !cgroup.limits("memory") {
        limits.push((libc::RLIMIT_DATA, spec.limits.memory_mib << 20));
    }
    limits
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
        "AppArmor forbids user namespaces: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or give agentkernel a profile with `userns,`"
    } else if restricted("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "user namespaces are off: sudo sysctl kernel.unprivileged_userns_clone=1"
    } else if restricted("/proc/sys/user/max_user_namespaces", "0") {
        "user namespaces are off: sudo sysctl user.max_user_namespaces=15000"
    } else {
        "see `agentkernel doctor` for what is missing"
    };
    fault.hint(hint)
}
