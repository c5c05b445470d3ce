//! The process that builds the sandbox around itself and then becomes its guest. It starts in the new namespaces,
//! with the host's filesystem still in sight, and gives up more with every step.

use std::{
    convert::Infallible,
    ffi::CStr,
    fs,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use ak_net::capture::{FIRST_FD, Listeners};
use rustix::{
    fs::{CWD, Mode, OFlags, open},
    mount::{MountPropagationFlags, UnmountFlags, mount_change, unmount},
    process::{chdir, fchdir, pivot_root, umask},
};
use serde::{Deserialize, Serialize};

use crate::{
    cgroup,
    channel::Channel,
    control::Layer,
    fault::{During, Fault, Outcome},
    filesystems,
    gvisor::{self, Runtime},
    host_image,
    host_programs::{Lower, LowerTrees},
    identity::Identity,
    image_root,
    layers::Layers,
    monitor::Given,
    own_limits, own_path,
    place::{self, Root},
    spec::{RootChoice, Spec, View, ViewForm},
    sys, trust,
    upper::Uppers,
    view::{
        guard::{self, Void},
        overlay,
        source::Source,
        survey::Survey,
    },
    walls::{self, Filter, Kept, Walls, Writes},
};

mod network;
mod on_gvisor;
mod on_monitor;
mod placer;
mod warm;

use network::Making;
pub use placer::{Furniture, Late, ShownView};
pub use warm::walls_need_views;

/// What the child tells the supervisor before it becomes the guest.
#[derive(Debug, Serialize, Deserialize)]
pub enum Told {
    /// The writable layer of this view comes with this message, to be carried over.
    Upper(usize),
    /// Of a warm one: every view is in its place. The mount namespace that they were built in comes with this message.
    Shown,
    Layer(Layer),
    Failed(Fault),
}

/// What the supervisor tells the child when it has prepared everything. The ways into the cgroups come with it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Prepared {
    /// How many there are.
    pub cgroups: usize,
    /// What they limit, as `own_limits` names it.
    pub limited: Vec<String>,
    /// What was found in the views.
    pub surveys: Vec<Survey>,
    /// Limits for each process, and what no cgroup holds.
    pub rlimits: Vec<(sys::Resource, u64)>,
}

/// What every layer of an image is mounted with, and what a kept sandbox writes to.
pub const READONLY: u64 = WRITABLE | sys::MOUNT_ATTR_RDONLY;
pub const WRITABLE: u64 = sys::MOUNT_ATTR_NOSUID | sys::MOUNT_ATTR_NODEV;

/// In the scratch filesystem: what stands in for something hidden.
const VOID_FILE: &str = "void-file";
const VOID_FOLDER: &str = "void-folder";

/// Where in the scratch filesystem a kept sandbox's folder on disk is put.
const DISK: &str = "k";

/// A root that shows nothing of the caller's yet.
struct Base {
    root: Root,
    /// The user's home in an image; the host's image has its own.
    home: Option<PathBuf>,
    void: Void,
    uppers: Uppers,
}

pub struct Child<'a> {
    pub spec: &'a Spec,
    pub identity: &'a Identity,
    pub channel: Channel,
    pub guest: OwnedFd,
    /// gVisor's program, where the guest runs on that.
    pub runtime: Option<Runtime>,
    /// What a machine's monitor gets, where that takes the guest's place.
    pub given: Option<Given>,
    pub stream: OwnedFd,
    /// What the guest is told of itself.
    pub manner: Manner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Temporary,
    /// The stream is a door, and what is written lies on disk.
    Kept,
    /// The stream is a door through which the only stream comes once everything is in place.
    Warm,
}

impl Child<'_> {
    /// Does not come back, unless something failed.
    pub fn become_guest(mut self, sources: Vec<Source>, lower: Lower<'_>, disk: Option<Layers>) -> Fault {
        match self.clear_placed_numbers().and_then(|()| self.build(sources, lower, disk)) {
            Ok(never) => match never {},
            Err(fault) => {
                // If the supervisor is gone there is nobody to tell.
                let _ = self.channel.send(&Told::Failed(fault.clone()), None);
                fault
            }
        }
    }

    /// What is needed until the very end must not lie where the guest's own descriptors will.
    fn clear_placed_numbers(&mut self) -> Outcome<()> {
        self.guest = sys::above_placed(&self.guest).during("move the guest's program")?;
        self.runtime = self.runtime.take().map(Runtime::above_placed).transpose()?;
        self.given = self.given.take().map(Given::above_placed).transpose()?;
        self.stream = sys::above_placed(&self.stream).during("move the stream")?;
        self.channel = self.channel.above_placed()?;
        Ok(())
    }

    fn build(&mut self, sources: Vec<Source>, lower: Lower<'_>, disk: Option<Layers>) -> Outcome<Infallible> {
        let network = self.begin(MountPropagationFlags::PRIVATE)?;
        // Before anything is mounted over the host's paths.
        self.close_given()?;
        let trees = self.spec.views.iter().zip(sources);
        let programs = gvisor::Programs::open(self.spec)?;
        let trees = trees.map(|(v, s)| Ok((s.is_folder(), s.into_tree(v)?))).collect::<Outcome<Vec<_>>>()?;
        let base = self.build_base("/tmp", lower, disk)?;
        let captured = network.enter(&self.channel)?;
        // The supervisor has made our cgroup and searched the views for hidden files meanwhile.
        let Prepared { surveys, rlimits, limited, .. } = self.await_supervisor()?;
        self.show_views(&base, trees, &surveys)?;
        let Base { root, home, .. } = base;
        // Only now that we are in our cgroups.
        sys::unshare(libc::CLONE_NEWCGROUP).during("make a cgroup namespace")?;
        rustix::system::sethostname(self.spec.hostname.as_bytes()).during("set the host name")?;
        if let Some(programs) = programs {
            return self.become_gvisor(&programs, &root, &rlimits);
        }
        if let Some(monitor) = &self.spec.monitor {
            return self.become_monitor(monitor, &root, &rlimits);
        }
        own_limits::show(&limited)?;
        enter(&root)?;
        set_root_attributes(self.spec.root_readonly)?;
        for (resource, value) in rlimits {
            sys::set_rlimit(resource, value).during("set a resource limit")?;
        }
        self.place_descriptors(captured.as_ref())?;
        self.raise_walls(captured.is_some(), home)
    }

    /// Into the namespaces and to the ids that the root is built with.
    fn begin(&self, propagation: MountPropagationFlags) -> Outcome<Making> {
        // What is made here is for everyone in the sandbox, whatever the caller's mask says.
        umask(Mode::from_raw_mode(0o022));
        let network = network::make(self.spec.network);
        sys::unshare(libc::CLONE_NEWIPC | libc::CLONE_NEWUTS).during("make the ipc and host name namespaces")?;
        self.channel.expect::<()>()?;
        if self.identity.has_range() {
            sys::set_ids(0, 0, true).during("become root of the sandbox")?;
        }
        walls::die_with_parent()?;
        mount_change("/", propagation | MountPropagationFlags::REC).during("make mounts private")?;
        Ok(network)
    }

    /// `place` is a folder of the host's that is covered, and is not looked into any more.
    fn build_base(&self, place: &str, lower: Lower<'_>, disk: Option<Layers>) -> Outcome<Base> {
        let LowerTrees { layers, etc, programs } = lower.into_opened()?;
        let disk = disk.map(|disk| disk.into_trees(WRITABLE)).transpose()?;
        filesystems::mount_tmpfs(place, self.spec.scratch_mib, "0755")?;
        chdir(place).during("enter the scratch filesystem")?;
        fs::create_dir("root").during("make the new root")?;
        let void = guard::void(Path::new(VOID_FILE), Path::new(VOID_FOLDER))?;
        let uppers = match disk.iter().flatten().next() {
            Some(tree) => {
                fs::create_dir(DISK).during("make a place for the sandbox's disk")?;
                place::attach_at(tree, Path::new(DISK)).during("attach the sandbox's disk")?;
                Uppers::Kept(DISK)
            }
            None => Uppers::Fresh,
        };
        let (root, home) = match self.spec.root {
            RootChoice::Host { .. } if self.manner == Manner::Kept => {
                (host_image::build_kept(self.spec, etc.as_ref(), uppers)?, None)
            }
            RootChoice::Host { .. } => {
                let root = host_root()?;
                host_image::build(&root, self.spec, etc.as_ref())?;
                (root, None)
            }
            RootChoice::Layers { .. } => {
                let root = image_root::mount(&layers, uppers)?;
                let home = image_root::build(&root, self.spec)?;
                (root, Some(home))
            }
        };
        trust::install_both(&root, self.spec.trusted_certificate.as_deref(), self.spec.git.as_ref())?;
        filesystems::build(self.spec.tmp_mib, &void, walls::limit_shares)?;
        programs.attach(&root, self.manner == Manner::Kept)?;
        Ok(Base { root, home, void, uppers })
    }

    fn show_views(&self, base: &Base, trees: Vec<(bool, OwnedFd)>, surveys: &[Survey]) -> Outcome<()> {
        let Base { root, void, uppers, .. } = base;
        own_path::clear(root, &self.spec.views, self.manner)?;
        let mut views: Vec<_> = self.spec.views.iter().zip(trees).zip(surveys).enumerate().collect();
        views.sort_by_key(|(_, ((view, _), _))| view.target.components().count());
        for (index, ((view, (is_folder, tree)), survey)) in views {
            place::check(&self.spec.views, root, view)?;
            if is_folder {
                self.show_folder(root, (index, view), tree, survey, void, *uppers)?;
            } else {
                show_file(root, view, &tree)?;
            }
        }
        own_path::attach(root, self.spec, &self.spec.views)
            .map_or(Ok(()), |layer| self.channel.send(&Told::Layer(layer), None))
    }

    fn await_supervisor(&self) -> Outcome<Prepared> {
        let Some((prepared, doors)) = self.channel.receive_all::<Prepared>()? else {
            return Err(Fault::start("the supervisor is gone"));
        };
        if doors.len() != prepared.cgroups {
            return Err(Fault::start("the ways into the sandbox's cgroups did not arrive"));
        }
        for door in doors {
            cgroup::enter(door).during("enter the sandbox's cgroup")?;
        }
        Ok(prepared)
    }

    fn show_folder(
        &self,
        root: &Root,
        (index, view): (usize, &View),
        tree: OwnedFd,
        survey: &Survey,
        void: &Void,
        uppers: Uppers,
    ) -> Outcome<()> {
        let target = own_path::place_of(root, self.spec, &self.spec.views, view);
        if view.is_live() {
            place::without_set_ids(&tree)?;
            root.attach_folder(&tree, target)?;
            let mounted = root.find(target, OFlags::DIRECTORY).during("open a view")?;
            return guard::apply(mounted.as_fd(), survey, void);
        }
        let built = overlay::build(index, tree, survey, (!view.readonly).then_some(uppers))?;
        root.attach_folder(&built.tree, target)?;
        if view.form == ViewForm::Sync
            && let Some(upper) = &built.upper
        {
            self.channel.send(&Told::Upper(index), Some(upper.as_fd()))?;
        }
        Ok(())
    }

    /// 0, 1 and 2 lead nowhere, 3 is the stream to the host, the listeners of a captured network follow, and nothing
    /// else is left after exec.
    fn place_descriptors(&self, captured: Option<&Listeners>) -> Outcome<()> {
        sys::close_on_exec_from(3).during("close descriptors")?;
        let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).during("open /dev/null")?;
        for number in 0..3 {
            sys::place_fd(&null, number).during("place a descriptor")?;
        }
        // It may lie where a listener goes, and must not close that one later.
        drop(null);
        let listeners = captured.into_iter().flat_map(|all| &all.sockets);
        let listeners = listeners.map(|s| s.as_ref().map(sys::above_placed).transpose()).collect::<Result<Vec<_>, _>>();
        for (number, listener) in (FIRST_FD..).zip(listeners.during("place the listeners")?) {
            // Without one, whatever lies at that number closes by exec.
            if let Some(listener) = listener {
                sys::place_fd(&listener, number).during("place a listener")?;
            }
        }
        sys::place_fd(&self.stream, 3).during("place the stream")
    }

    fn raise_walls(&self, captured: bool, home: Option<PathBuf>) -> Outcome<Infallible> {
        let mut writable = self.spec.landlock_writable.clone();
        if !writable.contains(&PathBuf::from("/")) {
            // An image that says its users live in the root folder, or in the project, must not open these.
            let is_view = |home: &Path| self.spec.views.iter().any(|view| home.starts_with(&view.target));
            writable.extend(home.filter(|home| home != Path::new("/") && !is_view(home)));
        }
        let (spec, is_live) = (self.spec, walls::has_live_view(self.spec));
        self.raise(&Walls {
            capabilities: Kept::OfSandbox { choice: spec.capabilities, is_live },
            user: self.identity.has_range().then_some(spec.user),
            dies_with_parent: true,
            writes: Writes::Required(&writable),
            filter: Filter::OfSandbox { choice: spec.seccomp, is_live },
        })?;
        let told =
            [(captured, c"captured"), (self.manner == Manner::Kept, c"kept"), (self.manner == Manner::Warm, c"warm")];
        let words: Vec<&CStr> = std::iter::once(c"ak-guest")
            .chain(told.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| word))
            .collect();
        Err(sys::exec_fd(self.guest.as_fd(), &words)).during("start the guest")
    }
}

impl Child<'_> {
    /// The supervisor hears what Landlock holds. If it is gone, nothing is started.
    fn raise(&self, walls: &Walls<'_>) -> Outcome<()> {
        if let Some(layer) = walls::raise(walls)? {
            self.channel.send(&Told::Layer(layer), None)?;
        }
        if self.channel.peer_lives() { Ok(()) } else { Err(Fault::start("the supervisor is gone")) }
    }
}

fn show_file(root: &Root, view: &View, tree: &OwnedFd) -> Outcome<()> {
    if view.readonly || view.form != ViewForm::Mount {
        place::readonly(tree).during("make a view read-only")?;
    }
    root.attach_file(tree, &view.target)
}

/// Of the root that we are in.
fn set_root_attributes(is_readonly: bool) -> Outcome<()> {
    let slash = open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).during("open the new root")?;
    set_attributes(slash.as_fd(), is_readonly)?;
    if is_readonly { host_image::close_etc(slash.as_fd()) } else { Ok(()) }
}

fn set_attributes(root: BorrowedFd<'_>, is_readonly: bool) -> Outcome<()> {
    let mut attributes = sys::MOUNT_ATTR_NOSUID | sys::MOUNT_ATTR_NODEV;
    if is_readonly {
        attributes |= sys::MOUNT_ATTR_RDONLY;
    }
    sys::mount_setattr(root, false, attributes, None).during("set the root's attributes")
}

/// The root as a mount of its own, to fill.
fn host_root() -> Outcome<Root> {
    let bind = place::clone_tree(CWD, Path::new("root")).during("make the new root")?;
    let at = open("root", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).during("make the new root")?;
    place::attach(&bind, &at).during("make the new root")?;
    let root = open("root", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    Ok(Root::new(root.during("open the new root")?))
}

/// Makes `root` the only filesystem in sight.
pub fn enter(root: &Root) -> Outcome<()> {
    fchdir(root.fd()).during("enter the new root")?;
    pivot_root(".", ".").during("change to the new root")?;
    unmount(".", UnmountFlags::DETACH).during("let go of the host's root")?;
    chdir("/").during("enter the new root")
}
