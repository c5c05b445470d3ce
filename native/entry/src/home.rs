//! Makes the parts that every sandbox has whatever its image: a project directory, a user with a home, and the files of
//! /etc that describe the sandbox.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::Write,
    os::unix::fs::{OpenOptionsExt, PermissionsExt, chown},
    path::Path,
};

use ak_jail::{
    control::Layer,
    etc_files,
    fault::{During, Outcome},
    image_root, own_path,
    place::Root,
    trust,
};

use crate::order::Order;

pub const WORKSPACE: &str = "/workspace";
const OWN_HOME: &str = "/home/sandbox";

pub fn write(order: &Order) -> Outcome<()> {
    let root = Root::new(File::open("/").during("open the root")?.into());
    if !order.root_readonly {
        image_root::own_folder(&root, "workspace", 0o755)?;
        let etc = image_root::own_etc(&root)?;
        for (name, text) in etc_files::of_the_machine(&order.hostname, order.network) {
            overwrite(name, &text).during(format_args!("write /etc/{name}"))?;
        }
        let home = image_root::accounts(&root, &etc, order.user)?;
        if home == Path::new(OWN_HOME) {
            fs::create_dir_all(&home).during("make the home directory")?;
        }
    }
    for directory in [WORKSPACE, OWN_HOME] {
        give(Path::new(directory), order).during(format_args!("own {directory}"))?;
    }
    if let Some(files) = order.git.as_ref().filter(|_| !order.root_readonly) {
        trust::install_git(&root, files)?;
    }
    match &order.trusted_certificate {
        Some(certificate) => trust::install(&root, certificate),
        None => Ok(()),
    }
}

/// The project is also found by the path that it has on the host.
pub fn link_project(order: &Order) -> Outcome<Option<Layer>> {
    let Some(own) = &order.project else { return Ok(None) };
    let root = Root::new(File::open("/").during("open the root")?.into());
    Ok(own_path::attach_link(&root, own, Path::new(WORKSPACE)))
}

/// The engine has mounted files of its own at some of these names: they cannot be replaced, but written.
fn overwrite(name: &str, text: &str) -> std::io::Result<()> {
    let path = Path::new("/etc").join(name);
    let is_link = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
    if is_link {
        fs::remove_file(&path)?;
    }
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(&path)?.write_all(text.as_bytes())
}

fn give(directory: &Path, order: &Order) -> std::io::Result<()> {
    if !fs::symlink_metadata(directory).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    if directory == Path::new(OWN_HOME) {
        fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    }
    chown(directory, Some(order.user.uid), Some(order.user.gid))
}
