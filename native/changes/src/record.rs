//! Record of applied changes: they are neither listed nor applied again, and a file that came from the sandbox is not
//! taken for a change of the host's. Each path has a line, appended as soon as the file is in place. A killed process
//! loses the note of one file at most, which then counts as changed by the host if the sandbox changes it again.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Write},
    os::{fd::OwnedFd, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

use ak_jail::{
    fault::{During, Fault, Outcome},
    keep::project::APPLIED,
};
use rustix::fs::{FlockOperation, Stat, flock};
use serde::{Deserialize, Serialize};

/// The state of a file at one moment (inode and ctime): every change of the file changes it, and no process can set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Print {
    device: u64,
    inode: u64,
    changed: (i64, u64),
}

impl Print {
    pub fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino, changed: (stat.st_ctime, stat.st_ctime_nsec) }
    }
}

/// Both sides of a path when they were made equal; none where the path was gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    pub host: Option<Print>,
    pub sandbox: Option<Print>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    path: String,
    #[serde(flatten)]
    applied: Applied,
}

#[derive(Default)]
pub struct Record {
    entries: HashMap<Vec<u8>, Applied>,
    lines: usize,
}

impl Record {
    pub fn read(state: &Path) -> Outcome<Self> {
        let text = match fs::read(state.join(APPLIED)) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            read => read.during("read what was applied")?,
        };
        let mut record = Self::default();
        for line in text.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
            record.lines += 1;
            // Half a line is what a writer left that was killed.
            if let Ok(Line { path, applied }) = serde_json::from_slice(line) {
                record.entries.insert(from_hex(&path), applied);
            }
        }
        Ok(record)
    }

    pub fn get(&self, path: &[u8]) -> Option<&Applied> {
        self.entries.get(path)
    }
}

/// The right to apply, of one process at a time.
pub struct Writer {
    file: File,
    _lock: OwnedFd,
}

impl Writer {
    pub fn open(state: &Path) -> Outcome<(Self, Record)> {
        let lock = open_own(&state.join("applied.lock"), false)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            Fault::new("conflict", "changes of this sandbox are being applied already").hint("wait until that is done")
        })?;
        let record = Record::read(state)?;
        let path = state.join(APPLIED);
        if record.lines > 2 * record.entries.len() + 1000 {
            rewrite(&path, &record)?;
        }
        let mut file = open_own(&path, true)?;
        if record.lines > 0 {
            // Ends what a killed writer may have begun.
            file.write_all(b"\n").during("write what was applied")?;
        }
        Ok((Self { file, _lock: lock.into() }, record))
    }

    pub fn add(&mut self, path: &[u8], applied: Applied) -> Outcome<()> {
        self.file.write_all(&line(path, applied)?).during("write what was applied")
    }
}

fn rewrite(path: &Path, record: &Record) -> Outcome<()> {
    let temporary: PathBuf = path.with_extension("new");
    let mut text = Vec::new();
    for (path, applied) in &record.entries {
        text.extend(line(path, *applied)?);
    }
    fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path)).during("write what was applied")
}

fn line(path: &[u8], applied: Applied) -> Outcome<Vec<u8>> {
    let mut text = serde_json::to_vec(&Line { path: to_hex(path), applied }).during("write what was applied")?;
    text.push(b'\n');
    Ok(text)
}

fn open_own(path: &Path, appends: bool) -> Outcome<File> {
    let mut options = OpenOptions::new();
    options.create(true).mode(0o600);
    if appends {
        options.append(true)
    } else {
        options.write(true)
    };
    options.open(path).during("open what was applied")
}

/// Names need not be UTF-8.
fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |b: u8| (b as char).to_digit(16).unwrap_or(0) as u8;
    text.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_found_again_also_after_half_a_line() {
        let directory = tempfile::tempdir().expect("directory");
        let print = Print { device: 1, inode: 2, changed: (3, 4) };
        let (file, gone) = (Applied { host: Some(print), sandbox: Some(print) }, Applied { host: None, sandbox: None });
        {
            let (mut writer, _) = Writer::open(directory.path()).expect("open");
            writer.add(b"a/\xff\n", file).expect("note");
            assert!(Writer::open(directory.path()).is_err());
        }
        let half = OpenOptions::new().append(true).open(directory.path().join(APPLIED));
        half.expect("open").write_all(br#"{"path":"61"#).expect("write");
        let (mut writer, _) = Writer::open(directory.path()).expect("open");
        writer.add(b"b", gone).expect("note");
        let record = Record::read(directory.path()).expect("read");
        assert_eq!((record.get(b"a/\xff\n"), record.get(b"b")), (Some(&file), Some(&gone)));
        assert_eq!(record.get(b"a"), None);
    }
}
