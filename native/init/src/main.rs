//! `ak-init`, process 1 of a virtual machine. It loads drivers that the kernel lacks, reads the sandbox's shape, and
//! forks. The child builds the sandbox's root from the image on the first disk, and everything else that the shape
//! allows (`ahead.rs`: all of it, up to a guest that waits inside its walls). Then the virtual machine announces that
//! it waits, and may be saved. The next message brings its time, entropy and names, in which the copies differ. Where
//! the guest does not wait, the child becomes `ak-entry` and gets an order as in a container. Process 1 waits for the
//! child and powers the virtual machine off.
//!
//! Nothing of a user is here before the second message, and nothing untrusted runs before the walls stand.

mod ahead;
mod end;
mod ended;
mod identity;
mod lazy;
mod limits;
mod modules;
mod persistent;
mod root;
mod shape;
mod stream;
mod sys;
mod wake;

use std::{
    convert::Infallible,
    ffi::CStr,
    fs::{self, File},
    io::Write,
    os::fd::{AsFd, OwnedFd},
};

use ak_jail::{
    fault::{During, Outcome},
    sys::{Fork, above_placed, exec_fd, fork_into, ignore_broken_pipes, place_fd},
};
use ended::{EndedSandbox, TokenWriter};
use identity::Identity;
use limits::Limits;
use root::Storage;
use rustix::{
    fs::{Mode, OFlags, open},
    mount::{MountFlags, mount},
};
use shape::Shape;
use stream::Stream;
use wake::Wake;

/// The namespaces of the sandbox. Its network namespace is the virtual machine's, which has nothing but loopback.
const NAMESPACES: libc::c_int =
    libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;
const ENTRY: &CStr = c"/.agentkernel/ak-entry";

fn main() {
    ignore_broken_pipes();
    if std::process::id() != 1 {
        eprintln!("usage: ak-init is the first program of a virtual machine that agentkernel starts");
        std::process::exit(2);
    }
    let how = run();
    end::machine(how)
}

fn run() -> Outcome<end::End> {
    mount_kernel_directories()?;
    modules::load()?;
    let limits = Limits::prepare()?;
    ak_net::netlink::route::raise_loopback().during("bring loopback up")?;
    let mut stream = Stream::open()?;
    let heard = stream.hear().and_then(|text| Shape::parse(&text)).and_then(|shape| {
        limits.apply(&shape)?;
        Ok(shape)
    });
    match heard {
        Err(fault) => {
            // The host may have disconnected; the kernel's log has the message too.
            let _ = stream.say_failed(&fault);
            Err(fault)
        }
        Ok(mut shape) => match shape.ahead.take() {
            Some(order) => ahead::run(stream, shape, order, &limits),
            None => run_told_later(stream, &shape, &limits),
        },
    }
}

/// The child waits for the wake message, and becomes `ak-entry`.
fn run_told_later(mut stream: Stream, shape: &Shape, limits: &Limits) -> Outcome<end::End> {
    let is_persistent = persistent::is_asked_for(&stream::command_line()?);
    let (token, writer) = ended::token_pipe()?;
    match fork_into(NAMESPACES, Some(limits.cgroup())).during("start the sandbox's first process")? {
        Fork::Parent { pid, pidfd } => {
            let mounts = ended::mounts_of(&pid.to_string())?;
            drop((writer, stream));
            let ended = EndedSandbox::of(mounts, token);
            if is_persistent {
                persistent::PersistentSandbox::new(pid, pidfd, ended, persistent::Kind::of(shape)).run()
            } else {
                end::of_child(pid, &ended, || Ok(()))
            }
        }
        Fork::Child => {
            let served = if is_persistent {
                serve_from_disk(&mut stream, shape, writer)
            } else {
                serve(&mut stream, shape, writer)
            };
            let fault = match served {
                Err(fault) => fault,
                Ok(never) => match never {},
            };
            // As above.
            let _ = stream.say_failed(&fault);
            end::log(&fault.to_string());
            std::process::exit(1)
        }
    }
}

fn mount_kernel_directories() -> Outcome<()> {
    let plain = MountFlags::NOSUID | MountFlags::NOEXEC;
    for (kind, at) in [("devtmpfs", "/dev"), ("proc", "/proc"), ("sysfs", "/sys"), ("cgroup2", "/cgroup")] {
        fs::create_dir_all(at).during(format_args!("make {at}"))?;
        mount(kind, at, kind, plain, None).during(format_args!("mount {at}"))?;
    }
    Ok(())
}

fn serve(stream: &mut Stream, shape: &Shape, token: TokenWriter) -> Outcome<Infallible> {
    let Entered { mut identity, program, log } = enter(Storage::Memory, shape)?;
    let mut heard = Vec::new();
    stream.hear_wake(&mut heard, || Ok(()))?;
    let wake = Wake::parse(&heard)?;
    token.tell(wake.token)?;
    identity.take(&wake)?;
    become_entry(stream, &program, &log)
}

/// Serves a persistent virtual machine: its disk is mounted only once it has an owner.
fn serve_from_disk(stream: &mut Stream, shape: &Shape, token: TokenWriter) -> Outcome<Infallible> {
    let mut heard = Vec::new();
    stream.hear_wake(&mut heard, || Ok(()))?;
    let wake = Wake::parse(&heard)?;
    token.tell(wake.token)?;
    let Entered { mut identity, program, log } = enter(Storage::Disk, shape)?;
    identity.take(&wake)?;
    become_entry(stream, &program, &log)
}

struct Entered {
    identity: Identity,
    program: OwnedFd,
    log: OwnedFd,
}

/// The sandbox's root, with everything but what the wake message brings.
fn enter(storage: Storage, shape: &Shape) -> Outcome<Entered> {
    let root = root::Root::build(storage)?;
    // Opened while they can still be seen.
    let (log, random) = (open_log()?, identity::open_random()?);
    root.write_common_files(shape)?;
    root.enter()?;
    let program = open(ENTRY, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).during("open ak-entry")?;
    Ok(Entered { identity: Identity::prepare(random, shape)?, program, log })
}

fn become_entry(stream: &Stream, program: &OwnedFd, log: &OwnedFd) -> Outcome<Infallible> {
    let program = above_placed(program).during("keep ak-entry")?;
    let port = above_placed(stream.fd()).during("keep the stream")?;
    for (fd, number) in [(port.as_fd(), 0), (port.as_fd(), 1), (log.as_fd(), 2)] {
        place_fd(fd, number).during("place a descriptor")?;
    }
    Err(exec_fd(program.as_fd(), &[c"ak-entry", c"boot"])).during("start ak-entry")
}

/// Opens the kernel's log (/dev/kmsg) for messages of ak-entry that no host would read.
fn open_log() -> Outcome<OwnedFd> {
    let mut log = File::options().write(true).open("/dev/kmsg").during("open the kernel's log")?;
    log.flush().during("open the kernel's log")?;
    above_placed(&log).during("keep the kernel's log")
}
