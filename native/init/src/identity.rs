//! What each copy of a saved machine has for itself: its time, its random numbers, its names.

use std::{fs::File, os::unix::fs::FileExt};

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

pub struct Identity {
    root: Root,
    random: File,
    /// With what they say now.
    named: Vec<(File, String)>,
    machine_id: File,
    is_readonly: bool,
    text: String,
}

/// Of the machine: while its own devices are in sight.
pub fn open_random() -> Outcome<File> {
    File::options().write(true).open("/dev/urandom").during("open the random numbers")
}

impl Identity {
    /// In the sandbox's root, which has everything but what is told later.
    pub fn prepare(random: File, shape: &Shape) -> Outcome<Self> {
        let root = Root::new(File::open("/").during("open the root")?.into());
        let written = etc_files::of_the_machine(NOBODYS, shape.network());
        let named = written
            .into_iter()
            .filter(|(name, _)| NAMED.contains(name))
            .map(|(name, text)| Ok((File::from(image_root::open_machine_file(&root, name)?), text)))
            .collect::<Outcome<Vec<_>>>()?;
        let machine_id = File::from(image_root::open_machine_file(&root, MACHINE_ID)?);
        let text = String::with_capacity(MOST_BYTES);
        Ok(Self { root, random, named, machine_id, is_readonly: shape.root_readonly, text })
    }

    pub fn take(&mut self, wake: &Wake<'_>) -> Outcome<()> {
        clock_settime(ClockId::Realtime, wake.now).during("set the clock")?;
        sys::reseed(&self.random, wake.entropy).during("give the machine entropy of its own")?;
        sethostname(wake.hostname.as_bytes()).during("set the host name")?;
        self.name(wake).during("write the machine's names")?;
        if self.is_readonly {
            // Nobody may have a file open for writing then.
            self.named.clear();
            self.machine_id = File::open("/dev/null").during("let go of the machine's files")?;
            mount_setattr(self.root.fd(), false, MOUNT_ATTR_RDONLY, None).during("close the root")?;
        }
        Ok(())
    }

    /// As `etc_files` has it.
    fn name(&mut self, wake: &Wake<'_>) -> std::io::Result<()> {
        for (file, nobodys) in &self.named {
            self.text.clear();
            let mut parts = nobodys.split(NOBODYS);
            self.text.push_str(parts.next().unwrap_or_default());
            for part in parts {
                self.text.push_str(wake.hostname);
                self.text.push_str(part);
            }
            file.write_all_at(self.text.as_bytes(), 0)?;
            if self.text.len() < nobodys.len() {
                file.set_len(self.text.len() as u64)?;
            }
        }
        self.text.clear();
        for byte in wake.machine_id {
            for digit in [byte >> 4, byte & 0xf] {
                self.text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
            }
        }
        self.text.push('\n');
        self.machine_id.write_all_at(self.text.as_bytes(), 0)
    }
}
