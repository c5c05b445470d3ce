//! The `host` image: the machine's own programs, read-only, and what they need of /etc. Nothing of any home, no
//! secret of /etc, and no id map: files that only the host's root may read stay unreadable inside.

use std::{
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use rustix::fs::{Mode, mkdirat};

use crate::{
    fault::{During, Outcome},
    filesystems,
    place::{self, Root},
    spec::{Network, Spec, User},
};

/// Beside /usr: links into it on most systems, folders on some.
const SYSTEM: [&str; 6] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// What programs need of /etc and what holds no secrets: folders are shown, files (small ones) are copied.
const ETC_FOLDERS: [&str; 9] = [
    "alternatives",
    "crypto-policies",
    "fonts",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "ssl/certs",
];
const ETC_FILES: [&str; 8] =
    ["debian_version", "inputrc", "ld.so.cache", "localtime", "os-release", "protocols", "services", "ssl/openssl.cnf"];

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

/// Fills the new root. The current folder is the scratch filesystem that holds it.
pub fn build(root: &Root, spec: &Spec) -> Outcome<()> {
    for (name, mode) in FOLDERS {
        mkdirat(root.fd(), name, Mode::from_raw_mode(0o755)).during("make a folder of the root")?;
        if mode != 0o755 {
            rustix::fs::chmodat(root.fd(), name, Mode::from_raw_mode(mode), rustix::fs::AtFlags::empty())
                .during("make a folder of the root")?;
        }
    }
    let usr = place::clone_readonly(Path::new("/usr")).during("show /usr")?;
    fs::create_dir("root/usr").during("make /usr")?;
    place::attach_at(&usr, Path::new("root/usr")).during("show /usr")?;
    for name in SYSTEM {
        let host = Path::new("/").join(name);
        match fs::read_link(&host) {
            Ok(link) => rustix::fs::symlinkat(&link, root.fd(), name).during("link a system folder")?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(_) => {
                let tree = place::clone_readonly(&host).during("show a system folder")?;
                root.attach_folder(&tree, &host)?;
            }
        }
    }
    show_etc()?;
    write_etc(spec)?;
    own_folders(spec.user, spec.root_readonly, spec.tmp_mib)
}

fn show_etc() -> Outcome<()> {
    for (name, folder) in ETC_FOLDERS.map(|n| (n, true)).into_iter().chain(ETC_FILES.map(|n| (n, false))) {
        let path = Path::new("/etc").join(name);
        let Ok(kind) = fs::symlink_metadata(&path).map(|m| m.file_type()) else {
            continue;
        };
        let at = Path::new("root/etc").join(name);
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
            place::attach_at(&tree, &at).during("show a folder of /etc")?;
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

fn write_etc(spec: &Spec) -> Outcome<()> {
    let User { uid, gid } = spec.user;
    let mut passwd = "root:x:0:0:root:/home/sandbox:/bin/sh\n".to_owned();
    let mut group = "root:x:0:\ntty:x:5:\n".to_owned();
    if uid != 0 {
        passwd.push_str(&format!("sandbox:x:{uid}:{gid}::/home/sandbox:/bin/sh\n"));
        group.push_str(&format!("sandbox:x:{gid}:\n"));
    }
    passwd.push_str("nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
    group.push_str("nogroup:x:65534:\n");
    let name = &spec.hostname;
    let hosts = format!("127.0.0.1\tlocalhost {name}\n::1\tlocalhost ip6-localhost ip6-loopback {name}\n");
    for (file, text) in [
        ("passwd", passwd.as_str()),
        ("group", group.as_str()),
        ("hostname", &format!("{name}\n")),
        ("hosts", hosts.as_str()),
        ("resolv.conf", resolvers(spec.network)),
        ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"),
        ("shells", "/bin/sh\n/bin/bash\n"),
    ] {
        fs::write(Path::new("root/etc").join(file), text).during(format_args!("write /etc/{file}"))?;
    }
    Ok(())
}

/// The guest's stub answers at loopback.
fn resolvers(network: Network) -> &'static str {
    match network {
        Network::None => "",
        Network::Captured => "nameserver 127.0.0.1\n",
    }
}

fn own_folders(user: User, readonly: bool, tmp_mib: u64) -> Outcome<()> {
    let own =
        |path: &str| std::os::unix::fs::chown(path, Some(user.uid), Some(user.gid)).during(format_args!("own {path}"));
    fs::create_dir("root/home/sandbox").during("make the home folder")?;
    if readonly {
        // Programs keep caches and settings at home; these are temporary files like those of /tmp.
        place::attach_at(&filesystems::tmpfs(tmp_mib, "0700")?, Path::new("root/home/sandbox"))
            .during("make the home folder")?;
    }
    fs::set_permissions("root/home/sandbox", fs::Permissions::from_mode(0o700)).during("make the home folder")?;
    own("root/home/sandbox")?;
    own("root/workspace")?;
    for name in ["lib", "tmp"] {
        fs::create_dir(Path::new("root/var").join(name)).during("make a folder of /var")?;
    }
    fs::set_permissions("root/var/tmp", fs::Permissions::from_mode(0o1777)).during("make /var/tmp")
}
