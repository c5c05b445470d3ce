//! The program as it is run: a directory in, an archive out.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output};

fn pack(directory: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ak-pack")).arg("--").arg(directory).output().unwrap()
}

struct Found {
    kind: tar::EntryType,
    mode: u32,
    link: Option<Vec<u8>>,
    attributes: BTreeMap<String, Vec<u8>>,
    content: Vec<u8>,
}

fn unpacked(archive: &[u8]) -> Vec<(String, Found)> {
    let mut archive = tar::Archive::new(archive);
    let mut all = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut attributes = BTreeMap::new();
        if let Some(records) = entry.pax_extensions().unwrap() {
            for record in records.map(Result::unwrap) {
                attributes.insert(record.key().unwrap().to_owned(), record.value_bytes().to_vec());
            }
        }
        let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        let mut found = Found {
            kind: entry.header().entry_type(),
            mode: entry.header().mode().unwrap(),
            link: entry.link_name_bytes().map(|bytes| bytes.into_owned()),
            attributes,
            content: Vec::new(),
        };
        entry.read_to_end(&mut found.content).unwrap();
        all.push((name, found));
    }
    all
}

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("etc")).unwrap();
    fs::write(at("etc/b"), "bee").unwrap();
    fs::write(at("etc/a"), "ay").unwrap();
    fs::set_permissions(at("etc/a"), fs::Permissions::from_mode(0o4755)).unwrap();
    fs::hard_link(at("etc/a"), at("etc/z")).unwrap();
    symlink("../..//./outside", at("link")).unwrap();
    symlink("x".repeat(300), at("long-link")).unwrap();
    fs::create_dir_all(at(&"n".repeat(120))).unwrap();
    let file = File::open(at("etc/b")).unwrap();
    rustix::fs::fsetxattr(&file, "user.mark", b"\0\xff=", rustix::fs::XattrFlags::empty()).unwrap();
    directory
}

#[test]
fn every_kind_of_file_is_written_as_it_is() {
    let directory = directory();
    let output = pack(directory.path());
    assert!(output.status.success());
    let all = unpacked(&output.stdout);
    let names: Vec<_> = all.iter().map(|(name, _)| name.as_str()).collect();
    let long = format!("{}/", "n".repeat(120));
    assert_eq!(names, ["./", "etc/", "etc/a", "etc/b", "etc/z", "link", "long-link", &long]);
    let found: BTreeMap<_, _> = all.iter().map(|(name, found)| (name.as_str(), found)).collect();
    assert_eq!((found["etc/a"].mode, found["etc/a"].content.as_slice()), (0o4755, b"ay".as_slice()));
    assert_eq!(found["etc/b"].attributes["SCHILY.xattr.user.mark"], b"\0\xff=");
    assert_eq!(
        (found["etc/z"].kind, found["etc/z"].link.as_deref()),
        (tar::EntryType::Link, Some(b"etc/a".as_slice()))
    );
    assert_eq!(found["link"].link.as_deref(), Some(b"../..//./outside".as_slice()));
    assert_eq!(found["long-link"].link.as_deref(), Some("x".repeat(300).as_bytes()));
}

#[test]
fn the_same_files_make_the_same_bytes() {
    let directory = directory();
    assert_eq!(pack(directory.path()).stdout, pack(directory.path()).stdout);
}

#[test]
fn what_an_image_cannot_hold_is_left_out_and_said() {
    let directory = tempfile::tempdir().unwrap();
    let _socket = UnixListener::bind(directory.path().join("so\ncket")).unwrap();
    let output = pack(directory.path());
    assert!(output.status.success());
    assert_eq!(unpacked(&output.stdout).len(), 1);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "skipped socket so\\ncket\n");
}

#[test]
fn a_directory_that_is_not_there_is_a_fault() {
    let output = pack(Path::new("/nonexistent"));
    assert!(!output.status.success() && output.stdout.is_empty());
}

#[test]
fn a_file_capability_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let file = File::create(directory.path().join("ping")).unwrap();
    // Revision 2, effective, cap_net_raw permitted.
    let mut value = [0u8; 20];
    value[0] = 1;
    value[3] = 2;
    value[5] = 0x20;
    let set = rustix::fs::fsetxattr(&file, "security.capability", &value, rustix::fs::XattrFlags::empty());
    if set.is_err() {
        // Only root may give one.
        return;
    }
    let all = unpacked(&pack(directory.path()).stdout);
    assert_eq!(all[1].1.attributes["SCHILY.xattr.security.capability"], value);
}
