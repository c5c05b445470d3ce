//! A project that was copied into a container: what is known of it from the beginning, and the changes of a synced one put
//! into it when its sandbox has ended.

use std::{
    io::{Read, Write},
    os::fd::AsFd,
    path::Path,
};

use ak_jail::{
    carry::{Carrier, Report, aside::Aside},
    fault::{During, Fault, Outcome},
    identity::is_host_root,
    keep::project::{Copied, Project, begin_copied, forget_changes},
    view::{matcher::Matcher, rules::Rules, survey::Survey},
};
use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
};

use crate::list::write_line;

const MAX_ORDER: u64 = 4 << 20;

pub fn begin(state: &Path, order: impl Read) -> Outcome<()> {
    let mut text = Vec::new();
    order.take(MAX_ORDER).read_to_end(&mut text).during("read the order")?;
    let copied: Copied =
        serde_json::from_slice(&text).map_err(|e| Fault::new("internal", format!("the order: {e}")))?;
    begin_copied(state, copied)
}

/// The layer can have directories in it that its owner may not look into.
pub fn forget(state: &Path) -> Outcome<()> {
    forget_changes(state, &Project::of(state)?)
}

/// Carries the layer's changes over to the host and empties the layer. Changes that could not be carried over are
/// reported.
pub fn carry(state: &Path, out: &mut impl Write) -> Outcome<()> {
    let project = Project::of(state)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let host = open(&project.source, flags, Mode::empty()).during("open the project")?;
    let report = match open(project.layer(state), flags | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::NOENT) => Report::default(),
        layer => {
            let layer = layer.during("open the sandbox's layer")?;
            let (hide, protect) = (Matcher::hiding(&project.hide), Matcher::of(&project.protect));
            let survey = Survey::of(host.as_fd(), host.as_fd(), &Rules::new(&hide, &protect))?;
            let review = Matcher::of(&project.review);
            let aside = Aside::new(project.set_aside.as_deref(), Project::of(state)?);
            let carrier = Carrier::new(&hide, &protect, &survey, project.since, is_host_root());
            carrier.keeping(&review, aside).carry(layer.as_fd(), host.as_fd())?
        }
    };
    forget_changes(state, &project)?;
    write_line(out, &serde_json::json!({ "end": report }))
}
