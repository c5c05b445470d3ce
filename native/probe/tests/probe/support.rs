//! Runs the built `ak-probe` and reads its lines.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

pub const LAYERS: [&str; 11] = [
    "userns",
    "subids",
    "mountns-proc",
    "overlay",
    "idmap",
    "netns",
    "redirect",
    "seccomp",
    "landlock",
    "cgroup",
    "kvm",
];

pub fn binary() -> &'static str {
    env!("CARGO_BIN_EXE_ak-probe")
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

pub fn probe(layer: &str) -> Value {
    one(Command::new(binary()).arg(layer))
}

pub fn one(command: &mut Command) -> Value {
    let output = command.output().expect("ak-probe runs");
    let mut lines = lines(&output);
    assert_eq!(lines.len(), 1, "{output:?}");
    lines.remove(0)
}

pub fn text<'a>(line: &'a Value, field: &str) -> &'a str {
    line[field].as_str().unwrap_or_default()
}

/// Whether a program outside of the probe can do the thing.
pub fn outside(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// A copy of the binary that every user can reach, removed at the end.
pub struct SharedBinary(pub PathBuf);

impl SharedBinary {
    pub fn new(name: &str) -> SharedBinary {
        use std::os::unix::fs::PermissionsExt;
        let directory = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir(&directory).expect("temporary directory");
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&directory, open).expect("readable directory");
        let path = directory.join("ak-probe");
        // By another process: a file that a thread here has open for writing is also open, for a moment, in what other
        // threads start, and cannot be executed then.
        let copied = std::process::Command::new("cp").arg(binary()).arg(&path).status().expect("cp");
        assert!(copied.success(), "copied binary");
        SharedBinary(path)
    }
}

impl Drop for SharedBinary {
    fn drop(&mut self) {
        if let Some(directory) = self.0.parent() {
            std::fs::remove_dir_all(directory).expect("removed");
        }
    }
}
