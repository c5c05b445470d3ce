//! Landlock can open directories for writing, but cannot close one within an open one. So where something is to stay as it
//! is, everything around it is opened instead, name by name. What appears beside it later is not open.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Returns the parts of `writable` that stay writable when `closed` is not.
pub fn without(writable: &[PathBuf], closed: &[PathBuf]) -> Vec<PathBuf> {
    writable.iter().flat_map(|path| open_around(path, closed)).collect()
}

fn open_around(path: &Path, closed: &[PathBuf]) -> Vec<PathBuf> {
    if closed.iter().any(|one| path.starts_with(one)) {
        return Vec::new();
    }
    if !closed.iter().any(|one| one.starts_with(path)) {
        return vec![path.to_owned()];
    }
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    entries.flatten().flat_map(|entry| open_around(&entry.path(), closed)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_around_what_is_closed_stays_open() {
        let directory = tempfile::tempdir().expect("a directory");
        for path in ["a/closed/in", "a/open", "b"] {
            fs::create_dir_all(directory.path().join(path)).expect("directories");
        }
        let at = |path: &str| directory.path().join(path);
        let mut found = without(&[directory.path().to_owned()], &[at("a/closed")]);
        found.sort();
        assert_eq!(found, [at("a/open"), at("b")]);
        assert_eq!(without(&[at("a/closed/in")], &[at("a/closed")]), Vec::<PathBuf>::new());
        assert_eq!(without(&[at("b")], &[at("a/closed")]), [at("b")]);
    }
}
