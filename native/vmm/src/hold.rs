//! The holder of a template: a process outside every jail that has a virtual machine's memory and device state as
//! memfds. Once they are sealed (F_SEAL_WRITE) no process can change them, however they are opened: virtual machines
//! map them privately. They are gone with this process, which ends with its parent. On disk a template is a directory
//! of the caller's.

use std::{
    fs::{self, File},
    io::{self, BufRead, Write},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::fs::{FileExt, OpenOptionsExt},
    },
    path::Path,
};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use serde_json::json;

use crate::failure::{During, Failure, Outcome};

const MEMORY: &str = "memory";
const STATE: &str = "state";
const PIECE: usize = 256 << 10;
const PAGE: usize = 4096;
const MIB: u64 = 1 << 20;

struct Template {
    memory: File,
    state: File,
}

/// `new MIB`: an empty one, which is kept in a directory and sealed when a line names the directory. `open MIB DIRECTORY`: one
/// that was kept. Ends when its input does.
pub fn run(words: &[&str], input: &mut dyn BufRead, output: &mut dyn Write) -> Outcome<()> {
    let (template, is_new) = match words {
        ["new", mib] => (Template::new(size(mib)?)?, true),
        ["open", mib, directory] => (Template::load(Path::new(directory), size(mib)?)?, false),
        _ => return Err(Failure::new("usage: ak-vmm hold new MIB | hold open MIB DIRECTORY")),
    };
    if !is_new {
        template.seal()?;
    }
    let numbers = json!({ "memory": template.memory.as_raw_fd(), "state": template.state.as_raw_fd() });
    tell(output, &numbers)?;
    for line in input.lines() {
        let directory = line.during("hear what to do")?;
        template.seal()?;
        template.keep(Path::new(&directory))?;
        tell(output, &json!({ "kept": directory }))?;
    }
    Ok(())
}

fn tell(output: &mut dyn Write, what: &serde_json::Value) -> Outcome<()> {
    writeln!(output, "{what}").and_then(|()| output.flush()).during("tell")
}

fn size(mib: &str) -> Outcome<u64> {
    let mib: u64 = mib.parse().during("the size of the memory")?;
    mib.checked_mul(MIB)
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| Failure::new("the size of the memory is out of bounds"))
}

impl Template {
    fn new(bytes: u64) -> Outcome<Self> {
        let memory = in_memory(c"ak-template-memory")?;
        ftruncate(&memory, bytes).during("make the template's memory")?;
        Ok(Self { memory: memory.into(), state: in_memory(c"ak-template-state")?.into() })
    }

    fn load(directory: &Path, bytes: u64) -> Outcome<Self> {
        let template = Self::new(bytes)?;
        let memory = File::open(directory.join(MEMORY)).during("open the template's memory")?;
        if memory.metadata().during("look at the template's memory")?.len() != bytes {
            return Err(Failure::new("the template's memory has another size"));
        }
        copy_data(&memory, &template.memory).during("read the template's memory")?;
        let mut state = File::open(directory.join(STATE)).during("open the template's state")?;
        io::copy(&mut state, &mut &template.state).during("read the template's state")?;
        Ok(template)
    }

    /// Seals against writes and truncation; private mappings stay possible.
    fn seal(&self) -> Outcome<()> {
        for file in [&self.memory, &self.state] {
            let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
            match fcntl_add_seals(file, seals) {
                // It is sealed.
                Ok(()) | Err(rustix::io::Errno::PERM) => {}
                Err(e) => return Err(e).during("seal the template"),
            }
        }
        Ok(())
    }

    /// Copies the template into an empty directory. The caller renames it when all of it is there.
    fn keep(&self, directory: &Path) -> Outcome<()> {
        for (name, from) in [(MEMORY, &self.memory), (STATE, &self.state)] {
            let to = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(directory.join(name));
            let to = to.during("keep the template")?;
            let bytes = from.metadata().during("keep the template")?.len();
            ftruncate(&to, bytes).during("keep the template")?;
            copy_data(from, &to).during("keep the template")?;
            to.sync_all().during("keep the template")?;
        }
        Ok(())
    }
}

fn in_memory(name: &std::ffi::CStr) -> Outcome<OwnedFd> {
    memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).during("make a file in memory")
}

/// Leaves holes where there are holes, and where there is nothing but zeros.
fn copy_data(from: &File, to: &File) -> io::Result<()> {
    let end = from.metadata()?.len();
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while let Some(begin) = next_data(from, at)? {
        at = begin;
        let until = rustix::fs::seek(from.as_fd(), rustix::fs::SeekFrom::Hole(at))?.min(end);
        while at < until {
            let wanted = piece.len().min(usize::try_from(until - at).unwrap_or(PIECE));
            from.read_exact_at(&mut piece[..wanted], at)?;
            for (index, page) in piece[..wanted].chunks(PAGE).enumerate() {
                if page.iter().any(|byte| *byte != 0) {
                    to.write_all_at(page, at + (index * PAGE) as u64)?;
                }
            }
            at += wanted as u64;
        }
    }
    Ok(())
}

fn next_data(from: &File, at: u64) -> io::Result<Option<u64>> {
    match rustix::fs::seek(from.as_fd(), rustix::fs::SeekFrom::Data(at)) {
        Ok(at) => Ok(Some(at)),
        Err(rustix::io::Errno::NXIO) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Cursor, sync::Mutex};

    use super::*;

    struct Directory(std::path::PathBuf);

    impl Directory {
        fn new() -> Self {
            static COUNT: Mutex<u32> = Mutex::new(0);
            let mut count = COUNT.lock().unwrap();
            *count += 1;
            let path = std::env::temp_dir().join(format!("ak-vmm-hold-{}-{count}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_was_kept_is_what_is_loaded_and_nobody_can_write_it() {
        let directory = Directory::new();
        let made = Template::new(8 * MIB).unwrap();
        made.memory.write_all_at(b"memory", 5 * MIB).unwrap();
        made.state.write_all_at(b"state", 0).unwrap();
        made.seal().unwrap();
        made.memory.write_all_at(b"!", 0).unwrap_err();
        made.keep(&directory.0).unwrap();
        let loaded = Template::load(&directory.0, 8 * MIB).unwrap();
        loaded.seal().unwrap();
        let mut found = [0; 6];
        loaded.memory.read_exact_at(&mut found, 5 * MIB).unwrap();
        assert_eq!(&found, b"memory");
        loaded.memory.write_all_at(b"!", 0).unwrap_err();
        // Opened anew, as a monitor does.
        let path = format!("/proc/self/fd/{}", loaded.memory.as_raw_fd());
        let again = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
        again.write_all_at(b"!", 0).unwrap_err();
        again.set_len(1).unwrap_err();
    }

    #[test]
    fn memory_of_another_size_is_refused() {
        let directory = Directory::new();
        Template::new(8 * MIB).unwrap().keep(&directory.0).unwrap();
        assert!(Template::load(&directory.0, 16 * MIB).is_err());
    }

    #[test]
    fn it_tells_its_numbers_and_keeps_where_it_is_told() {
        let directory = Directory::new();
        let mut said = Vec::new();
        let order = format!("{}\n", directory.0.display());
        run(&["new", "1"], &mut Cursor::new(order), &mut said).unwrap();
        let lines: Vec<serde_json::Value> = said
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        assert!(lines[0]["memory"].is_number() && lines[1]["kept"].is_string());
        assert_eq!(fs::metadata(directory.0.join(MEMORY)).unwrap().len(), MIB);
        run(&["other"], &mut Cursor::new(""), &mut Vec::new()).unwrap_err();
    }
}
