//! What of the shown folders is hidden or protected, and the names that are taken on the host for as long as a sandbox
//! could take them.

use std::{os::fd::AsFd, path::Path};

use super::{
    placeholder::Placeholders,
    rules::Rules,
    source::Source,
    survey::{Hit, Survey},
    walk::Tree,
};
use crate::{
    control::{Layer, LayerState},
    fault::Outcome,
    git::{linked, live::protect_repositories},
    spec::{Spec, View},
};

/// What is shown, and what of it nobody may change.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    pub views: &'a [View],
    pub protect: &'a [String],
    pub journal: &'a Path,
}

impl<'a> From<&'a Spec> for Shown<'a> {
    fn from(spec: &'a Spec) -> Self {
        Self { views: &spec.views, protect: &spec.protect, journal: &spec.journal }
    }
}

/// Before anything is searched.
pub fn make_placeholders(shown: Shown<'_>) -> Outcome<Vec<Placeholders>> {
    let live = shown.views.iter().filter(|v| v.is_live() && v.source.is_dir());
    live.map(|v| Placeholders::make(&v.source, shown.protect, shown.journal)).collect()
}

/// What of each view is hidden or protected.
pub fn search(
    shown: Shown<'_>,
    sources: &mut [Source],
    rules: &Rules<'_>,
    placeholders: &mut Vec<Placeholders>,
) -> Outcome<Vec<Survey>> {
    let found = sources.iter_mut().map(|source| source.surveyed.take().map_or_else(|| survey(source, rules), Ok));
    let mut surveys = found.collect::<Outcome<Vec<_>>>()?;
    linked::tell(shown.views, &mut surveys);
    for ((view, survey), source) in shown.views.iter().zip(&mut surveys).zip(&*sources) {
        if view.is_live() {
            // There is no other file that could take its place.
            survey.hidden.extend(survey.cleaned.drain(..).map(|path| Hit { path, folder: false }));
            survey.hidden.sort();
            protect_repositories(source.shown(), survey);
        }
        if view.is_live() && !survey.repositories.is_empty() {
            let held: Vec<Hit> = placeholders.iter().flat_map(|p| p.hits(&view.source)).collect();
            // A folder that only holds the name is closed as a whole.
            let is_held = |path: &[u8]| held.iter().any(|hit| path.strip_suffix(b"/") == Some(&hit.path));
            survey.repositories.retain(|path| !is_held(path));
            let made = Placeholders::of_repositories(&view.source, &survey.repositories, shown.protect, shown.journal)?;
            placeholders.push(made);
        }
        survey.protected.extend(placeholders.iter().flat_map(|p| p.hits(&view.source)));
        survey.protected.sort();
        survey.protected.dedup();
    }
    Ok(surveys)
}

pub fn survey(source: &Source, rules: &Rules<'_>) -> Outcome<Survey> {
    if !source.is_folder() {
        return Ok(Survey::default());
    }
    let tree = Tree { root: source.shown(), known: &source.listings };
    Survey::of_known(tree, source.fd.as_fd(), rules)
}

/// What covers and pins cannot do, for the user to know.
pub fn live_layer(views: &[View]) -> Option<Layer> {
    views.iter().any(View::is_live).then(|| {
        Layer::new(
            "protected-paths",
            LayerState::Partial,
            "a live mount: a hidden or protected file that the host replaces by rename while the sandbox runs becomes \
             visible or writable, protected names that do not exist yet can be made in subfolders or where a pattern has a wildcard, a \
             subfolder can be made a git repository of the sandbox's (`git config --global safe.bareRepository \
             explicit` makes git pass over those), and a socket that a program of the host makes in it meanwhile can \
             be connected to",
        )
    })
}
