//! A place for one machine: its files, and a program that is the double with what is to go wrong.

use std::{
    env, fs,
    io::{Read, Write},
    os::unix::{fs::symlink, net::UnixStream},
    path::{Path, PathBuf},
    time::Duration,
};

use ak_vmm::firecracker::{Machine, Saved};
use tempfile::TempDir;

/// On a machine that has no time.
const PATIENCE: Duration = Duration::from_secs(60);
pub const WAITING: &[u8] = br#"{"said":"waiting"}"#;

pub struct Bench {
    directory: TempDir,
}

impl Bench {
    /// `wishes` are of the double: see its mischief.rs.
    pub fn new(wishes: &[(&str, &str)]) -> Self {
        let bench = Self { directory: TempDir::new().expect("a directory") };
        for name in ["kernel", "initramfs", "root", "disk"] {
            fs::write(bench.path(name), name).expect("a file of the machine's");
        }
        symlink(double(), bench.path("firecracker")).expect("a program");
        bench.wish(wishes);
        bench
    }

    /// For the processes that are started from now on.
    pub fn wish(&self, wishes: &[(&str, &str)]) {
        let mut text = format!("RECORD={}\n", self.path("record").display());
        for (name, value) in wishes {
            text.push_str(&format!("{name}={value}\n"));
        }
        fs::write(self.path("firecracker.wishes"), text).expect("the wishes");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Each time with a fresh directory for its sockets at the same place, as in a jail.
    pub fn machine(&self) -> Machine {
        for name in ["api.sock", "guest.sock"] {
            let _ = fs::remove_file(self.path(name));
        }
        Machine {
            program: self.path("firecracker"),
            directory: self.directory.path().to_owned(),
            kernel: self.path("kernel"),
            initramfs: self.path("initramfs"),
            command_line: "quiet panic=-1".into(),
            processors: 1,
            memory_mib: 128,
            root: self.path("root"),
            disk: None,
            disk_rate: None,
        }
    }

    pub fn saved(&self) -> Saved {
        Saved { state: self.path("state"), memory: self.path("memory") }
    }

    /// The requests to Firecracker, one a line, with the bench's own directory as `.`.
    pub fn record(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("record")).expect("the record");
        let directory = self.directory.path().to_str().expect("a plain path");
        text.lines().map(|line| line.replace(directory, ".")).collect()
    }
}

/// Built with the tests, two directories beside them.
pub fn double() -> PathBuf {
    let own = env::current_exe().expect("our own program");
    let profile = own.parent().and_then(Path::parent).expect("the directory of the profile");
    profile.join("examples/firecracker-double")
}

pub fn send(stream: &mut UnixStream, message: &[u8]) {
    stream.write_all(&(message.len() as u32).to_le_bytes()).expect("a message is taken");
    stream.write_all(message).expect("a message is taken");
}

pub fn hear(stream: &mut UnixStream) -> Vec<u8> {
    stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    let mut length = [0; 4];
    stream.read_exact(&mut length).expect("a message comes");
    let mut message = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut message).expect("a whole message comes");
    message
}
