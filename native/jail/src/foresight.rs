//! A look ahead at the folder that a caller is about to ask for: it is opened, read and searched while the caller's owner
//! still works out the rest of the spec. It serves the one spec that names its number, and no other: what changed in the
//! folder before that caller called must be seen.

use std::path::PathBuf;

use rustix::fs::stat;
use serde::Deserialize;

use crate::{
    spec::{Spec, View},
    view::{memory::Memory, rules::Rules, search, source::Source},
};

/// How such a line begins; a spec's does not.
const BEGINNING: &[u8] = b"{\"foresee\":";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    foresee: u64,
    source: PathBuf,
}

pub struct Foreseen {
    number: u64,
    /// What the sandbox was built from of the host is as it was then.
    pub host_holds: bool,
    sources: Vec<(PathBuf, Source)>,
}

/// Whether the line asks for a look ahead, and not for a sandbox.
pub fn is_order(line: &[u8]) -> bool {
    line.starts_with(BEGINNING)
}

/// None where nothing could be seen: whoever asks for the sandbox is told why. By `rules` it is searched too.
/// `beside`: what will be shown beside the project, such as the repository around it.
pub fn look(
    line: &[u8],
    beside: impl Iterator<Item = PathBuf>,
    privileged: bool,
    mut memory: Option<&mut Memory>,
    rules: &Rules<'_>,
) -> Option<Foreseen> {
    let Order { foresee: number, source: project } = serde_json::from_slice(line).ok()?;
    let sources = std::iter::once(project).chain(beside).filter_map(|path| {
        let mut source = Source::foresee(&path, privileged, memory.as_deref_mut())?;
        source.surveyed = search::survey(&source, rules).ok();
        Some((path, source))
    });
    Some(Foreseen { number, host_holds: false, sources: sources.collect() })
}

impl Foreseen {
    /// Whether it was looked at for this spec.
    pub fn is_for(&self, spec: &Spec) -> bool {
        spec.foreseen == Some(self.number)
    }

    /// Other rules hold than it was searched by.
    pub fn forget_search(&mut self) {
        self.sources.iter_mut().for_each(|(_, source)| source.surveyed = None);
    }
}

/// The source of this view, if it is one that was looked at for this spec and still lies there.
pub fn take(foreseen: &mut Option<Foreseen>, spec: &Spec, view: &View) -> Option<Source> {
    let Foreseen { sources, .. } = foreseen.as_mut().filter(|one| one.is_for(spec))?;
    let at = sources.iter().position(|(path, _)| view.source == *path).filter(|_| !view.is_live())?;
    let (path, source) = sources.swap_remove(at);
    let there = stat(&path).ok()?;
    ((there.st_dev, there.st_ino) == source.identity()).then_some(source)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{identity::is_host_root, view::matcher::Matcher};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ak-foresight-{name}-{}", std::process::id()));
            fs::create_dir_all(path.join("a/b")).expect("make a folder");
            fs::write(path.join("a/b/.env"), "x").expect("write");
            Self(path)
        }

        fn look(&self) -> Option<Foreseen> {
            let line = format!("{{\"foresee\":7,\"source\":{:?}}}", self.0);
            assert!(is_order(line.as_bytes()));
            let hide = [crate::spec::HideRule::named("**/.env")];
            let (hide, protect) = (Matcher::hiding(&hide), Matcher::of(&[]));
            let beside = std::iter::once(self.0.join("a"));
            look(line.as_bytes(), beside, is_host_root(), None, &Rules::new(&hide, &protect))
        }

        fn spec(&self, foreseen: Option<u64>, form: &str) -> Spec {
            let text = format!(
                r#"{{"version":1,"hostname":"h","guest":"/g","ids":"single","user":{{"uid":0,"gid":0}},
                "root":{{"kind":"host"}},"rootReadonly":false,"scratchMib":16,"tmpMib":16,"views":[{{"source":{:?},
                "target":"/workspace","form":"{form}","readonly":false}}],"hide":[],"protect":[],
                "capabilities":"default","seccomp":"default","landlockWritable":["/"],"limits":{{"vcpus":1,
                "memoryMib":64,"pids":9,"openFiles":99}},"network":"none","trustedCertificate":null,
                "journal":"/tmp/j","foreseen":{}}}"#,
                self.0,
                foreseen.map_or("null".into(), |number| number.to_string())
            );
            assert!(!is_order(text.as_bytes()));
            Spec::parse(text.as_bytes()).expect("a spec")
        }

        fn takes(&self, foreseen: Option<u64>, form: &str) -> Option<Source> {
            let spec = self.spec(foreseen, form);
            take(&mut self.look(), &spec, &spec.views[0])
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).expect("remove");
        }
    }

    #[test]
    fn what_was_seen_serves_the_spec_it_was_looked_for_and_no_other() {
        let folder = Folder::new("number");
        assert!(folder.takes(Some(7), "copy").is_some());
        assert!(folder.takes(Some(8), "copy").is_none());
        assert!(folder.takes(None, "copy").is_none());
        assert!(folder.takes(Some(7), "mount").is_none());
    }

    #[test]
    fn what_is_shown_beside_the_project_is_seen_too() {
        let folder = Folder::new("beside");
        let mut spec = folder.spec(Some(7), "copy");
        let mut seen = folder.look();
        assert!(take(&mut seen, &spec, &spec.views[0]).is_some());
        spec.views[0].source = folder.0.join("a");
        let source = take(&mut seen, &spec, &spec.views[0]).expect("a source");
        assert_eq!(source.surveyed.map(|found| found.hidden.len()), Some(1));
        assert!(take(&mut seen, &spec, &spec.views[0]).is_none());
    }

    #[test]
    fn a_folder_that_was_replaced_meanwhile_is_looked_at_again() {
        let folder = Folder::new("replaced");
        let mut seen = folder.look();
        let spec = folder.spec(Some(7), "copy");
        let moved = folder.0.with_extension("old");
        fs::rename(&folder.0, &moved).expect("rename");
        fs::create_dir_all(&folder.0).expect("make a folder");
        assert!(take(&mut seen, &spec, &spec.views[0]).is_none());
        fs::remove_dir_all(moved).expect("remove");
    }

    #[test]
    fn secrets_are_found_in_what_was_read_ahead() {
        let folder = Folder::new("survey");
        let mut source = folder.takes(Some(7), "copy").expect("a source");
        assert_eq!(source.listings.len(), 3);
        assert_eq!(source.surveyed.take().map(|found| found.hidden.len()), Some(1));
        let (hide, protect) = (Matcher::hiding(&[]), Matcher::of(&["**/b".into()]));
        let found = search::survey(&source, &Rules::new(&hide, &protect)).expect("a survey");
        assert_eq!((found.hidden.len(), found.protected.len()), (0, 1));
    }

    #[test]
    fn what_other_rules_found_is_forgotten() {
        let folder = Folder::new("rules");
        let mut seen = folder.look().expect("a look");
        assert!(seen.sources.iter().all(|(_, source)| source.surveyed.is_some()));
        seen.forget_search();
        let spec = folder.spec(Some(7), "copy");
        assert!(take(&mut Some(seen), &spec, &spec.views[0]).is_some_and(|source| source.surveyed.is_none()));
    }
}
