//! Gives each copy of a saved virtual machine its own time, random numbers and names.

use std::{fs::File, io, os::unix::fs::FileExt};

use ak_jail::{
    etc_files,
    fault::{During, Outcome},
    image_root,
    place::Root,
    sys::{MOUNT_ATTR_RDONLY, mount_setattr},
};
use rustix::{
    system::sethostname,
    time::{ClockId, clock_settime},
};

use crate::{root::NOBODYS, shape::Shape, sys, wake::Wake};

pub const MACHINE_ID: &str = "machine-id";
/// Those of the machine's files that name it.
const NAMED: [&str; 2] = ["hostname", "hosts"];
/// Longer than any of them becomes.
const MOST_BYTES: usize = 1024;

/// A file that exists with the content of an unowned virtual machine.
struct MachineFile {
    file: File,
    page: sys::FirstPage,
    bytes: usize,
}

impl MachineFile {
    fn of(file: File) -> io::Result<Self> {
        let bytes = file.metadata()?.len() as usize;
        Ok(Self { page: sys::FirstPage::of(&file)?, file, bytes })
    }

    /// In memory where that is all there is to do, as it is for all but machines that stay.
    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        if text.len() == self.bytes {
            self.page.write(text);
            return Ok(());
        }
        self.file.write_all_at(text, 0)?;
        self.file.set_len(text.len() as u64)
    }
}

pub struct Identity {
    root: Root,
    random: File,
    /// With what they say now.
    named: Vec<(MachineFile, String)>,
    machine_id: Option<MachineFile>,
    is_readonly: bool,
    text: String,
}

/// Opens the virtual machine's random device while its own devices are in sight.
pub fn open_random() -> Outcome<File> {
    File::options().write(true).open("/dev/urandom").during("open the random numbers")
}

/// As long as any other.
pub fn nobodys_machine_id() -> String {
    format!("{:032}\n", 0)
}

impl Identity {
    /// Prepares the files in the sandbox's root, which has everything but the owner's part.
    pub fn prepare(random: File, shape: &Shape) -> Outcome<Self> {
        let root = Root::new(File::open("/").during("open the root")?.into());
        let open = |name| {
            let file = image_root::open_machine_file(&root, name)?;
            MachineFile::of(file.into()).during(format_args!("hold /etc/{name}"))
        };
        let written = etc_files::of_the_machine(NOBODYS, shape.network());
        let named = written.into_iter().filter(|(name, _)| NAMED.contains(name));
        let named = named.map(|(name, text)| Ok((open(name)?, text))).collect::<Outcome<Vec<_>>>()?;
        let machine_id = Some(open(MACHINE_ID)?);
        let text = String::with_capacity(MOST_BYTES);
        Ok(Self { root, random, named, machine_id, is_readonly: shape.root_readonly, text })
    }

    pub fn take(&mut self, wake: &Wake<'_>) -> Outcome<()> {
        clock_settime(ClockId::Realtime, wake.now).during("set the clock")?;
        sys::reseed(&self.random, wake.entropy).during("give the machine entropy of its own")?;
        sethostname(wake.hostname.as_bytes()).during("set the host name")?;
        self.name(wake).during("write the machine's names")?;
        if self.is_readonly {
            // No process may have a file open for writing then.
            self.named.clear();
            self.machine_id = None;
            mount_setattr(self.root.fd(), false, MOUNT_ATTR_RDONLY, None).during("close the root")?;
        }
        Ok(())
    }

    /// As `etc_files` has it.
    fn name(&mut self, wake: &Wake<'_>) -> io::Result<()> {
        for (file, nobodys) in &mut self.named {
            self.text.clear();
            let mut parts = nobodys.split(NOBODYS);
            self.text.push_str(parts.next().unwrap_or_default());
            for part in parts {
                self.text.push_str(wake.hostname);
                self.text.push_str(part);
            }
            file.write(self.text.as_bytes())?;
        }
        self.text.clear();
        for byte in wake.machine_id {
            for digit in [byte >> 4, byte & 0xf] {
                self.text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
            }
        }
        self.text.push('\n');
        self.machine_id.as_mut().map_or(Ok(()), |file| file.write(self.text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    #[test]
    fn a_file_says_what_was_written_whether_it_is_as_long_as_before_or_not() {
        for text in ["run-0123456789ab\n", "box\n", "a-name-that-is-longer\n"] {
            let file = File::from(memfd_create("file", MemfdFlags::CLOEXEC).expect("a file"));
            file.write_all_at(format!("{NOBODYS}\n").as_bytes(), 0).expect("written");
            let mut held = MachineFile::of(file.try_clone().expect("a copy")).expect("held");
            held.write(text.as_bytes()).expect("written");
            let mut found = String::new();
            (&file).read_to_string(&mut found).expect("read");
            assert_eq!(found, text);
        }
    }

    #[test]
    fn a_machine_id_is_as_long_as_nobodys() {
        assert_eq!(nobodys_machine_id().len(), 2 * 16 + 1);
    }
}
