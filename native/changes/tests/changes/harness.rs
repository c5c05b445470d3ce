//! A project, and the state directory of a sandbox that has a copy of it: its layer is made by hand, as the kernel would.

use std::{
    fs::{self, Permissions},
    io::{ErrorKind, Write},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};
use serde_json::{Value, json};
use tempfile::TempDir;

pub struct World {
    directory: TempDir,
    since: (u64, u32),
}

pub struct Told {
    pub code: Option<i32>,
    pub lines: Vec<Value>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl World {
    /// Paths that end with `/` are directories.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().expect("directory");
        let mut world = Self { directory, since: (0, 0) };
        fs::create_dir_all(world.state().join("disk/u0")).expect("make");
        fs::set_permissions(world.state(), Permissions::from_mode(0o700)).expect("close");
        fs::create_dir(world.project()).expect("make");
        for (path, text) in files {
            write(&world.project().join(path), text);
        }
        world.begin();
        world
    }

    /// From here on what the host does is the host's.
    pub fn begin(&mut self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("clock");
        self.since = (now.as_secs(), now.subsec_nanos());
        let project = json!({
            "version": 1, "source": self.project(), "is_synced": false, "layer": "u0",
            "hide": [{ "glob": "**/.env*" }, { "glob": "**/.npmrc", "holds": "credential", "reason": "credentials" }],
            "protect": ["**/.git/hooks", "**/.git/config", "**/.claude"],
            "review": ["**/CLAUDE.md", "**/.github/workflows", "**/.claude"],
            "set_aside": self.set_aside(),
            "since": self.since,
        });
        fs::write(self.state().join("project.json"), project.to_string()).expect("write");
        // Files get the time of the last tick, which may lie before.
        let probe = self.directory.path().join("probe");
        loop {
            fs::write(&probe, "x").expect("write");
            let seen = fs::metadata(&probe).expect("look");
            if (seen.ctime() as u64, seen.ctime_nsec() as u32) > self.since {
                return;
            }
            std::thread::yield_now();
        }
    }

    pub fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    pub fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    pub fn set_aside(&self) -> PathBuf {
        self.directory.path().join("held")
    }

    /// Adds a state directory of files that a stop set aside instead of carrying them over.
    pub fn held(self, name: &str) -> Self {
        fs::remove_dir_all(self.state()).expect("forget the sandbox");
        fs::rename(self.set_aside().join(name), self.state()).expect("take its place");
        self
    }

    pub fn layer(&self) -> PathBuf {
        self.state().join("disk/u0")
    }

    /// The sandbox writes a file.
    pub fn wrote(&self, path: &str, text: &str) {
        write(&self.layer().join(path), text);
    }

    pub fn linked(&self, path: &str, target: &str) {
        make_parents(&self.layer().join(path));
        symlink(target, self.layer().join(path)).expect("link");
    }

    pub fn removed(&self, path: &str) {
        let path = self.layer().join(path);
        make_parents(&path);
        mknodat(CWD, &path, FileType::CharacterDevice, Mode::empty(), 0).expect("whiteout");
    }

    pub fn made_anew(&self, directory: &str) {
        fs::create_dir_all(self.layer().join(directory)).expect("make");
        setxattr(self.layer().join(directory), "user.overlay.opaque", b"y", XattrFlags::empty()).expect("opaque");
    }

    pub fn on_host(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.project().join(path)).ok()
    }

    pub fn start(&self, verb: &str, order: Value) -> Child {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ak-changes"))
            .args([verb, self.state().to_str().expect("path")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("start");
        // A verb that takes no order may have ended before it is written.
        match child.stdin.take().expect("stdin").write_all(order.to_string().as_bytes()) {
            Err(fault) if fault.kind() == ErrorKind::BrokenPipe => {}
            written => written.expect("order"),
        }
        child
    }

    pub fn ask(&self, verb: &str, order: Value) -> Told {
        let child = self.start(verb, order);
        let output = child.wait_with_output().expect("end");
        let lines = output.stdout.split(|&b| b == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
        Told {
            code: output.status.code(),
            lines: lines.collect(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            stdout: output.stdout,
        }
    }

    pub fn list(&self) -> Vec<String> {
        self.ask("list", json!({})).letters()
    }

    pub fn apply(&self, order: Value) -> Told {
        let told = self.ask("apply", order);
        assert_eq!(told.code, Some(0), "{}", told.stderr);
        told
    }
}

impl Told {
    /// Each change as a letter, its paths and what stands against it.
    pub fn letters(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let changes = self.lines.iter().filter(|line| line.get("change").is_some());
        changes
            .map(|line| {
                let letter = text(&line["change"])[..1].to_uppercase();
                let from = line.get("from").map(|from| format!("{} -> ", text(from))).unwrap_or_default();
                let stands = ["conflict", "refused", "review"].into_iter().find(|word| line.get(word).is_some());
                let stands = stands.map(|word| format!(" {word}")).unwrap_or_default();
                format!("{letter} {from}{}{stands}", text(&line["path"]))
            })
            .collect()
    }

    pub fn end(&self) -> &Value {
        &self.lines.last().expect("a last line")["end"]
    }
}

fn write(path: &Path, text: &str) {
    make_parents(path);
    if path.to_string_lossy().ends_with('/') {
        fs::create_dir_all(path).expect("make");
    } else {
        fs::write(path, text).expect("write");
    }
}

fn make_parents(path: &Path) {
    fs::create_dir_all(path.parent().expect("parent")).expect("make");
}
