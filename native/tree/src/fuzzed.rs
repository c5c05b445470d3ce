//! Targets of `npm run fuzz -- tree-records` and `tree-writer`: streams and listings from a sandbox.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use crate::{Destination, Limits, Links, Listing, Writer, format::Record};

const LIMITS: Limits = Limits { bytes: 1 << 20, entries: 1000 };

pub fn records(data: &[u8]) {
    let mut rest = data;
    while let Ok(Some((record, length))) = Record::parse(rest) {
        let mut written = Vec::new();
        record.write(&mut written);
        assert_eq!(written, rest[..length], "{record:?}");
        rest = &rest[length..];
    }
    if let Ok(listing) = Listing::parse(data) {
        assert_eq!(Listing::parse(&listing.to_bytes()).expect("what is written can be read"), listing);
    }
}

/// The first byte says how the stream is cut, and what links and names are taken.
pub fn writer(data: &[u8]) {
    let Some((how, stream)) = data.split_first() else { return };
    let place = Place::new();
    let one = place.take(*how, stream, stream.len().max(1));
    clear(&place.root());
    let other = place.take(*how, stream, usize::from(how >> 3) + 1);
    assert_eq!(one, other, "in pieces");
}

/// A directory with something beside it that must stay as it is.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("ak-tree-fuzzed-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a directory");
        fs::write(path.join("canary"), "untouched").expect("a canary");
        Self(path)
    }

    fn root(&self) -> PathBuf {
        self.0.join("root")
    }

    fn take(&self, how: u8, stream: &[u8], step: usize) -> Result<(u64, u64, u64), &'static str> {
        fs::create_dir(self.root()).expect("a directory");
        let destination = Destination { path: self.root(), name: Vec::new(), contents: true };
        let links = if how & 1 == 0 { Links::Any } else { Links::Inside };
        let mut writer = Writer::new(destination, links, LIMITS);
        if how & 2 != 0 {
            writer = writer.taking_any_name();
        }
        if how & 4 != 0 {
            writer = writer.taking_holes();
        }
        let pushed = stream.chunks(step).try_for_each(|piece| writer.push(piece));
        let report = pushed.and_then(|()| writer.finish());
        self.check();
        let report = report.map_err(|failure| failure.code)?;
        assert!(report.bytes <= LIMITS.bytes);
        Ok((report.files, report.directories, report.links))
    }

    fn check(&self) {
        let names = |path: &Path| {
            let mut names: Vec<_> =
                fs::read_dir(path).expect("list").map(|entry| entry.expect("an entry").file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&self.0), ["canary", "root"]);
        assert_eq!(fs::read(self.0.join("canary")).expect("read"), b"untouched");
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

#[cfg(test)]
mod tests {
    #[test]
    fn kept_records_pass() {
        ak_corpus::replay("tree-records", super::records);
    }

    #[test]
    fn kept_streams_pass() {
        ak_corpus::replay("tree-writer", super::writer);
    }
}
