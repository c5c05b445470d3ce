//! Both sides together, without a machine: a mount of FUSE whose other end is a host's side at work, in a mount namespace
//! of its own.

use std::{
    collections::BTreeMap,
    fs, io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::{
            fs::{PermissionsExt, symlink},
            net::UnixStream,
        },
    },
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use ak_jail::{place, spec::HideRule};
use ak_lazy::{
    fuse::{Owner, View, mount, open_device},
    host::Host,
    shown::Shown,
};
use rustix::fs::{Mode, OFlags, open};

const INSIDE: &str = "AK_LAZY_INSIDE";

/// Runs the test named `name` again in namespaces of its own, where that has not happened yet.
fn in_own_mounts(name: &str, test: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return test();
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = std::env::current_exe().expect("this program");
    let unshare = ["--user", "--map-root-user", "--mount", "--propagation", "private"];
    let mut run = Command::new("unshare");
    run.args(unshare).arg(program).args(["--exact", name, "--nocapture", "--include-ignored"]);
    let out = run.env(INSIDE, folder.path()).output().expect("unshare");
    let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    print!("{text}");
    assert!(out.status.success(), "{text}");
}

/// Shows `source` at `at`; cut off when the result is dropped.
fn show(source: &Path, at: &Path, hide: &[HideRule]) -> UnixStream {
    let (ours, theirs) = delayed();
    let root = open(source, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).expect("open");
    let shown = Shown::of(root.as_fd(), hide).expect("searched");
    let host = Host::new(root, shown);
    let cut = ours.try_clone().expect("a descriptor");
    thread::spawn(move || host.serve(&mut &ours, &mut &ours));
    let device = open_device().expect("FUSE");
    let tree = mount(&device).expect("a mount");
    place::attach_at(&tree, at).expect("attach");
    let view = View::new(device, OwnedFd::from(theirs), Owner { uid: 0, gid: 0 }).expect("a view");
    thread::spawn(move || view.serve());
    cut
}

/// A stream, on which bytes take their time where that is asked for.
fn delayed() -> (UnixStream, UnixStream) {
    let Some(delay) = std::env::var("AK_LAZY_DELAY_MS").ok().and_then(|ms| ms.parse().ok()) else {
        return UnixStream::pair().expect("a stream");
    };
    let ((ours, a), (b, theirs)) = (UnixStream::pair().expect("a stream"), UnixStream::pair().expect("a stream"));
    for (from, to) in [(a.try_clone(), b.try_clone()), (Ok(b), Ok(a))] {
        let (mut from, mut to) = (from.expect("a descriptor"), to.expect("a descriptor"));
        thread::spawn(move || {
            let mut chunk = vec![0; 1 << 20];
            while let Ok(count @ 1..) = io::Read::read(&mut from, &mut chunk) {
                thread::sleep(std::time::Duration::from_millis(delay));
                if io::Write::write_all(&mut to, &chunk[..count]).is_err() {
                    return;
                }
            }
        });
    }
    (ours, theirs)
}

fn directory(name: &str) -> PathBuf {
    let made = PathBuf::from(std::env::var_os(INSIDE).expect("inside")).join(name);
    fs::create_dir_all(&made).expect("a folder");
    made
}

/// Every path with its kind, mode, time and content.
fn all(root: &Path) -> io::Result<BTreeMap<PathBuf, String>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let stat = fs::symlink_metadata(&path)?;
            let what = if stat.is_dir() {
                folders.push(path.clone());
                String::new()
            } else if stat.is_symlink() {
                fs::read_link(&path)?.display().to_string()
            } else {
                format!(
                    "{} {:?}",
                    stat.len(),
                    fs::read(&path)?.iter().fold(0_u64, |sum, byte| sum * 31 % 9973 + u64::from(*byte))
                )
            };
            let seen = format!("{:o} {:?} {what}", stat.permissions().mode(), stat.modified()?);
            found.insert(path.strip_prefix(root).expect("below").to_owned(), seen);
        }
    }
    Ok(found)
}

#[test]
fn a_tree_is_seen_as_it_is_and_can_be_written_over() {
    in_own_mounts("a_tree_is_seen_as_it_is_and_can_be_written_over", || {
        let (source, lower) = (directory("source"), directory("lower"));
        for number in 0..300 {
            let folder = source.join(format!("d{}/e{}", number % 7, number % 13));
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join(format!("f{number}")), "x".repeat(number * 11)).expect("write");
        }
        let large: Vec<u8> = (0..3_000_001_u32).map(|n| (n % 251) as u8).collect();
        fs::write(source.join("large"), &large).expect("write");
        fs::set_permissions(source.join("large"), fs::Permissions::from_mode(0o751)).expect("chmod");
        fs::write(source.join("empty"), "").expect("write");
        symlink("d1/e1", source.join("link")).expect("a link");
        let stream = show(&source, &lower, &[]);
        assert_eq!(all(&lower).expect("seen"), all(&source).expect("there"));
        assert_eq!(fs::read(lower.join("large")).expect("read"), large);
        assert_eq!(fs::metadata(lower.join("none")).expect_err("not there").kind(), io::ErrorKind::NotFound);
        assert!(fs::write(lower.join("new"), "").is_err(), "it is read-only");

        // An overlay above it takes the writes.
        let (scratch, merged) = (directory("scratch"), directory("merged"));
        let tmpfs = Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&scratch).status().expect("mount");
        assert!(tmpfs.success());
        fs::create_dir_all(scratch.join("upper")).expect("a folder");
        fs::create_dir_all(scratch.join("work")).expect("a folder");
        let layers = format!(
            "userxattr,lowerdir={},upperdir={},workdir={}",
            lower.display(),
            scratch.join("upper").display(),
            scratch.join("work").display()
        );
        let overlay = Command::new("mount").args(["-t", "overlay", "overlay", "-o", &layers]).arg(&merged).status();
        assert!(overlay.expect("mount").success());
        fs::write(merged.join("d1/new"), "written").expect("write");
        fs::remove_file(merged.join("empty")).expect("remove");
        fs::OpenOptions::new()
            .append(true)
            .open(merged.join("large"))
            .and_then(|mut f| io::Write::write_all(&mut f, b"!"))
            .expect("append");
        assert_eq!(fs::metadata(merged.join("large")).expect("there").len(), large.len() as u64 + 1);
        assert!(!merged.join("empty").exists() && source.join("empty").exists());
        assert_eq!(fs::read_to_string(scratch.join("upper/d1/new")).expect("in the upper layer"), "written");

        // What is known outlives the host; what is not fails at once.
        stream.shutdown(std::net::Shutdown::Both).expect("cut");
        assert_eq!(fs::read(lower.join("d1/e1/f1")).expect("known").len(), 11);
        drop(fs::remove_dir_all(&source));
    });
}

#[test]
fn what_changes_on_the_host_fails_once_and_is_seen_whole_then() {
    in_own_mounts("what_changes_on_the_host_fails_once_and_is_seen_whole_then", || {
        let (source, lower) = (directory("source"), directory("lower"));
        fs::write(source.join("a"), "before").expect("write");
        fs::write(source.join("b"), "before").expect("write");
        let _stream = show(&source, &lower, &[]);
        assert_eq!(fs::read_to_string(lower.join("b")).expect("read"), "before");
        fs::write(source.join("a"), "afterwards").expect("write");
        fs::write(source.join("b"), "afterwards").expect("write");
        let stale = fs::read(lower.join("a")).expect_err("neither one nor the other");
        assert_eq!(stale.raw_os_error(), Some(rustix::io::Errno::STALE.raw_os_error()));
        assert_eq!(fs::read_to_string(lower.join("a")).expect("the new one"), "afterwards");
        assert_eq!(fs::read_to_string(lower.join("b")).expect("kept"), "before", "what was read stays");
        fs::write(source.join("c"), "").expect("write");
        assert!(!lower.join("c").exists(), "a directory is what it was");
        drop(fs::remove_dir_all(&source));
    });
}

#[test]
fn a_host_that_is_gone_is_an_error_and_no_wait() {
    in_own_mounts("a_host_that_is_gone_is_an_error_and_no_wait", || {
        let (source, lower) = (directory("source"), directory("lower"));
        fs::create_dir(source.join("d")).expect("a folder");
        drop(show(&source, &lower, &[]).shutdown(std::net::Shutdown::Both));
        assert!(fs::read_dir(lower.join("d")).is_err());
        drop(fs::remove_dir_all(&source));
    });
}

/// Not of a test run: `AK_LAZY_TREE=DIRECTORY cargo test --release -p ak-lazy -- --ignored --nocapture`.
#[test]
#[ignore = "it measures"]
fn figures() {
    let Some(source) = std::env::var_os("AK_LAZY_TREE").map(PathBuf::from) else { return };
    in_own_mounts("figures", || {
        let lower = directory("lower");
        let began = std::time::Instant::now();
        let _stream = show(&source, &lower, &[HideRule::named("**/.env*")]);
        println!("searched and mounted: {:?}", began.elapsed());
        for (name, at) in [("host", &source), ("lazy", &lower), ("host again", &source), ("lazy again", &lower)] {
            for command in
                ["find . -type f -newermt 2100-01-01", "grep -r no-such-text-anywhere .", "git status --short"]
            {
                let began = std::time::Instant::now();
                let done =
                    Command::new("sh").args(["-c", command]).current_dir(at).env("GIT_OPTIONAL_LOCKS", "0").output();
                println!("{name}: {command}: {:?} ({} bytes)", began.elapsed(), done.expect("run").stdout.len());
            }
        }
    });
}
