//! Which project a kept sandbox has a copy of. Whoever reads or applies its changes needs to know where that lies, what
//! of it is hidden or protected, and since when what changes there is the host's doing and not what the sandbox began
//! with. That moment stays for as long as the sandbox's layer has anything in it.

use std::{
    fs::{self, DirBuilder},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::folder::{DISK, StateFolder};
use crate::{
    carry,
    fault::{During, Fault, Outcome},
    spec::{HideRule, Spec, View, ViewForm},
};

pub(super) const FILE: &str = "project.json";
pub const APPLIED: &str = "applied";
/// Beside the layer: what is to become of it, until it is whole.
pub const FRESH: &str = "fresh";
const VERSION: u32 = 1;
/// Where there is only one.
const LAYER: &str = "u0";

#[derive(Debug, Serialize, Deserialize)]
pub struct Project {
    version: u32,
    /// The folder of the host.
    pub source: PathBuf,
    /// Its changes are carried over by a stop, and need no order of their own.
    pub is_synced: bool,
    layer: String,
    pub hide: Vec<HideRule>,
    pub protect: Vec<String>,
    #[serde(default)]
    pub review: Vec<String>,
    /// Where what a stop does not carry over is kept.
    #[serde(default)]
    pub set_aside: Option<PathBuf>,
    /// Seconds and nanoseconds.
    pub since: (i64, u64),
}

/// Notes it, before the sandbox can change anything.
pub(super) fn begin(folder: &StateFolder, spec: &Spec, disk: &Path) -> Outcome<()> {
    let Some(index) = spec.views.iter().position(|view| view.form != ViewForm::Mount && !view.readonly) else {
        return folder.remove(FILE);
    };
    let view = &spec.views[index];
    let layer = format!("u{index}");
    let earlier = folder.read::<Project>(FILE).filter(|earlier| has_changes(&disk.join(&earlier.layer)));
    if earlier.is_none() {
        folder.remove(APPLIED)?;
    }
    let project = Project {
        version: VERSION,
        source: view.source.clone(),
        is_synced: view.form == ViewForm::Sync,
        layer,
        hide: spec.hide.read()?,
        protect: spec.protect.clone(),
        review: spec.review.clone(),
        set_aside: spec.set_aside.clone(),
        since: earlier.map_or_else(carry::now, |earlier| earlier.since),
    };
    folder.write(FILE, &project)
}

/// A project that was copied into a container, whose changes are brought into a layer when they are asked for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Copied {
    source: PathBuf,
    is_synced: bool,
    hide: Vec<HideRule>,
    protect: Vec<String>,
    #[serde(default)]
    review: Vec<String>,
    set_aside: Option<PathBuf>,
}

/// Notes it, before anything is read of it. What was known of changes before is forgotten.
pub fn begin_copied(state: &Path, copied: Copied) -> Outcome<()> {
    let Copied { source, is_synced, hide, protect, review, set_aside } = copied;
    let (version, layer, since) = (VERSION, LAYER.into(), carry::now());
    let project = Project { version, source, is_synced, layer, hide, protect, review, set_aside, since };
    forget_changes(state, &project)?;
    project.write(state)
}

/// What was carried over is no change any more.
pub fn forget_changes(state: &Path, project: &Project) -> Outcome<()> {
    let layer = project.layer(state);
    let fresh = layer.with_file_name(FRESH);
    for gone in [fs::remove_dir_all(layer), fs::remove_dir_all(fresh), fs::remove_file(state.join(APPLIED))] {
        match gone {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e).during("forget earlier changes"),
            _ => {}
        }
    }
    Ok(())
}

/// A layer that cannot be read has something to hide.
fn has_changes(layer: &Path) -> bool {
    match fs::read_dir(layer) {
        Ok(mut entries) => entries.next().is_some(),
        Err(e) => e.kind() != std::io::ErrorKind::NotFound,
    }
}

impl Project {
    /// Of a sandbox whose changes are about to be carried over into `view`.
    pub fn synced(spec: &Spec, view: &View, since: (i64, u64)) -> Outcome<Self> {
        Ok(Self {
            version: VERSION,
            source: view.source.clone(),
            is_synced: true,
            layer: LAYER.into(),
            hide: spec.hide.read()?,
            protect: spec.protect.clone(),
            review: spec.review.clone(),
            set_aside: spec.set_aside.clone(),
            since,
        })
    }

    /// The same project in a state folder of its own, whose changes are applied by the user's order.
    pub fn set_aside_in(&self, state: &Path) -> Outcome<PathBuf> {
        let project = Self {
            version: VERSION,
            source: self.source.clone(),
            is_synced: false,
            layer: LAYER.into(),
            hide: self.hide.clone(),
            protect: self.protect.clone(),
            review: self.review.clone(),
            set_aside: None,
            since: self.since,
        };
        let layer = project.layer(state);
        DirBuilder::new().recursive(true).mode(0o700).create(&layer).during("make room for what is set aside")?;
        project.write(state)?;
        Ok(layer)
    }

    fn write(&self, state: &Path) -> Outcome<()> {
        let text = serde_json::to_vec(self).during("note the project")?;
        let fresh = state.join(format!("{FILE}.new"));
        fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, state.join(FILE))).during("note the project")
    }

    /// Of the sandbox in a state folder, whether it runs or not.
    pub fn of(state: &Path) -> Outcome<Self> {
        let text = match fs::read(state.join(FILE)) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(Fault::new("unsupported", "the sandbox has no copy of a project").hint(
                    "only --workspace copy and sync have changes to look at; a mounted project has them already",
                ));
            }
            Err(e) => return Err(e).during("read what is known of the sandbox's project"),
        };
        let project: Self = serde_json::from_slice(&text).during("read what is known of the sandbox's project")?;
        if project.version != VERSION {
            return Err(Fault::new("unsupported", "the sandbox was started by another version"));
        }
        Ok(project)
    }

    /// What the sandbox changed, as an overlay's layer.
    pub fn layer(&self, state: &Path) -> PathBuf {
        state.join(DISK).join(&self.layer)
    }
}
