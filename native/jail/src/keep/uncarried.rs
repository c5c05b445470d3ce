//! Changes of a synced project that are not in the project yet. They lie in the view's writable layer until a stop
//! carries them over, which may be several starts later: one that was killed carries nothing. From the first of these
//! starts on, what the host changes is the host's, and is not overwritten. Once they are carried over they are taken out
//! of the layer, so that the sandbox sees what the host makes of them.

use serde::{Deserialize, Serialize};

use super::{folder::StateFolder, removal};
use crate::{
    carry,
    fault::Outcome,
    spec::{Spec, ViewForm},
};

pub(super) const FILE: &str = "uncarried.json";

#[derive(Serialize, Deserialize)]
struct Uncarried {
    since: (i64, u64),
}

/// When the changes began that the next stop is to carry over.
pub fn begin(folder: &StateFolder, spec: &Spec) -> Outcome<Option<(i64, u64)>> {
    if synced_views(spec).next().is_none() {
        return Ok(None);
    }
    if let Some(earlier) = folder.read::<Uncarried>(FILE) {
        return Ok(Some(earlier.since));
    }
    let since = carry::now();
    folder.write(FILE, &Uncarried { since })?;
    Ok(Some(since))
}

/// They are in the project now.
pub fn clear(folder: &StateFolder, spec: &Spec) -> Outcome<()> {
    for index in synced_views(spec) {
        let disk = folder.make_disk()?;
        removal::remove_all(&[disk.join(format!("u{index}")), disk.join(format!("w{index}"))])?;
    }
    folder.remove(FILE)
}

/// The project, and its repository where that lies elsewhere.
fn synced_views(spec: &Spec) -> impl Iterator<Item = usize> {
    spec.views.iter().enumerate().filter(|(_, view)| view.form == ViewForm::Sync).map(|(index, _)| index)
}
