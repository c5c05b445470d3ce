//! The content of a candidate, where its name alone does not say whether it is a secret.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ak_secrets::{Sample, Tests};
use rustix::{
    fs::{FileType, OFlags},
    io::Errno,
};

use super::{contents::Contents, link_target, walk::open_below};

/// Why the content at `path` hides it; of a link, the content of what it leads to in the view. `host` is `root` where
/// links mean something.
pub fn settle<'a>(
    tests: &Tests<'a>,
    contents: Option<&Contents>,
    (root, host): (BorrowedFd<'_>, BorrowedFd<'_>),
    path: &[u8],
    kind: FileType,
) -> Option<&'a str> {
    let settle = |path: &[u8]| match (open_file(root, path), contents) {
        (Ok(file), Some(contents)) => contents.settle(file.as_fd(), tests),
        (Ok(file), None) => tests.settle(Sample::of(file.as_fd())),
        (Err(e), _) => tests.settle(Err(e.into())),
    };
    match kind {
        FileType::RegularFile => settle(path),
        FileType::Symlink => {
            let target = link_target::below(host, path).filter(|target| !target.folder)?;
            settle(&target.path)
        }
        _ => None,
    }
}

/// What is no link, opened without waiting and, where that is allowed, without changing its time of access.
fn open_file(root: BorrowedFd<'_>, path: &[u8]) -> rustix::io::Result<OwnedFd> {
    match open_below(root, path, OFlags::RDONLY | OFlags::NOATIME) {
        Err(Errno::PERM) => open_below(root, path, OFlags::RDONLY),
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use ak_secrets::Content;
    use rustix::fs::{Mode, open};

    use super::*;
    use crate::{
        spec::HideRule,
        view::{matcher::Matcher, rules::Rules, survey::Survey},
    };

    #[test]
    fn a_link_to_a_secret_of_another_name_is_hidden_with_what_it_leads_to() {
        let folder = std::env::temp_dir().join(format!("ak-content-{}", std::process::id()));
        fs::create_dir_all(folder.join("data")).expect("make a folder");
        let key = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIKj3Nq\n";
        for (name, text) in [("data/blob", key), ("data/plain", "text"), ("id_generator.py", "import uuid")] {
            fs::write(folder.join(name), text).expect("write");
        }
        for (link, target) in [("id_rsa", "data/blob"), ("id_other", "data/plain"), ("id_out", "/etc/hostname")] {
            symlink(target, folder.join(link)).expect("symlink");
        }
        let key =
            HideRule { holds: Some(Content::PrivateKey), reason: Some("key".into()), ..HideRule::named("**/id_*") };
        let (hide, protect) = (Matcher::hiding(&[key]), Matcher::of(&[]));
        let root = open(&folder, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).expect("open");
        let found = Survey::of(root.as_fd(), root.as_fd(), &Rules::new(&hide, &protect)).expect("survey");
        let hidden: Vec<&[u8]> = found.hidden.iter().map(|hit| hit.path.as_slice()).collect();
        assert_eq!(hidden, [&b"data/blob"[..], b"id_rsa"]);
        assert_eq!(found.reasons, [(b"id_rsa".to_vec(), "key".to_owned())]);
        fs::remove_dir_all(folder).expect("remove");
    }
}
