//! Target of `npm run fuzz -- changes-receive`: a container's report of its changes, from which a layer is made.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use ak_jail::keep::project::{Copied, begin_copied};
use ak_tree::Listing;
use serde_json::json;

use crate::receive;

const MAX_BYTES: u64 = 1 << 20;

/// A state directory whose project had a few files, and something beside it that must stay as it is.
pub fn received(data: &[u8]) {
    let place = Place::new();
    place.begin();
    let first = receive(&place.state(), MAX_BYTES, data).is_ok();
    // The same once more changes nothing.
    if first {
        let before = listed(&place.state());
        receive(&place.state(), MAX_BYTES, data).expect("what was taken is taken again");
        assert_eq!(listed(&place.state()), before);
    }
    assert_eq!(fs::read(place.0.join("canary")).expect("read"), b"untouched");
    assert_eq!(fs::read_dir(&place.0).expect("list").count(), 3, "something beside the state");
    assert_eq!(listed(&place.project()), ["a", "a/b", "c"]);
}

struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        let base = std::env::temp_dir().join(format!("ak-changes-fuzzed-{}", std::process::id()));
        for path in ["project/a/b", "state"] {
            fs::create_dir_all(base.join(path)).expect("a directory");
        }
        fs::write(base.join("project/c"), "text").expect("a file");
        fs::write(base.join("canary"), "untouched").expect("a canary");
        Self(base)
    }

    fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    fn project(&self) -> PathBuf {
        self.0.join("project")
    }

    fn begin(&self) {
        let copied =
            json!({ "source": self.project(), "isSynced": false, "hide": [], "protect": [], "setAside": null });
        let copied: Copied = serde_json::from_value(copied).expect("an order");
        begin_copied(&self.state(), copied).expect("begin");
        let listing = Listing::of(&self.project()).expect("list");
        fs::write(self.state().join("listing"), listing.to_bytes()).expect("write");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        clear(&self.0);
    }
}

/// Directories may have any mode.
fn clear(directory: &Path) {
    fs::set_permissions(directory, Permissions::from_mode(0o700)).expect("open up");
    for entry in fs::read_dir(directory).expect("list") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("look").is_dir() {
            clear(&entry.path());
        } else {
            fs::remove_file(entry.path()).expect("remove");
        }
    }
    fs::remove_dir(directory).expect("remove");
}

/// Every path below a directory, without following a link.
fn listed(directory: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(path) = waiting.pop() {
        for entry in fs::read_dir(&path).expect("list") {
            let entry = entry.expect("an entry");
            let path = entry.path();
            paths.push(path.strip_prefix(directory).expect("below").to_string_lossy().into_owned());
            if entry.file_type().expect("look").is_dir() {
                waiting.push(path);
            }
        }
    }
    paths.sort();
    paths
}

#[cfg(test)]
#[test]
fn kept_changes_pass() {
    ak_corpus::replay("changes-receive", received);
}
