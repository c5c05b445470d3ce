//! Runs the real unpacker on layers made by a test, and looks at what came of them.

#![allow(dead_code)]

pub mod tar_maker;

use std::{
    fs,
    io::{Read, Write},
    os::unix::{
        fs::{PermissionsExt, chown},
        net::UnixStream,
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

pub use tar_maker::{Item, archive};

/// A user that this machine knows nothing of, so one without subordinate ids.
const STRANGER: u32 = 54_321;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    Root,
    Stranger,
}

/// Root where the tests run as root, and a user with a single id.
pub fn actors() -> Vec<Actor> {
    if is_root() { vec![Actor::Root, Actor::Stranger] } else { vec![Actor::Stranger] }
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub struct Store {
    directory: TempDir,
    binary: PathBuf,
    actor: Actor,
    pub max_bytes: u64,
    pub max_entries: u64,
    /// Names, the lowest first.
    layers: Vec<PathBuf>,
    count: usize,
}

impl Store {
    pub fn new(actor: Actor) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
        // Where the checkout lies, a stranger may not be able to read. By another process: a file that a thread here has
        // open for writing is also open, for a moment, in what other threads start, and cannot be executed then.
        let binary = directory.path().join("ak-unpack");
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_ak-unpack")).arg(&binary).status().expect("cp");
        assert!(copied.success(), "copy the binary");
        Self { directory, binary, actor, max_bytes: 1 << 30, max_entries: 100_000, layers: Vec::new(), count: 0 }
    }

    fn is_other_user(&self) -> bool {
        is_root() && self.actor == Actor::Stranger
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        if self.is_other_user() {
            command.uid(STRANGER).gid(STRANGER);
        }
        command.current_dir("/");
        command
    }

    fn new_directory(&mut self, prefix: &str) -> PathBuf {
        self.count += 1;
        let path = self.directory.path().join(format!("{prefix}{}", self.count));
        fs::create_dir(&path).expect("make a directory");
        if self.is_other_user() {
            chown(&path, Some(STRANGER), Some(STRANGER)).expect("give the directory away");
        }
        path
    }

    /// The unpacker's answer to a layer over those that were accepted before.
    pub fn try_layer(&mut self, compression: &str, blob: &[u8], diff_id: &str) -> Value {
        let target = self.new_directory("layer");
        let below: Vec<PathBuf> = self.layers.iter().rev().map(|layer| layer.join("fs")).collect();
        let order = json!({
            "target": target, "below": below, "compression": compression, "diffId": diff_id,
            "maxBytes": self.max_bytes, "maxEntries": self.max_entries, "sync": false,
        });
        fs::write(self.directory.path().join("blob"), blob).expect("write the blob");
        let answer = self.answer_to("layer", &order);
        if answer["event"] == "done" {
            self.layers.push(target);
        }
        answer
    }

    fn answer_to(&self, verb: &str, order: &Value) -> Value {
        let (mut ours, theirs) = UnixStream::pair().expect("a socket pair");
        let mut child = self
            .command("sh")
            .args(["-c", "exec \"$0\" \"$2\" 3<&0 4<\"$1\" </dev/null"])
            .args([&self.binary, &self.directory.path().join("blob"), Path::new(verb)])
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
            .spawn()
            .expect("start the unpacker");
        ours.write_all(format!("{order}\n").as_bytes()).expect("give the order");
        let mut answer = String::new();
        ours.read_to_string(&mut answer).expect("an answer");
        child.wait().expect("its end");
        serde_json::from_str(&answer).unwrap_or_else(|e| panic!("{e}: {answer:?}"))
    }

    /// Requests a disk of all layers. Returns the answer, and the path of the disk.
    pub fn disk(&mut self, max_bytes: u64) -> (Value, PathBuf) {
        let target = self.new_directory("disk");
        let layers: Vec<PathBuf> = self.layers.iter().rev().map(|layer| layer.join("fs")).collect();
        let answer = self.answer_to("disk", &json!({ "target": target, "layers": layers, "maxBytes": max_bytes }));
        (answer, target.join("root.erofs"))
    }

    pub fn layer(&mut self, items: impl IntoIterator<Item = Item>) -> Value {
        let tar = archive(items);
        let answer = self.try_layer("none", &tar, &digest(&tar));
        assert_eq!(answer["event"], "done", "{answer}");
        answer
    }

    /// The refusal's text.
    pub fn refused(&mut self, items: impl IntoIterator<Item = Item>) -> String {
        let tar = archive(items);
        let answer = self.try_layer("none", &tar, &digest(&tar));
        assert_eq!(answer["event"], "failed", "{answer}");
        assert_eq!(answer["code"], "image_invalid", "{answer}");
        answer["message"].as_str().expect("a message").to_owned()
    }

    /// Output of a shell in the root that all layers make together. Ids are those that the image gave.
    pub fn look(&mut self, script: &str) -> String {
        let at = self.new_directory("merged");
        let empty = self.new_directory("empty");
        let mut lower: Vec<String> = self.layers.iter().rev().map(|l| l.join("fs").display().to_string()).collect();
        lower.push(empty.display().to_string());
        let mount = format!(
            "mount -t overlay overlay -o userxattr,lowerdir={} {at} && cd {at} && {script}",
            lower.join(":"),
            at = at.display(),
        );
        let mut command = self.command("unshare");
        if self.actor == Actor::Stranger {
            command.args(["--user", "--map-root-user"]);
        }
        let output = command.args(["--mount", "sh", "-c", &mount]).output().expect("unshare");
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Every path with its kind, sorted.
    pub fn tree(&mut self) -> Vec<String> {
        let text = self.look("find . -mindepth 1 -printf '%y %P\\n'");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    pub fn read(&mut self, path: &str) -> String {
        self.look(&format!("cat {path}"))
    }

    pub fn removes_everything(&mut self) {
        let layers: Vec<PathBuf> = fs::read_dir(self.directory.path())
            .expect("list")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("layer")))
            .collect();
        // The directories lie in one that is root's; what is in them is the actor's to remove.
        let inner: Vec<PathBuf> = layers.iter().flat_map(|l| [l.join("fs"), l.join("work")]).collect();
        let output = self.command(&self.binary).arg("remove").args(&inner).output().expect("start the removal");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for layer in &layers {
            assert!(fs::read_dir(layer).expect("list").next().is_none(), "{}", layer.display());
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

pub fn digest(tar: &[u8]) -> String {
    let hex: String = Sha256::digest(tar).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Bytes piped through a program of this machine.
pub fn piped(program: &str, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{program}: {e}"));
    let mut stdin = child.stdin.take().expect("its input");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input).expect("feed it"));
    let output = child.wait_with_output().expect("its output");
    writer.join().expect("written");
    assert!(output.status.success());
    output.stdout
}
