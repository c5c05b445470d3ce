//! The paths of a working tree that a sandbox does not see: files, and directories with everything below them. Where
//! the sandbox sees a part of the working tree, also everything outside of that part.

use std::collections::BTreeSet;

/// Paths relative to the working tree, without a slash at the end.
#[derive(Debug, Default, Clone)]
pub struct HiddenPaths {
    paths: BTreeSet<Vec<u8>>,
    /// The directory that is shown; all else is not.
    part: Option<Vec<u8>>,
}

impl HiddenPaths {
    /// The same, where nothing but this directory is shown.
    pub fn outside_of(self, part: &[u8]) -> Self {
        Self { part: Some(part.to_vec()), ..self }
    }

    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.part.is_none()
    }

    /// Whether only a part of the working tree is shown.
    pub fn are_all_but_a_part(&self) -> bool {
        self.part.is_some()
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.paths.iter().map(Vec::as_slice)
    }

    /// Whether a path is hidden, itself or by a directory that it is in.
    pub fn contains(&self, path: &[u8]) -> bool {
        self.is_outside(path)
            || self.paths.contains(path)
            || directories_of(path).any(|directory| self.paths.contains(directory))
    }

    /// Whether a path is not in the part of the working tree that is shown.
    pub fn is_outside(&self, path: &[u8]) -> bool {
        self.part.as_deref().is_some_and(|part| !(is_below(path, part) || path == part))
    }

    /// Whether there can be something hidden below a directory.
    pub fn reach_into(&self, directory: &[u8]) -> bool {
        let below = [directory, b"/"].concat();
        self.contains(directory)
            || self.paths.range(below.clone()..).next().is_some_and(|path| path.starts_with(&below))
    }
}

impl FromIterator<Vec<u8>> for HiddenPaths {
    fn from_iter<T: IntoIterator<Item = Vec<u8>>>(paths: T) -> Self {
        Self { paths: paths.into_iter().collect(), part: None }
    }
}

fn is_below(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.first() == Some(&b'/'))
}

fn directories_of(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &path[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_a_part_is_hidden() {
        let hidden = [b"a/b/.env".to_vec()].into_iter().collect::<HiddenPaths>().outside_of(b"a/b");
        for (path, is_hidden) in [("x", true), ("a/x", true), ("a/bc", true), ("a/b/x", false), ("a/b/.env", true)] {
            assert_eq!(hidden.contains(path.as_bytes()), is_hidden, "{path}");
        }
        for (directory, reaches) in [("a", true), ("a/b", true), ("a/b/c", false), ("x", true)] {
            assert_eq!(hidden.reach_into(directory.as_bytes()), reaches, "{directory}");
        }
    }

    #[test]
    fn a_hidden_directory_hides_what_is_below_it() {
        let hidden: HiddenPaths = [b"a/.ssh".to_vec(), b".env".to_vec(), b"b/c/key".to_vec()].into_iter().collect();
        for path in ["a/.ssh", "a/.ssh/x/y", ".env", "b/c/key"] {
            assert!(hidden.contains(path.as_bytes()), "{path}");
        }
        for path in ["a", "a/.ssh2", ".env2", "b/c", "b/c/key2"] {
            assert!(!hidden.contains(path.as_bytes()), "{path}");
        }
        for (directory, reaches) in [("a", true), ("b", true), ("b/c", true), ("a/.ssh/x", true), ("c", false)] {
            assert_eq!(hidden.reach_into(directory.as_bytes()), reaches, "{directory}");
        }
    }
}
