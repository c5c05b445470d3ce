//! What of the project is hidden, for the user to know: as a layer of the sandbox, with the first of the paths.

use std::path::Path;

use super::{
    source::Source,
    survey::{SOCKET, Survey},
};
use crate::{
    control::{Hidden, HiddenFile, Layer, LayerState},
    git::work_trees::WorkTree,
    spec::View,
};

const PROJECT: &str = "/workspace";
/// `policy explain` has all of them.
const LISTED: usize = 50;
const NAMED: usize = 5;

/// None where there is no project, or nothing of it is hidden.
pub fn layer(views: &[View], sources: &[Source], surveys: &[Survey]) -> Option<Layer> {
    let at = views.iter().position(|view| view.target == Path::new(PROJECT))?;
    let (source, survey) = (sources.get(at)?, surveys.get(at)?);
    let mut files: Vec<HiddenFile> = survey.secrets().map(HiddenFile::of).collect();
    let count = files.len();
    if count == 0 {
        return None;
    }
    let in_project: usize = WorkTree::of(source.shown(), survey).iter().map(|tree| tree.tracked(source.shown())).sum();
    let around = sources.iter().zip(surveys).filter(|(_, survey)| survey.linked.is_some());
    let elsewhere = around.flat_map(|(source, survey)| {
        WorkTree::of(source.shown(), survey).into_iter().map(|tree| tree.tracked(source.shown()))
    });
    let tracked = in_project + elsewhere.sum::<usize>();
    files.truncate(LISTED);
    let named: Vec<&str> = files.iter().take(NAMED).map(|file| file.path.as_str()).collect();
    let more = if count > named.len() { format!(" and {} more", count - named.len()) } else { String::new() };
    let detail = format!("{count} hidden: {}{more}", named.join(", "));
    let hidden = Some(Hidden { count, tracked, files });
    Some(Layer { hidden, ..Layer::new("hidden-files", LayerState::Applied, detail) })
}

impl Survey {
    /// Hidden paths and why.
    pub fn with_reasons(&self) -> impl Iterator<Item = (&[u8], &str)> {
        const OTHER_NAME: &str = "another name of a hidden file";
        self.hidden.iter().map(|hit| {
            let found = self.reasons.binary_search_by(|(path, _)| path.cmp(&hit.path));
            let reason = found.map_or(OTHER_NAME, |at| self.reasons[at].1.as_str());
            (hit.path.as_slice(), reason)
        })
    }

    /// The same without sockets, which are hidden for what they lead to.
    pub fn secrets(&self) -> impl Iterator<Item = (&[u8], &str)> {
        self.with_reasons().filter(|(_, reason)| *reason != SOCKET)
    }
}

impl HiddenFile {
    fn of((path, reason): (&[u8], &str)) -> Self {
        Self { path: String::from_utf8_lossy(path).into_owned(), reason: reason.into() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{
        spec::{HideRule, ViewForm},
        view::{matcher::Matcher, rules::Rules, search::survey},
    };

    #[test]
    fn what_of_the_project_is_hidden_is_counted_and_listed_with_reasons() {
        let folder = std::env::temp_dir().join(format!("ak-told-{}", std::process::id()));
        fs::create_dir_all(folder.join("a")).expect("make a folder");
        let view = |target: &str| View {
            source: folder.clone(),
            target: target.into(),
            form: ViewForm::Copy,
            readonly: false,
            at_source: false,
            repository: None,
        };
        let rule = HideRule { reason: Some("environment file".into()), ..HideRule::named("**/.env*") };
        let (hide, protect) = (Matcher::hiding(&[rule]), Matcher::of(&[]));
        let told = |target: &str| {
            let view = view(target);
            let source = Source::open(&view, false).expect("open");
            let found = survey(&source, &Rules::new(&hide, &protect)).expect("search");
            layer(&[view], &[source], &[found])
        };
        assert!(told(PROJECT).is_none());
        fs::write(folder.join("plain"), "x").expect("write");
        for index in 0..60 {
            fs::write(folder.join(format!("a/.env.{index:02}")), "x").expect("write");
        }
        std::os::unix::net::UnixListener::bind(folder.join("socket")).expect("bind");
        assert!(told("/data").is_none());
        let layer = told(PROJECT).expect("a layer");
        let detail = "60 hidden: a/.env.00, a/.env.01, a/.env.02, a/.env.03, a/.env.04 and 55 more";
        assert_eq!(layer.detail.as_deref(), Some(detail));
        let hidden = layer.hidden.expect("a list");
        assert_eq!((hidden.count, hidden.tracked, hidden.files.len()), (60, 0, LISTED));
        assert_eq!(hidden.files[0].reason, "environment file");
        fs::remove_dir_all(folder).expect("remove");
    }
}
