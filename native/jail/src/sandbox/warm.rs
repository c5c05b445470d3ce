//! A sandbox that waits, built, for what it is to show and to whom. It is taken once; whatever of it depends on the
//! caller is looked at then and not before, hidden files above all.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::{
    NAMESPACES, Process, Sandbox, Uppers, borrowed, follow_child, map_ids, no_namespaces, open_guest, rlimits, tell,
    why_gone,
};
use crate::{
    carry,
    cgroup::{self, Cgroup},
    channel::{Channel, MOST_DESCRIPTORS},
    child::{Child, Furniture, Late, Manner, Prepared, ShownView, Told, walls_need_views},
    control::{Layer, LayerState},
    fault::{During, Fault, Outcome},
    foresight::{self, Foreseen},
    git,
    gvisor::{self, Said},
    host_etc::EtcCopy,
    host_programs::{self, Lower},
    identity::Identity,
    keep::door::Door,
    spec::{RootChoice, Spec},
    sys::{self, Fork},
    taking,
    view::{
        contents::Contents,
        matcher::Matcher,
        memory::Memory,
        rules::Rules,
        search::{live_layer, make_placeholders, search},
        source::Source,
        survey::Survey,
        told,
    },
};

pub struct Warm {
    spec: Spec,
    /// By its rules, which a caller's mostly are.
    hide: Matcher,
    protect: Matcher,
    contents: Option<Contents>,
    process: Process,
    cgroup: Cgroup,
    layers: Vec<Layer>,
    identity: Identity,
    /// To the process that will show the views.
    placer: Channel,
    /// To the process that will be the guest once the views are shown, where it is not the guest yet.
    builder: Option<Channel>,
    /// The guest's door, and the stream that it gets through it.
    entrance: Option<(Door, OwnedFd)>,
    /// What the root has of the host: a copy of /etc, and directories that are shown.
    etc: Option<EtcCopy>,
    shown: host_programs::Identities,
    said: Option<Said>,
}

impl Warm {
    pub fn start(spec: Spec, stream: OwnedFd) -> Outcome<Self> {
        let guest = open_guest(&spec)?;
        let (runtime, said) = gvisor::Runtime::open(&spec)?.unzip();
        let identity = Identity::choose(spec.ids, spec.user)?;
        let etc = EtcCopy::for_root(&spec);
        let lower = Lower::open(&spec.root, etc.as_ref(), identity.is_host_roots())?;
        let shown = host_programs::Identities::now(&spec.root);
        let born = cgroup::is_pure_v2();
        let mut limited = born.then(|| Cgroup::create(&spec.limits_around(), false)).transpose()?;
        let (ours, theirs) = Channel::pair()?;
        let (placer, orders) = Channel::pair()?;
        let (manner, entrance, guests_end) = if walls_need_views(&spec) {
            (Manner::Temporary, None, stream)
        } else {
            let (door, guests_end) = Door::pair()?;
            (Manner::Warm, Some((door, stream)), guests_end)
        };
        let birthplace = limited.as_ref().and_then(|(cgroup, _)| cgroup.birthplace());
        let (pid, pidfd) = match sys::fork_into(NAMESPACES, birthplace).map_err(no_namespaces)? {
            Fork::Parent { pid, pidfd } => (pid, pidfd),
            Fork::Child => {
                drop((ours, placer, entrance));
                let child = Child {
                    spec: &spec,
                    identity: &identity,
                    channel: theirs,
                    guest,
                    runtime,
                    given: None,
                    stream: guests_end,
                    manner,
                };
                child.become_warm_guest(lower, orders);
                std::process::exit(1);
            }
        };
        drop((theirs, orders, guests_end, guest, runtime));
        let process = Process { pid, pidfd, reaped: false };
        identity.write_maps(pid).map_err(|fault| why_gone(&ours).unwrap_or(fault))?;
        lower.map_ids(pid).map_err(|fault| why_gone(&ours).unwrap_or(fault))?;
        drop(lower);
        tell(&ours, &(), &[])?;
        let (cgroup, mut cgroup_layers) = match limited.take() {
            Some(made) => made,
            None => Cgroup::create(&spec.limits_around(), false)?,
        };
        if identity.has_range() && !cgroup.limits("pids") {
            cgroup_layers.add_to_limits("; that limits processes for each id, not in all");
        }
        let doors = cgroup.doors(born)?;
        // Those of a kernel of its own are fixed from here on; the others' are set when it is taken.
        let fixed = if spec.gvisor.is_some() { rlimits(&spec, &cgroup) } else { Vec::new() };
        let prepared =
            Prepared { cgroups: doors.len(), limited: cgroup.limited(), surveys: Vec::new(), rlimits: fixed };
        tell(&ours, &prepared, &borrowed(&doors))?;
        drop(doors);
        let mut walls = vec![
            Layer::new("namespaces", LayerState::Applied, identity.describe()),
            Layer::applied("seccomp"),
            cgroup_layers.limits,
        ];
        let builder = if entrance.is_some() {
            follow_child(&ours, &mut walls)?;
            None
        } else {
            Some(ours)
        };
        let (hide, protect) = (Matcher::hiding(&spec.hide.read()?), spec.guarded());
        let (layers, contents) = (walls, Contents::beside(&spec.journal));
        Ok(Self {
            spec,
            hide,
            protect,
            contents,
            process,
            cgroup,
            layers,
            identity,
            placer,
            builder,
            entrance,
            etc,
            shown,
            said,
        })
    }

    /// Readable when the first process has ended, and so all others.
    pub fn pidfd(&self) -> &OwnedFd {
        &self.process.pidfd
    }

    /// Looks ahead, as an order says.
    pub fn look(&self, order: &[u8], memory: Option<&mut Memory>) -> Option<Foreseen> {
        let rules = Rules::new(&self.hide, &self.protect).knowing(self.contents.as_ref());
        // A repository is shown at its own path.
        let beside = self.spec.views.iter().filter(|view| view.repository.is_some()).map(|view| view.target.clone());
        let mut seen = foresight::look(order, beside, self.identity.is_host_roots(), memory, &rules)?;
        seen.host_holds = self.host_holds();
        Some(seen)
    }

    /// Whether what it has of /etc and of programs is as it was when it was built. Of a copy that could not be kept nobody
    /// knows.
    fn host_holds(&self) -> bool {
        let root = &self.spec.root;
        let is_same_etc = self.etc.as_ref().map_or(!matches!(root, RootChoice::Host { .. }), EtcCopy::holds);
        is_same_etc && self.shown == host_programs::Identities::now(root)
    }

    /// The spec that a caller's line asks for.
    pub fn spec_of(&self, line: &[u8]) -> Outcome<Spec> {
        taking::spec_of(line, &self.spec)
    }

    /// The sandbox that `spec` asks for.
    pub fn take(self, spec: &Spec, mut foreseen: Option<Foreseen>) -> Outcome<Sandbox<'_>> {
        if !spec.has_shape_of(&self.spec) {
            return Err(Fault::new("conflict", "the sandbox was built for another shape"));
        }
        if !foreseen.as_ref().is_some_and(|seen| seen.is_for(spec) && seen.host_holds) && !self.host_holds() {
            return Err(Fault::new("conflict", "what the sandbox has of /etc or of programs has changed on the host"));
        }
        let Self { spec: built, mut hide, mut protect, process, cgroup, mut layers, identity, .. } = self;
        let Self { placer, builder, entrance, etc, said, contents, .. } = self;
        if !spec.has_rules_of(&built) {
            (hide, protect) = (Matcher::hiding(&spec.hide.read()?), spec.guarded());
            foreseen.iter_mut().for_each(Foreseen::forget_search);
        }
        // Beside the search.
        tell(&placer, &furniture(spec), &[])?;
        let since = carry::now();
        let privileged = identity.is_host_roots();
        let open = |view| foresight::take(&mut foreseen, spec, view).map_or_else(|| Source::open(view, privileged), Ok);
        let mut sources = spec.views.iter().map(open).collect::<Outcome<Vec<_>>>()?;
        map_ids(spec, &identity, &sources, process.pid)?;
        let mut placeholders = make_placeholders(spec.into())?;
        let rules = Rules::new(&hide, &protect).knowing(contents.as_ref());
        let surveys = search(spec.into(), &mut sources, &rules, &mut placeholders)?;
        let surveys = show(&placer, spec, &sources, surveys)?;
        // Beside the placer.
        if spec.limits != built.limits {
            cgroup.set_limits(&spec.limits_around())?;
        }
        let late = if spec.gvisor.is_none() { rlimits(spec, &cgroup) } else { Vec::new() };
        for (resource, value) in late {
            sys::set_rlimit_of(process.pid, resource, value).during("set a resource limit")?;
        }
        let (uppers, left) = await_shown(&placer, &mut layers)?;
        if let Some(builder) = builder {
            follow_child(&builder, &mut layers)?;
        }
        if let Some((door, stream)) = entrance
            && !door.let_in(stream.as_fd())
        {
            return Err(Fault::start("the guest was killed while it waited"));
        }
        layers.extend(live_layer(&spec.views));
        layers.extend(git::live::layer(&surveys));
        layers.extend(told::layer(&spec.views, &sources, &surveys));
        Ok(Sandbox {
            process,
            cgroup,
            layers,
            spec,
            uppers,
            hide,
            surveys,
            sources,
            placeholders,
            since,
            contents,
            left,
            said,
            _image: None,
            _etc: etc,
            _identity: identity,
        })
    }
}

/// Gives the surveys back: they are needed once more when changes are carried over.
fn show(placer: &Channel, spec: &Spec, sources: &[Source], surveys: Vec<Survey>) -> Outcome<Vec<Survey>> {
    let views = spec.views.iter().zip(sources).zip(surveys).map(|((view, source), survey)| ShownView {
        view: view.clone(),
        survey,
        is_folder: source.is_folder(),
        identity: source.identity(),
    });
    let order = Late::Show(views.collect());
    let trees: Vec<BorrowedFd<'_>> = sources.iter().filter_map(Source::tree).map(AsFd::as_fd).collect();
    let (before, with) = trees.split_at(trees.len().saturating_sub(MOST_DESCRIPTORS));
    for some in before.chunks(MOST_DESCRIPTORS) {
        tell(placer, &Late::Trees, some)?;
    }
    tell(placer, &order, with)?;
    let Late::Show(views) = order else { return Ok(Vec::new()) };
    Ok(views.into_iter().map(|view| view.survey).collect())
}

fn furniture(spec: &Spec) -> Late {
    Late::Furnish(Furniture {
        hostname: spec.hostname.clone(),
        scratch_mib: spec.scratch_mib,
        tmp_mib: spec.tmp_mib,
        trusted_certificate: spec.trusted_certificate.clone(),
        git: spec.git.clone(),
    })
}

/// The layers to carry over, and the mount namespace that the views were built in.
fn await_shown(placer: &Channel, layers: &mut Vec<Layer>) -> Outcome<(Uppers, Option<OwnedFd>)> {
    let mut uppers = Uppers::new();
    while let Some((told, fd)) = placer.receive::<Told>()? {
        match told {
            Told::Upper(index) => uppers.extend(fd.map(|fd| (index, fd))),
            Told::Shown => return Ok((uppers, fd)),
            Told::Failed(fault) => return Err(fault),
            Told::Layer(layer) => layers.push(layer),
        }
    }
    Err(Fault::start("what shows folders in the sandbox was killed"))
}
