//! `ak-init`, process 1 of a virtual machine. It loads what drivers the kernel lacks, and forks. The child builds the
//! sandbox's root from the image on the first disk, says that it waits, hears one message in which the machine gets its
//! time, entropy, names and limits, and becomes `ak-entry`, which is told the rest as in a container. A machine may be
//! saved while it waits, and the copies differ from then on. Process 1 waits for the child and ends the machine.
//!
//! Nothing of a user is here before the message, and nothing untrusted runs before `ak-entry` has raised its walls.

mod end;
mod limits;
mod modules;
mod remains;
mod root;
mod stays;
mod stream;
mod sys;
mod wake;

use std::{
    ffi::CStr,
    fs::{self, File},
    io::Write,
    os::fd::{AsFd, OwnedFd},
};

use ak_jail::{
    fault::{During, Outcome},
    sys::{Fork, above_placed, exec_fd, fork_into, ignore_broken_pipes, place_fd},
};
use limits::Limits;
use remains::{Remains, TokenWriter};
use root::Storage;
use rustix::{
    fs::{Mode, OFlags, open},
    mount::{MountFlags, mount},
};
use stream::{Ended, Stream};
use wake::Wake;

/// Of the sandbox, but for its network: the machine's own has nothing but loopback.
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
    mount_kernel_folders()?;
    modules::load()?;
    let limits = Limits::prepare()?;
    let (token, writer) = remains::token_pipe()?;
    match fork_into(NAMESPACES, Some(limits.cgroup())).during("start the sandbox's first process")? {
        Fork::Parent { pid, pidfd } => {
            drop(writer);
            let remains = Remains::of(pid, token)?;
            if stays::is_asked_for(&stream::command_line()?) {
                stays::Attendant::new(pid, pidfd, remains).attend()
            } else {
                end::of_child(pid, &remains)
            }
        }
        Fork::Child => {
            let fault = match serve(&limits, writer) {
                Err(fault) => fault,
                Ok(never) => match never {},
            };
            end::log(&fault.to_string());
            std::process::exit(1)
        }
    }
}

fn mount_kernel_folders() -> Outcome<()> {
    let plain = MountFlags::NOSUID | MountFlags::NOEXEC;
    for (kind, at) in [("devtmpfs", "/dev"), ("proc", "/proc"), ("sysfs", "/sys"), ("cgroup2", "/cgroup")] {
        fs::create_dir_all(at).during(format_args!("make {at}"))?;
        mount(kind, at, kind, plain, None).during(format_args!("mount {at}"))?;
    }
    Ok(())
}

/// In the child. Whatever fails once there is a stream is told there.
fn serve(limits: &Limits, token: TokenWriter) -> Outcome<std::convert::Infallible> {
    // What a machine that stays has on its disk is known only to whoever wakes it.
    let is_to_stay = stays::is_asked_for(&stream::command_line()?);
    let built = if is_to_stay { None } else { Some(root::Root::build(Storage::Memory)?) };
    ak_netlink::route::raise_loopback().during("bring loopback up")?;
    let mut stream = Stream::open()?;
    let said = stream.hear_wake().and_then(|heard| match heard {
        Ok(text) => {
            let wake = Wake::parse(&text)?;
            token.tell(wake.token_bytes())?;
            let root = match built {
                Some(root) => root,
                None => root::Root::build(Storage::Disk)?,
            };
            become_entry(&stream, root, limits, &wake)
        }
        Err(Ended) => Err(ak_jail::fault::Fault::start("the host is gone")),
    });
    if let Err(fault) = &said {
        // Whoever should hear it may be gone; the kernel's log has it too.
        let _ = stream.say_failed(fault);
    }
    said
}

fn become_entry(stream: &Stream, root: root::Root, limits: &Limits, wake: &Wake) -> Outcome<std::convert::Infallible> {
    wake.apply_to_machine()?;
    limits.apply(wake)?;
    // Opened while they can still be seen.
    let log = open_log()?;
    root.furnish(wake)?;
    root.enter()?;
    let program = open(ENTRY, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).during("open ak-entry")?;
    let program = above_placed(&program).during("keep ak-entry")?;
    let port = above_placed(stream.fd()).during("keep the stream")?;
    for (fd, number) in [(port.as_fd(), 0), (port.as_fd(), 1), (log.as_fd(), 2)] {
        place_fd(fd, number).during("place a descriptor")?;
    }
    Err(exec_fd(program.as_fd(), &[c"ak-entry", c"boot"])).during("start ak-entry")
}

/// What ak-entry has to say where no host hears it goes to the kernel's log.
fn open_log() -> Outcome<OwnedFd> {
    let mut log = File::options().write(true).open("/dev/kmsg").during("open the kernel's log")?;
    log.flush().during("open the kernel's log")?;
    above_placed(&log).during("keep the kernel's log")
}
