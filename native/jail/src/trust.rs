//! A certificate that the programs in a sandbox are to trust, beside what its root trusts already, and who the user is,
//! for git. Programs are told where by variables; the root's own files stay as they are.

use std::{fs::File, io::Write, os::fd::OwnedFd};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, mkdirat, openat, statat, unlinkat},
    io::Errno,
};

use crate::{
    fault::{During, Outcome},
    place::{self, Root},
    spec::GitFiles,
};

/// Where images and hosts keep what they trust.
const BUNDLES: [&str; 5] = [
    "etc/ssl/certs/ca-certificates.crt",
    "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "etc/pki/tls/certs/ca-bundle.crt",
    "etc/ssl/ca-bundle.pem",
    "etc/ssl/cert.pem",
];
/// Far above any bundle there is.
const MAX_BUNDLE: u64 = 8 << 20;
const FOLDER: &str = "agentkernel";

/// What there is of the two.
pub fn install_both(root: &Root, certificate: Option<&str>, git: Option<&GitFiles>) -> Outcome<()> {
    git.map_or(Ok(()), |files| install_git(root, files))?;
    certificate.map_or(Ok(()), |certificate| install(root, certificate))
}

/// Makes `/etc/agentkernel/ca.pem` and `/etc/agentkernel/ca-bundle.pem`.
pub fn install(root: &Root, certificate: &str) -> Outcome<()> {
    let folder = own_folder(root)?;
    let mut bundle = BUNDLES.iter().find_map(|path| root.read(path, MAX_BUNDLE)).unwrap_or_default();
    if bundle.last().is_some_and(|&last| last != b'\n') {
        bundle.push(b'\n');
    }
    bundle.extend_from_slice(certificate.as_bytes());
    write(&folder, "ca.pem", certificate.as_bytes())?;
    write(&folder, "ca-bundle.pem", &bundle)
}

/// Makes `/etc/agentkernel/gitconfig` and `/etc/agentkernel/gitignore`.
pub fn install_git(root: &Root, GitFiles { config, ignored }: &GitFiles) -> Outcome<()> {
    let folder = own_folder(root)?;
    write(&folder, "gitconfig", config.as_bytes())?;
    write(&folder, "gitignore", ignored.as_bytes())
}

/// Whatever the root has under that name is not believed.
fn own_folder(root: &Root) -> Outcome<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let etc = place::open_within(root.fd(), "etc", flags, ResolveFlags::IN_ROOT).during("open /etc")?;
    let etc = &etc;
    match statat(etc, FOLDER, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {}
        Ok(_) => {
            unlinkat(etc, FOLDER, AtFlags::empty()).during("replace /etc/agentkernel of the image")?;
            mkdirat(etc, FOLDER, Mode::from_raw_mode(0o755)).during("make /etc/agentkernel")?;
        }
        Err(Errno::NOENT) => mkdirat(etc, FOLDER, Mode::from_raw_mode(0o755)).during("make /etc/agentkernel")?,
        Err(e) => return Err(e).during("look at /etc/agentkernel"),
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(etc, FOLDER, flags, Mode::empty()).during("open /etc/agentkernel")
}

fn write(folder: &OwnedFd, name: &str, text: &[u8]) -> Outcome<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(e) => return Err(e).during(format_args!("replace /etc/agentkernel/{name}")),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::from_raw_mode(0o644));
    let mut file = File::from(file.during(format_args!("write /etc/agentkernel/{name}"))?);
    file.write_all(text).during(format_args!("write /etc/agentkernel/{name}"))
}
