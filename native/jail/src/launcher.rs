//! A small process that starts jails for a large one. Forking costs time for every page that a process has, and a
//! long-lived owner has many; this one has few. A jail is a fork of it that goes on as a supervisor: no program is
//! started anew, and what it never writes to it shares with all others. The launcher itself knows no sandbox and owns
//! nothing: a jail's streams lead to the owner, and end with it.
//!
//! For each jail the owner connects twice to the launcher's socket, and says first on each connection whose it is: `c`
//! for the control stream or `g` for the guest's, and the jail's number in eight hexadecimal digits. So a connection
//! that could not be had is missed by one jail, and is never another's. Answers are lines: `listening`; then for each
//! number `started NUMBER PID` or `failed NUMBER REASON`; and `exited PID CODE SIGNAL` (one of them `-`) at a jail's
//! end. The launcher ends with its standard input.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{
            net::{UnixListener, UnixStream},
            process::ExitStatusExt,
        },
    },
    time::{Duration, Instant},
};

use ak_sys::args::Word;
use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{MemfdFlags, memfd_create},
};

use crate::{
    supervisor::{self, Chores},
    sys,
    view::memory::Memory,
};

const HEADER_BYTES: usize = 9;
/// Looking for what killed supervisors left takes longer with every sandbox that there is, so not every jail does it.
const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// Words of this process by which lists of processes tell what it is; its children change their own copies.
pub struct Labels {
    /// By which launchers are told from supervisors.
    pub order: Option<Word>,
    /// Where a supervisor writes whose it is.
    pub mark: Option<Word>,
}

pub fn run(socket: &str, labels: Labels) -> io::Result<()> {
    sys::set_name(c"ak-launcher");
    // Sandboxes that are built ahead or taken away take no processor from whom somebody waits for. Jails inherit it, and
    // commands are scheduled as usual again (native/guest).
    sys::let_others_first();
    let listener = UnixListener::bind(socket)?;
    listener.set_nonblocking(true)?;
    let result = Launcher {
        listener,
        owner: File::from(sys::inherited(0)?),
        answers: File::from(sys::inherited(1)?),
        children_ended: File::from(sys::watch_children()?),
        arrivals: Vec::new(),
        halves: Vec::new(),
        null: File::options().read(true).write(true).open("/dev/null")?,
        swept: None,
        memory: memory(),
        labels,
    }
    .serve();
    let _ = fs::remove_file(socket);
    result
}

/// A connection that has not said yet whose it is.
struct Arrival {
    connection: UnixStream,
    header: [u8; HEADER_BYTES],
    count: usize,
}

/// One of the two connections of a jail that waits for the other one.
struct Half {
    connection: UnixStream,
    header: [u8; HEADER_BYTES],
}

struct Launcher {
    listener: UnixListener,
    owner: File,
    answers: File,
    children_ended: File,
    arrivals: Vec<Arrival>,
    halves: Vec<Half>,
    null: File,
    /// When a jail was started last that sweeps at its end.
    swept: Option<Instant>,
    /// What sandboxes before have read of projects, for those to come.
    memory: Option<OwnedFd>,
    labels: Labels,
}

impl Launcher {
    fn serve(&mut self) -> io::Result<()> {
        writeln!(self.answers, "listening")?;
        loop {
            let ready = self.wait()?;
            let [has_ended, has_arrived, is_over, connections @ ..] = &ready[..] else { unreachable!() };
            if *is_over && self.owner.read(&mut [0; 64])? == 0 {
                return Ok(());
            }
            if *has_ended {
                drain(&self.children_ended);
                self.tell_ended()?;
            }
            let (halves, arrivals) = connections.split_at(self.halves.len());
            self.drop_ended_halves(halves);
            self.hear(arrivals)?;
            if *has_arrived {
                self.accept()?;
            }
        }
    }

    /// Which of the three standing descriptors, the halves and the arrivals have something to tell.
    fn wait(&self) -> io::Result<Vec<bool>> {
        let mut polled = vec![
            PollFd::new(&self.children_ended, PollFlags::IN),
            PollFd::new(&self.listener, PollFlags::IN),
            PollFd::new(&self.owner, PollFlags::IN),
        ];
        // What it goes on to say is for the jail; only its end is for us.
        polled.extend(self.halves.iter().map(|half| PollFd::new(&half.connection, PollFlags::empty())));
        polled.extend(self.arrivals.iter().map(|arrival| PollFd::new(&arrival.connection, PollFlags::IN)));
        poll(&mut polled, None)?;
        Ok(polled.iter().map(|one| !one.revents().is_empty()).collect())
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            match self.listener.accept() {
                Ok((connection, _)) => self.arrivals.push(Arrival { connection, header: [0; HEADER_BYTES], count: 0 }),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn hear(&mut self, ready: &[bool]) -> io::Result<()> {
        let mut waiting = Vec::with_capacity(self.arrivals.len());
        for (mut arrival, is_ready) in std::mem::take(&mut self.arrivals).into_iter().zip(ready) {
            if !is_ready {
                waiting.push(arrival);
                continue;
            }
            // No byte more: the rest is for the jail. One that ends before it has said whose it is was nobody's.
            let Ok(count @ 1..) = arrival.connection.read(&mut arrival.header[arrival.count..]) else { continue };
            arrival.count += count;
            if arrival.count < HEADER_BYTES {
                waiting.push(arrival);
            } else {
                self.join(Half { connection: arrival.connection, header: arrival.header })?;
            }
        }
        self.arrivals = waiting;
        Ok(())
    }

    fn join(&mut self, half: Half) -> io::Result<()> {
        let Some(at) = self.halves.iter().position(|other| other.header[1..] == half.header[1..]) else {
            self.halves.push(half);
            return Ok(());
        };
        let other = self.halves.swap_remove(at);
        let number = String::from_utf8_lossy(&half.header[1..]).into_owned();
        let sweeps = self.swept.is_none_or(|at| at.elapsed() >= SWEEP_EVERY);
        let started = match (half.header[0], other.header[0]) {
            (b'c', b'g') => self.start(half.connection, other.connection, sweeps),
            (b'g', b'c') => self.start(other.connection, half.connection, sweeps),
            _ => Err(io::Error::other("a jail has one control stream and one for its guest")),
        };
        match started {
            Ok(pid) => {
                self.swept = if sweeps { Some(Instant::now()) } else { self.swept };
                writeln!(self.answers, "started {number} {pid}")
            }
            Err(error) => writeln!(self.answers, "failed {number} {error}"),
        }
    }

    fn start(&mut self, control: UnixStream, stream: UnixStream, sweeps: bool) -> io::Result<libc::pid_t> {
        let memory = self.memory.as_ref().map(OwnedFd::try_clone).transpose()?;
        if let Some(pid) = sys::fork_apart(self.null.as_fd())? {
            return Ok(pid);
        }
        let kept = [Some(control.as_fd()), Some(stream.as_fd()), memory.as_ref().map(AsFd::as_fd)];
        sys::close_all_but(&kept.into_iter().flatten().collect::<Vec<_>>());
        if let Some(order) = &mut self.labels.order {
            order.replace("run");
        }
        let memory = memory.map(|shared| Memory::new(shared.into()));
        let mark = self.labels.mark.take();
        let is_done = supervisor::run(control.into(), stream.into(), Chores { sweeps, memory, mark });
        sys::exit_now(i32::from(!is_done))
    }

    fn drop_ended_halves(&mut self, ended: &[bool]) {
        let mut ended = ended.iter();
        self.halves.retain(|_| ended.next() != Some(&true));
    }

    fn tell_ended(&mut self) -> io::Result<()> {
        while let Some((pid, status)) = sys::ended_child()? {
            let text = |number: Option<i32>| number.map_or("-".to_owned(), |number| number.to_string());
            writeln!(self.answers, "exited {pid} {} {}", text(status.code()), text(status.signal()))?;
        }
        Ok(())
    }
}

/// None where this host gives nobody such memory. Some want it said that nothing in it will be executed, and older
/// kernels do not know these words.
fn memory() -> Option<OwnedFd> {
    let made = |more| memfd_create("ak-memory", MemfdFlags::CLOEXEC | more);
    made(MemfdFlags::NOEXEC_SEAL).or_else(|_| made(MemfdFlags::empty())).ok()
}

fn drain(mut signals: &File) {
    let mut bytes = [0; 128 * 8];
    while signals.read(&mut bytes).is_ok_and(|count| count > 0) {}
}
