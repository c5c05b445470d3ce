//! A hostile guest, and a project that changes meanwhile.

use std::{
    fs,
    os::unix::{
        fs::{FileTypeExt, symlink},
        net::UnixListener,
    },
    path::Path,
};

use ak_jail::spec::HideRule;
use ak_secrets::Content;
use rustix::fs::open;
use tempfile::TempDir;

use super::*;
use crate::message::{request, take_answer};

const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIKj3Nq\n";

fn rules() -> Vec<HideRule> {
    let key = HideRule { holds: Some(Content::PrivateKey), reason: Some("key".into()), ..HideRule::named("**/*.pem") };
    vec![HideRule::named("**/.env*"), HideRule::named("**/.aws"), key]
}

fn project() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let make = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("write");
    };
    make("src/main.rs", "fn main() {}");
    make(".env", "PASSWORD=hunter22");
    make(".aws/credentials", "secret");
    make("a.pem", KEY);
    make("public.pem", "-----BEGIN CERTIFICATE-----\n");
    fs::hard_link(folder.path().join(".env"), folder.path().join("notes.txt")).expect("a hard link");
    symlink("/etc", folder.path().join("etc")).expect("a link");
    UnixListener::bind(folder.path().join("socket")).expect("a socket");
    folder
}

fn host(folder: &Path) -> Host {
    let root = open(folder, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).expect("open");
    let shown = Shown::of(root.as_fd(), &rules()).expect("searched");
    Host::new(root, shown)
}

/// The bytes of all answers to these.
fn ask(host: &Host, requests: &[Request<'_>]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for (id, what) in requests.iter().enumerate() {
        request(id as u32, what, &mut bytes);
    }
    let mut answers = Vec::new();
    host.serve(&mut &bytes[..], &mut answers).map(|()| answers)
}

fn names(host: &Host, path: &[u8]) -> Result<Vec<String>, u32> {
    let answers = ask(host, &[Request::List { path }]).expect("answers");
    match take_answer(&answers).expect("well-formed").expect("an answer").1 {
        Answer::Entries { entries: mut rest, .. } => {
            let mut names = Vec::new();
            while !rest.is_empty() {
                let entry = Entry::take(&mut rest).expect("an entry");
                names.push(String::from_utf8_lossy(entry.name).into_owned());
            }
            names.sort();
            Ok(names)
        }
        Answer::Failed(errno) => Err(errno),
        other => panic!("{other:?}"),
    }
}

fn listed(host: &Host, path: &[u8]) -> Attributes {
    let answers = ask(host, &[Request::List { path: b"" }]).expect("answers");
    let Some((_, Answer::Entries { entries: mut rest, .. }, _)) = take_answer(&answers).expect("well-formed") else {
        panic!("no entries")
    };
    loop {
        let entry = Entry::take(&mut rest).expect("it is listed");
        if entry.name == path {
            return entry.attributes;
        }
    }
}

fn contents(host: &Host, path: &[u8], version: u64) -> Result<Vec<u8>, String> {
    let answers = ask(host, &[Request::Read { path, version, offset: 0, length: 1000 }]).expect("answers");
    match take_answer(&answers).expect("well-formed").expect("an answer").1 {
        Answer::Data(bytes) => Ok(bytes.to_vec()),
        other => Err(format!("{other:?}")),
    }
}

/// Whatever version the guest says that it has seen.
fn read_of_any(host: &Host, folder: &Path, path: &str) -> Result<Vec<u8>, String> {
    let stat = rustix::fs::lstat(folder.join(path)).expect("it is there");
    contents(host, path.as_bytes(), version(&stat))
}

#[test]
fn what_is_hidden_is_in_no_listing_and_cannot_be_read_by_any_path() {
    let folder = project();
    assert!(fs::metadata(folder.path().join("socket")).expect("there").file_type().is_socket());
    let host = host(folder.path());
    assert_eq!(names(&host, b"").expect("the root"), ["etc", "public.pem", "src"]);
    assert_eq!(names(&host, b"src").expect("a directory"), ["main.rs"]);
    for hidden in [".env", ".aws/credentials", "a.pem", "notes.txt"] {
        let denied = read_of_any(&host, folder.path(), hidden).expect_err(hidden);
        assert_eq!(denied, format!("Failed({})", Errno::NOENT.raw_os_error()), "{hidden}");
    }
    assert_eq!(names(&host, b".aws"), Err(Errno::NOENT.raw_os_error() as u32));
    assert_eq!(read_of_any(&host, folder.path(), "src/main.rs").expect("shown"), b"fn main() {}");
}

#[test]
fn no_path_leads_out_of_the_directory_or_around_a_rule() {
    let folder = project();
    let host = host(folder.path());
    for path in ["..", "/etc", "src/..", "./.env", "src/../.env", "src//main.rs", "src/", ".", "a\0b"] {
        assert_eq!(names(&host, path.as_bytes()), Err(Errno::INVAL.raw_os_error() as u32), "{path}");
        assert!(contents(&host, path.as_bytes(), 0).is_err(), "{path}");
    }
    // A link is never followed, whatever kind it leads to.
    for path in ["etc", "etc/passwd"] {
        assert!(names(&host, path.as_bytes()).is_err() && contents(&host, path.as_bytes(), 0).is_err(), "{path}");
    }
    fs::rename(folder.path().join("src"), folder.path().join("was")).expect("rename");
    symlink(".aws", folder.path().join("src")).expect("a link in its place");
    assert!(names(&host, b"src").is_err());
    let long = vec![b'a'; MAX_PATH + 1];
    assert_eq!(names(&host, &long), Err(Errno::INVAL.raw_os_error() as u32));
}

#[test]
fn what_becomes_a_secret_meanwhile_is_hidden_too() {
    let folder = project();
    let host = host(folder.path());
    let version = listed(&host, b"public.pem").version;
    fs::write(folder.path().join("public.pem"), KEY).expect("write");
    assert!(contents(&host, b"public.pem", version).is_err());
    assert!(read_of_any(&host, folder.path(), "public.pem").is_err(), "nor with its new version");
    fs::write(folder.path().join(".env.local"), "new").expect("write");
    fs::rename(folder.path().join("a.pem"), folder.path().join("a.txt")).expect("rename");
    assert_eq!(names(&host, b"").expect("the root"), ["etc", "src"], "what was hidden is hidden by any name");
}

#[test]
fn a_file_that_has_changed_is_not_mixed_with_what_it_was() {
    let folder = project();
    let host = host(folder.path());
    fs::write(folder.path().join("log"), "before").expect("write");
    let version = listed(&host, b"log").version;
    assert_eq!(contents(&host, b"log", version).expect("as listed"), b"before");
    fs::write(folder.path().join("log"), "afterwards").expect("write");
    let said = contents(&host, b"log", version).expect_err("another file");
    assert!(said.starts_with("Changed(") && said.contains("size: 10"), "{said}");
    assert_eq!(contents(&host, b"log", listed(&host, b"log").version).expect("the new one"), b"afterwards");
}

#[test]
fn a_guest_that_breaks_the_rules_is_not_heard_any_more() {
    let folder = project();
    let host = host(folder.path());
    for bytes in [&u32::MAX.to_le_bytes()[..], &[5, 0, 0, 0, 77, 0, 0, 0, 0], &[0; 4]] {
        assert!(host.serve(&mut &*bytes, &mut Vec::new()).is_err());
    }
    // A directory larger than one answer comes in parts, of which the host holds one.
    for number in 0..3000 {
        fs::write(folder.path().join(format!("src/{number:0>100}")), "").expect("write");
    }
    let answers = ask(&host, &[Request::List { path: b"src" }]).expect("answers");
    let (mut at, mut parts, mut total) = (0, 0, 0);
    while let Some((_, Answer::Entries { are_last, entries }, length)) =
        take_answer(&answers[at..]).expect("well-formed")
    {
        assert!(entries.len() < 2 * MAX_PART);
        let mut rest = entries;
        while !rest.is_empty() {
            Entry::take(&mut rest).expect("an entry");
            total += 1;
        }
        at += length;
        parts += 1;
        assert_eq!(are_last, at == answers.len());
    }
    assert!(parts > 2 && total == 3001, "{parts} parts, {total} entries");
}
