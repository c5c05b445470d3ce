//! The process that puts the caller's folders into a sandbox which was built without them. It has all capabilities
//! within the sandbox's user namespace and is done before the first command can run; it holds nothing of the guest's.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{CWD, Mode, OFlags, mkdir, open},
    mount::{FsPickFlags, fsconfig_reconfigure, fsconfig_set_string, fspick},
    thread::{ThreadNameSpaceType, move_into_thread_name_spaces},
};
use serde::{Deserialize, Serialize};

use super::{Base, Told, VOID_FILE, VOID_FOLDER, set_root_attributes, show_file};
use crate::{
    channel::Channel,
    control::Layer,
    etc_files,
    fault::{During, Fault, Outcome},
    filesystems, gvisor, image_root, own_path,
    place::{self, Root},
    spec::{GitFiles, Spec, View, ViewForm},
    sys, trust,
    view::{guard, overlay, source, survey::Survey},
};

/// What the supervisor tells the placer.
#[derive(Debug, Serialize, Deserialize)]
pub enum Late {
    /// Comes first, and is done while the caller's folders are being searched.
    Furnish(Furniture),
    /// Mounts of the next views come with this message, where they are many.
    Trees,
    /// The mounts of the last views come with this one. Without any, the placer opens them by itself.
    Show(Vec<ShownView>),
}

/// What a caller brings to a sandbox that was built before, besides folders.
#[derive(Debug, Serialize, Deserialize)]
pub struct Furniture {
    pub hostname: String,
    pub scratch_mib: u64,
    pub tmp_mib: u64,
    pub trusted_certificate: Option<String>,
    pub git: Option<GitFiles>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ShownView {
    pub view: View,
    pub survey: Survey,
    pub is_folder: bool,
    /// Device and number of what was searched.
    pub identity: (u64, u64),
}

pub struct Placer<'a> {
    pub spec: &'a Spec,
    pub base: Base,
    /// The mount namespace that the sandbox lives in.
    pub namespace: OwnedFd,
    pub orders: Channel,
}

impl Placer<'_> {
    pub fn run(self) -> ! {
        sys::close_all_but(&[self.namespace.as_fd(), self.base.root.fd(), self.orders.as_fd()]);
        let status = match self.serve() {
            Ok(()) => 0,
            Err(fault) => {
                // If the supervisor is gone there is nobody to tell.
                let _ = self.orders.send(&Told::Failed(fault), None);
                1
            }
        };
        sys::exit_now(status)
    }

    fn serve(&self) -> Outcome<()> {
        let (views, mut trees) = self.await_views()?;
        if trees.is_empty() {
            trees = views.iter().map(|v| source::clone_same(&v.view, v.identity)).collect::<Outcome<Vec<_>>>()?;
        }
        let mut built = Vec::new();
        for (index, (shown, tree)) in views.iter().zip(trees).enumerate() {
            sys::make_private(tree.as_fd()).during("make a view's mount private")?;
            built.push((shown, self.build_view(index, shown, tree)?));
        }
        // Taking it apart takes longer than all this, and is left to the supervisor.
        let left = open("root/proc/self/ns/mnt", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .during("open our mount namespace")?;
        move_into_thread_name_spaces(self.namespace.as_fd(), ThreadNameSpaceType::MOUNT)
            .during("enter the sandbox's mount namespace")?;
        if let Some(layer) = self.attach(&views, built)? {
            self.orders.send(&Told::Layer(layer), None)?;
        }
        if self.spec.root_readonly {
            set_root_attributes(true)?;
        }
        self.orders.send(&Told::Shown, Some(left.as_fd()))
    }

    fn await_views(&self) -> Outcome<(Vec<ShownView>, Vec<OwnedFd>)> {
        let mut trees = Vec::new();
        loop {
            let Some((late, some)) = self.orders.receive_all()? else {
                return Err(Fault::start("the supervisor is gone"));
            };
            trees.extend(some);
            match late {
                Late::Furnish(furniture) => self.furnish(&furniture)?,
                Late::Trees => {}
                Late::Show(views) if trees.is_empty() || trees.len() == views.len() => return Ok((views, trees)),
                Late::Show(_) => return Err(Fault::start("not every mount of the folders arrived")),
            }
        }
    }

    fn furnish(&self, furniture: &Furniture) -> Outcome<()> {
        let Furniture { hostname, scratch_mib, tmp_mib, trusted_certificate, git } = furniture;
        self.resize(*scratch_mib, *tmp_mib)?;
        self.name(hostname)?;
        trust::install_both(&self.base.root, trusted_certificate.as_deref(), git.as_ref())
    }

    /// The mount of a view, whole and attached nowhere.
    fn build_view(&self, index: usize, shown: &ShownView, tree: OwnedFd) -> Outcome<OwnedFd> {
        let ShownView { view, survey, is_folder, .. } = shown;
        if !is_folder {
            return Ok(tree);
        }
        if view.is_live() {
            place::without_set_ids(&tree)?;
            let name = format!("v{index}");
            mkdir(name.as_str(), Mode::from_raw_mode(0o755)).during("make a place for a view")?;
            place::attach_at(&tree, Path::new(&name)).during("attach a view")?;
            let mounted = open(name.as_str(), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
            let mounted: OwnedFd = mounted.during("open a view")?;
            let void = guard::open_void(Path::new(VOID_FILE), Path::new(VOID_FOLDER))?;
            guard::apply(mounted.as_fd(), survey, &void)?;
            return place::clone_tree(mounted.as_fd(), Path::new("")).during("take a view along");
        }
        let built = overlay::build(index, tree, survey, (!view.readonly).then_some(self.base.uppers))?;
        if view.form == ViewForm::Sync
            && let Some(upper) = &built.upper
        {
            self.orders.send(&Told::Upper(index), Some(upper.as_fd()))?;
        }
        Ok(built.tree)
    }

    /// In the sandbox's own mount namespace. Views around others come first.
    fn attach(&self, views: &[ShownView], mut built: Vec<(&ShownView, OwnedFd)>) -> Outcome<Option<Layer>> {
        let root = gvisor::root_in_jail(self.spec);
        let root = open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let root = Root::new(root.during("open the sandbox's root")?);
        let all: Vec<View> = views.iter().map(|shown| shown.view.clone()).collect();
        built.sort_by_key(|(shown, _)| shown.view.target.components().count());
        for (ShownView { view, is_folder, .. }, tree) in built {
            place::check(&all, &root, view)?;
            if *is_folder {
                root.attach_folder(&tree, own_path::place_of(&root, self.spec, &all, view))?;
            } else {
                show_file(&root, view, &tree)?;
            }
        }
        Ok(own_path::attach(&root, self.spec, &all))
    }

    /// How much the sandbox may write, where this caller may write more or less than was thought.
    fn resize(&self, scratch_mib: u64, tmp_mib: u64) -> Outcome<()> {
        if scratch_mib != self.spec.scratch_mib {
            resize_tmpfs(".", scratch_mib)?;
        }
        if tmp_mib != self.spec.tmp_mib {
            resize_tmpfs("root/tmp", tmp_mib)?;
            resize_tmpfs("root/dev/shm", tmp_mib)?;
        }
        Ok(())
    }

    fn name(&self, hostname: &str) -> Outcome<()> {
        rustix::system::sethostname(hostname.as_bytes()).during("set the host name")?;
        image_root::write_machine(&self.base.root, &etc_files::of_the_machine(hostname, self.spec.network))
    }
}

fn resize_tmpfs(path: &str, mib: u64) -> Outcome<()> {
    let picked = fspick(CWD, path, FsPickFlags::FSPICK_CLOEXEC).during("find a temporary filesystem")?;
    for (key, value) in filesystems::tmpfs_size(mib) {
        fsconfig_set_string(&picked, key, value.as_str()).during("size a temporary filesystem")?;
    }
    fsconfig_reconfigure(&picked).during("size a temporary filesystem")
}
