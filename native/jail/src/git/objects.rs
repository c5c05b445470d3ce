//! Objects of repositories on their way to the host. An object's name says what is in it, so the host's are never
//! replaced and never removed: `git gc` of the host does that. What git keeps beside them is made anew when it is missed.

use crate::view::survey::Survey;

/// Where a path lies in the objects of a repository of the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Elsewhere,
    /// An object or a pack: new ones are carried over.
    Object,
    /// Lists that git believes without looking at the objects: what the sandbox says there is not carried over.
    Beside,
}

pub fn place(path: &[u8], survey: &Survey) -> Place {
    let below = |git: &Vec<u8>| path.strip_prefix(&git[..])?.strip_prefix(b"objects/");
    let Some(inside) = survey.repositories.iter().find_map(below) else { return Place::Elsewhere };
    let is_list = inside == b"info" || inside.starts_with(b"info/") || inside.starts_with(b"pack/multi-pack-index");
    if is_list || inside.ends_with(b".bitmap") || inside.ends_with(b".rev") { Place::Beside } else { Place::Object }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_told_from_what_git_keeps_beside_them() {
        let survey = Survey { repositories: vec![b".git/".to_vec(), b"a/bare/".to_vec()], ..Survey::default() };
        for (path, expected) in [
            (".git/objects/ab/cdef", Place::Object),
            (".git/objects/pack/pack-1.pack", Place::Object),
            ("a/bare/objects/pack/pack-1.idx", Place::Object),
            (".git/objects/info", Place::Beside),
            (".git/objects/info/alternates", Place::Beside),
            (".git/objects/info/commit-graphs/graph-1.graph", Place::Beside),
            (".git/objects/pack/multi-pack-index", Place::Beside),
            (".git/objects/pack/pack-1.bitmap", Place::Beside),
            (".git/refs/heads/objects/x", Place::Elsewhere),
            ("objects/info/x", Place::Elsewhere),
        ] {
            assert_eq!(place(path.as_bytes(), &survey), expected, "{path}");
        }
    }
}
