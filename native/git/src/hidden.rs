//! What of a working tree is hidden from a sandbox: files, and directories with all that is below them.

use std::collections::BTreeSet;

/// Paths relative to the working tree, without a slash at the end.
#[derive(Debug, Default, Clone)]
pub struct HiddenPaths(BTreeSet<Vec<u8>>);

impl HiddenPaths {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Vec::as_slice)
    }

    /// Whether a path is hidden, itself or by a directory that it is in.
    pub fn contains(&self, path: &[u8]) -> bool {
        self.0.contains(path) || directories_of(path).any(|directory| self.0.contains(directory))
    }

    /// Whether there can be something hidden below a directory.
    pub fn reach_into(&self, directory: &[u8]) -> bool {
        let below = [directory, b"/"].concat();
        self.contains(directory) || self.0.range(below.clone()..).next().is_some_and(|path| path.starts_with(&below))
    }
}

impl FromIterator<Vec<u8>> for HiddenPaths {
    fn from_iter<T: IntoIterator<Item = Vec<u8>>>(paths: T) -> Self {
        Self(paths.into_iter().collect())
    }
}

fn directories_of(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &path[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

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
