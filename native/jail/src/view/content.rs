//! The content of a candidate, where its name alone does not say whether it is a secret.

use std::os::fd::{AsFd, BorrowedFd};

use ak_secrets::{Sample, Tests};
use rustix::{
    fs::{FileType, OFlags},
    io::Errno,
};

use super::{link_target, walk::open_below};

/// Why the content at `path` hides it; of a link, the content of what it leads to in the view. `host` is `root` where
/// links mean something.
pub fn settle<'a>(
    tests: &Tests<'a>,
    (root, host): (BorrowedFd<'_>, BorrowedFd<'_>),
    path: &[u8],
    kind: FileType,
) -> Option<&'a str> {
    match kind {
        FileType::RegularFile => tests.settle(sample(root, path)),
        FileType::Symlink => {
            let target = link_target::below(host, path).filter(|target| !target.folder)?;
            tests.settle(sample(root, &target.path))
        }
        _ => None,
    }
}

/// A bounded part of a file that is not a link, opened without waiting and, where that is allowed, without changing its
/// time of access.
fn sample(root: BorrowedFd<'_>, path: &[u8]) -> std::io::Result<Option<Sample>> {
    let file = match open_below(root, path, OFlags::RDONLY | OFlags::NOATIME) {
        Err(Errno::PERM) => open_below(root, path, OFlags::RDONLY),
        opened => opened,
    }?;
    Sample::of(file.as_fd())
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
