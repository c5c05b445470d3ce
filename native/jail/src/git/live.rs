//! Live folders (`mount`): the index is the user's own, and a hidden file is covered by an empty one, so that git inside
//! would record it as emptied. A repository that tracks hidden files is read-only there.

use std::os::fd::BorrowedFd;

use super::work_trees::WorkTree;
use crate::{
    control::{Layer, LayerState},
    view::survey::{Hit, Survey},
};

/// Adds such repositories to what is protected.
pub fn protect_repositories(root: BorrowedFd<'_>, survey: &mut Survey) {
    let trees = WorkTree::of(root, survey);
    let closed = trees.iter().filter(|tree| tree.tracked(root) > 0).map(|tree| directory(&tree.git));
    let hits: Vec<Hit> = closed.map(|path| Hit { path: path.to_vec(), folder: true }).collect();
    survey.protected.extend(hits);
}

pub fn layer(surveys: &[Survey]) -> Option<Layer> {
    let is_closed = |survey: &Survey, git: &[u8]| {
        let git = directory(git);
        survey.protected.iter().any(|hit| hit.folder && hit.path == git)
    };
    let closed = surveys.iter().flat_map(|s| s.repositories.iter().filter(|git| is_closed(s, git)));
    let names: Vec<String> = closed.map(|git| String::from_utf8_lossy(directory(git)).into_owned()).collect();
    (!names.is_empty()).then(|| {
        let detail = format!(
            "{} is read-only: files that are hidden from the sandbox are tracked there, and a commit made inside would \
             empty them; use --workspace sync to commit inside",
            names.join(", ")
        );
        Layer::new("git", LayerState::Partial, detail)
    })
}

fn directory(git: &[u8]) -> &[u8] {
    git.strip_suffix(b"/").unwrap_or(git)
}
