//! The `host` image: the machine's own programs, read-only, and what they need of /etc. Nothing of any home, no
//! secret of /etc, and no id map: files that only the host's root may read stay unreadable inside.

use std::{
    fs, io,
    os::{
        fd::OwnedFd,
        unix::fs::{MetadataExt, PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags, mkdirat, open};

use crate::{
    etc_files,
    fault::{During, Outcome},
    filesystems, image_root,
    place::{self, Root},
    spec::{Spec, User},
    upper::Uppers,
};

const HOME: &str = "home/sandbox";

/// Beside /usr: links into it on most systems, folders on some.
const SYSTEM: [&str; 6] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// What programs need of /etc and what holds no secrets: folders are shown, files (small ones) are copied.
const ETC_FOLDERS: [&str; 11] = [
    "alternatives",
    "chromium",
    "chromium.d",
    "crypto-policies",
    "fonts",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "ssl/certs",
];
/// Of Maven not `settings.xml`, where passwords of repositories are kept.
const ETC_FILES: [&str; 16] = [
    "debian_version",
    "gai.conf",
    "inputrc",
    "ld.so.cache",
    "localtime",
    "login.defs",
    "magic",
    "manpath.config",
    "maven/logging/simplelogger.properties",
    "maven/m2.conf",
    "mime.types",
    "os-release",
    "protocols",
    "services",
    "ssl/openssl.cnf",
    "timezone",
];

const FOLDERS: [(&str, u32); 11] = [
    ("dev", 0o755),
    ("etc", 0o755),
    ("home", 0o755),
    ("opt", 0o755),
    ("proc", 0o555),
    ("root", 0o700),
    ("run", 0o755),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("var", 0o755),
    ("workspace", 0o755),
];

/// Where something is mounted or written at every start, which must be a folder.
const PLACES: [(&str, u32); 7] = [
    ("dev", 0o755),
    ("etc", 0o755),
    ("proc", 0o555),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("usr", 0o755),
    ("workspace", 0o755),
];

/// When the files of /etc that are copied were last changed or replaced. A root that was filled before is out of date.
#[derive(Debug, PartialEq, Eq)]
pub struct Stamp([Option<(u64, i64, i64)>; ETC_FILES.len()]);

impl Stamp {
    pub fn now() -> Self {
        Self(ETC_FILES.map(|name| {
            let found = fs::symlink_metadata(Path::new("/etc").join(name)).ok()?;
            Some((found.ino(), found.ctime(), found.ctime_nsec()))
        }))
    }
}

/// Fills the new root. The current folder is the scratch filesystem that holds it.
pub fn build(root: &Root, spec: &Spec) -> Outcome<()> {
    let at = Path::new("root");
    let shown = fill(at, root, spec)?;
    for Shown { path, tree } in shown {
        place::attach_at(&tree, &at.join(&path)).during(format_args!("show /{}", path.display()))?;
    }
    if spec.root_readonly {
        // Programs keep caches and settings at home; these are temporary files like those of /tmp.
        let home = at.join(HOME);
        place::attach_at(&filesystems::tmpfs(spec.tmp_mib, "0700")?, &home).during("make the home folder")?;
        own(&home, spec.user)?;
    }
    Ok(())
}

/// The same with a writable layer that was there before: what is ours lies below it, and nothing in it is believed.
/// Mounts are put where no link leads; where the sandbox has put something else, it has that.
pub fn build_kept(spec: &Spec, uppers: Uppers) -> Outcome<Root> {
    let below = Path::new("i0");
    fs::create_dir(below).during("make the root's lower layer")?;
    let skeleton = open(below, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let shown = fill(below, &Root::new(skeleton.during("open the root's lower layer")?), spec)?;
    let root = image_root::join(&["i0".to_owned()], uppers)?;
    for (name, mode) in PLACES {
        image_root::own_folder(&root, name, mode)?;
    }
    place::attach_at(&filesystems::tmpfs(1, "0755")?, Path::new("root/dev")).during("mount /dev")?;
    for Shown { path, tree } in shown {
        let top = path.to_str().filter(|name| !name.contains('/'));
        if let Some(name) = top {
            image_root::own_folder(&root, name, 0o755)?;
        }
        match root.attach_folder(&tree, &Path::new("/").join(&path)) {
            Err(fault) if top.is_some() => return Err(fault),
            _ => {}
        }
    }
    if spec.root_readonly {
        let home = root.folder(&Path::new("/").join(HOME))?;
        place::attach(&filesystems::tmpfs(spec.tmp_mib, "0700")?, &home).during("make the home folder")?;
        let home = root.find(&Path::new("/").join(HOME), OFlags::DIRECTORY).during("open the home folder")?;
        let (uid, gid) = (rustix::fs::Uid::from_raw(spec.user.uid), rustix::fs::Gid::from_raw(spec.user.gid));
        rustix::fs::chownat(&home, "", Some(uid), Some(gid), rustix::fs::AtFlags::EMPTY_PATH)
            .during("own the home folder")?;
    }
    Ok(root)
}

/// A folder of the host's, and where in the root it is shown.
struct Shown {
    path: PathBuf,
    tree: OwnedFd,
}

/// Makes all files and folders of the root in `at`, and returns what is to be mounted in it.
fn fill(at: &Path, root: &Root, spec: &Spec) -> Outcome<Vec<Shown>> {
    for (name, mode) in FOLDERS {
        mkdirat(root.fd(), name, Mode::from_raw_mode(mode)).during("make a folder of the root")?;
        // Our mask has taken away that others may write to it.
        if mode & 0o022 != 0 {
            rustix::fs::chmodat(root.fd(), name, Mode::from_raw_mode(mode), rustix::fs::AtFlags::empty())
                .during("make a folder of the root")?;
        }
    }
    let usr = place::clone_readonly(Path::new("/usr")).during("show /usr")?;
    fs::create_dir(at.join("usr")).during("make /usr")?;
    let mut shown = vec![Shown { path: "usr".into(), tree: usr }];
    for name in SYSTEM {
        let host = Path::new("/").join(name);
        match fs::read_link(&host) {
            Ok(link) => rustix::fs::symlinkat(&link, root.fd(), name).during("link a system folder")?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(_) => {
                fs::create_dir(at.join(name)).during("make a system folder")?;
                let tree = place::clone_readonly(&host).during("show a system folder")?;
                shown.push(Shown { path: name.into(), tree });
            }
        }
    }
    show_etc(at, &mut shown)?;
    write_etc(at, spec)?;
    own_folders(at, spec.user)?;
    Ok(shown)
}

fn show_etc(root: &Path, shown: &mut Vec<Shown>) -> Outcome<()> {
    for (name, folder) in ETC_FOLDERS.map(|n| (n, true)).into_iter().chain(ETC_FILES.map(|n| (n, false))) {
        let path = Path::new("/etc").join(name);
        let Ok(kind) = fs::symlink_metadata(&path).map(|m| m.file_type()) else {
            continue;
        };
        let inside = Path::new("etc").join(name);
        let at = root.join(&inside);
        if name.contains('/')
            && let Some(parent) = at.parent()
        {
            fs::create_dir_all(parent).during("make a folder of /etc")?;
        }
        if kind.is_symlink() {
            let link = fs::read_link(&path).during("read a link of /etc")?;
            // Into /usr it holds inside too; anywhere else it would show what is not on the list.
            if link.starts_with("/usr") || link.starts_with("../usr") {
                symlink(&link, at).during("link a file of /etc")?;
            }
        } else if kind.is_dir() && folder {
            fs::create_dir(&at).during("make a folder of /etc")?;
            let tree = place::clone_readonly(&path).during("show a folder of /etc")?;
            shown.push(Shown { path: inside, tree });
        } else if kind.is_file() && !folder {
            match fs::read(&path) {
                Ok(text) => fs::write(&at, text).during("copy a file of /etc")?,
                // Not for everybody to read, so not for the sandbox either.
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {}
                Err(e) => return Err(e).during("copy a file of /etc"),
            }
        }
    }
    Ok(())
}

fn write_etc(root: &Path, spec: &Spec) -> Outcome<()> {
    let User { uid, gid } = spec.user;
    let mut passwd = "root:x:0:0:root:/home/sandbox:/bin/sh\n".to_owned();
    let mut group = "root:x:0:\ntty:x:5:\n".to_owned();
    if uid != 0 {
        passwd.push_str(&format!("sandbox:x:{uid}:{gid}::/home/sandbox:/bin/sh\n"));
        group.push_str(&format!("sandbox:x:{gid}:\n"));
    }
    passwd.push_str("nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
    group.push_str("nogroup:x:65534:\n");
    for (file, text) in [
        ("passwd", passwd.as_str()),
        ("group", group.as_str()),
        ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"),
        ("shells", "/bin/sh\n/bin/bash\n"),
    ] {
        fs::write(root.join("etc").join(file), text).during(format_args!("write /etc/{file}"))?;
    }
    for (file, text) in etc_files::at_the_start(spec) {
        fs::write(root.join("etc").join(file), text).during(format_args!("write /etc/{file}"))?;
    }
    Ok(())
}

fn own_folders(root: &Path, user: User) -> Outcome<()> {
    let home = root.join(HOME);
    fs::create_dir(&home).during("make the home folder")?;
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).during("make the home folder")?;
    own(&home, user)?;
    own(&root.join("workspace"), user)?;
    for name in ["lib", "tmp"] {
        fs::create_dir(root.join("var").join(name)).during("make a folder of /var")?;
    }
    fs::set_permissions(root.join("var/tmp"), fs::Permissions::from_mode(0o1777)).during("make /var/tmp")
}

fn own(path: &Path, user: User) -> Outcome<()> {
    std::os::unix::fs::chown(path, Some(user.uid), Some(user.gid)).during(format_args!("own {}", path.display()))
}
