//! The way to the host: a port of the virtio console, or a connection through a vsock where the kernel's command line
//! says so. Messages on it are a length of four bytes, little-endian, and so many bytes, as `ak-entry` has them, and
//! nothing is read ahead, for what follows is for others.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
    time::{Duration, Instant},
};

use ak_jail::fault::{During, Fault, Outcome};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::inotify,
};
use serde::Serialize;

use crate::{persistent, sys};

/// The first port of the first console that is no console itself.
pub const PORT: &str = "/dev/vport0p1";
const OPTION: &str = "ak.stream=vsock:";
/// A wake message has some hundred bytes.
const MAX_MESSAGE: usize = 1 << 20;
const USUAL_MESSAGE: usize = 4 << 10;
/// Ten ticks of our own kernel: for the timers, and for what is done behind them.
const SETTLES_IN: Duration = Duration::from_millis(100);
/// The port is announced by the host a moment after the driver is there.
const APPEARS_WITHIN: Duration = Duration::from_secs(30);

#[derive(Serialize)]
#[serde(tag = "said", rename_all = "lowercase")]
pub enum Message<'a> {
    /// Everything is built that can be before it is known for whom. Now the machine may be saved.
    Waiting,
    Failed(&'a Fault),
}

pub struct Stream {
    file: File,
    /// Connections come and go until one has brought the message: those of a machine that is saved end.
    listener: Option<OwnedFd>,
    /// At a port, too, one host may follow another until one has brought the message.
    is_patient: bool,
}

impl Stream {
    pub fn open() -> Outcome<Self> {
        let words = command_line()?;
        match vsock_port(&words)? {
            Some(port) => {
                let listener = sys::listen_vsock(port).during("listen on the vsock")?;
                let file = File::from(sys::accept(&listener).during("take the host's connection")?);
                Ok(Self { file, listener: Some(listener), is_patient: false })
            }
            None => {
                let file = open_port(Path::new(PORT))?;
                Ok(Self { file, listener: None, is_patient: persistent::is_asked_for(&words) })
            }
        }
    }

    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Reads the first message of the process that started the virtual machine.
    pub fn hear(&mut self) -> Outcome<Vec<u8>> {
        let mut message = Vec::new();
        hear(&mut self.file, &mut message).map_err(|e| if is_hang_up(&e) { host_gone() } else { unheard(&e) })?;
        Ok(message)
    }

    /// Announces that the virtual machine waits, and waits. An empty message comes before a save, and one of one byte
    /// asks a waiting copy to `rehearse`.
    pub fn hear_wake(&mut self, message: &mut Vec<u8>, mut rehearse: impl FnMut() -> Outcome<()>) -> Outcome<()> {
        message.reserve(USUAL_MESSAGE);
        loop {
            let heard = self.say(&Message::Waiting).and_then(|()| hear(&mut self.file, message));
            match (heard, &self.listener) {
                (Ok(()), _) if message.is_empty() => settle(),
                (Ok(()), _) if message.len() == 1 => rehearse()?,
                (Ok(()), _) => {
                    self.listener = None;
                    return Ok(());
                }
                (Err(e), Some(listener)) if is_hang_up(&e) => {
                    self.file = File::from(sys::accept(listener).during("take the host's connection")?);
                }
                // A new connection is awaited, and the message repeated there.
                (Err(e), None) if is_hang_up(&e) && self.is_patient => {}
                (Err(e), None) if is_hang_up(&e) => return Err(host_gone()),
                (Err(e), _) => return Err(unheard(&e)),
            }
        }
    }

    pub fn say_failed(&mut self, fault: &Fault) -> io::Result<()> {
        self.say(&Message::Failed(fault))
    }

    fn say(&mut self, what: &Message<'_>) -> io::Result<()> {
        say(&mut self.file, what)
    }
}

/// Some of the kernel's timers let a processor that sleeps sleep on, and go off all together as soon as it has been at
/// work for a tick. They do so now, and not in every copy of the machine.
fn settle() {
    let until = Instant::now() + SETTLES_IN;
    while Instant::now() < until {}
}

pub fn command_line() -> Outcome<String> {
    fs::read_to_string("/proc/cmdline").during("read the kernel's command line")
}

/// As it goes over the stream.
pub fn message(what: &impl Serialize) -> Outcome<Vec<u8>> {
    framed(what).during("write a message")
}

/// One message. At a port that has no host it waits for one.
pub fn say(file: &mut File, what: &impl Serialize) -> io::Result<()> {
    file.write_all(&framed(what)?)
}

fn framed(what: &impl Serialize) -> io::Result<Vec<u8>> {
    let text = serde_json::to_vec(what).map_err(io::Error::other)?;
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    Ok([&length.to_le_bytes()[..], &text].concat())
}

fn host_gone() -> Fault {
    Fault::start("the host is gone")
}

fn unheard(e: &io::Error) -> Fault {
    Fault::start(format!("hear the host: {e}"))
}

/// Into what has room for it, where it is not too long.
pub fn hear(file: &mut File, message: &mut Vec<u8>) -> io::Result<()> {
    let mut length = [0; 4];
    file.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_MESSAGE {
        return Err(io::Error::other(format!("a message of {length} bytes")));
    }
    message.resize(length, 0);
    file.read_exact(message)
}

fn is_hang_up(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}

fn vsock_port(words: &str) -> Outcome<Option<u32>> {
    let Some(port) = words.split_ascii_whitespace().find_map(|word| word.strip_prefix(OPTION)) else { return Ok(None) };
    port.parse().map(Some).map_err(|_| Fault::new("internal", format!("{OPTION}{port}: not a port")))
}

/// Waits until no process has the port open. The kernel does not report that moment, so it is polled close to when it
/// is expected.
pub fn open_when_free(path: &Path) -> Outcome<File> {
    loop {
        match File::options().read(true).write(true).open(path) {
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy => std::thread::sleep(Duration::from_millis(1)),
            opened => return opened.during(format_args!("open {}", path.display())),
        }
    }
}

/// Opens the port again once no process has it open.
pub fn open_again() -> Outcome<File> {
    File::options().read(true).write(true).open(PORT).during("open the console's port again")
}

/// When it is there.
pub fn open_port(path: &Path) -> Outcome<File> {
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)
        .during("watch for the console's port")?;
    inotify::add_watch(&watch, "/dev", inotify::WatchFlags::CREATE).during("watch for the console's port")?;
    let until = Instant::now() + APPEARS_WITHIN;
    let mut ignored = [0; 4096];
    loop {
        match File::options().read(true).write(true).open(path) {
            Ok(file) => return Ok(file),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e).during(format_args!("open {}", path.display())),
        }
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).during("wait for the console's port")?;
        if poll(&mut [PollFd::new(&watch, PollFlags::IN)], Some(&timeout)) == Ok(0) {
            return Err(Fault::start(format!("the machine has no {}", path.display())));
        }
        let _ = rustix::io::read(&watch, &mut ignored);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_rehearses_as_often_as_it_is_asked_to_and_says_each_time_that_it_waits() {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().expect("a stream");
        let mut host = File::from(OwnedFd::from(ours));
        let mut stream = Stream { file: File::from(OwnedFd::from(theirs)), listener: None, is_patient: false };
        for message in [&b"\x01"[..], b"\x01", b"wake"] {
            host.write_all(&[&(message.len() as u32).to_le_bytes()[..], message].concat()).expect("sent");
        }
        let (mut heard, mut times) = (Vec::new(), 0);
        stream
            .hear_wake(&mut heard, || {
                times += 1;
                Ok(())
            })
            .expect("a message");
        assert_eq!((heard.as_slice(), times), (&b"wake"[..], 2));
        drop(stream);
        let mut said = String::new();
        host.read_to_string(&mut said).expect("read");
        assert_eq!(said.matches("waiting").count(), 3);
    }

    #[test]
    fn the_command_line_says_where_the_host_is() {
        assert_eq!(vsock_port("quiet reboot=t").expect("words"), None);
        assert_eq!(vsock_port("quiet ak.stream=vsock:1024 reboot=t").expect("words"), Some(1024));
        assert!(vsock_port("ak.stream=vsock:door").is_err());
    }
}
