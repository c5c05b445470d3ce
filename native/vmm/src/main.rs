//! `ak-vmm run SPEC` is process 1 of the jail around a machine's monitor; `ak-vmm hold …` is the holder of a template.

use std::{
    env,
    io::{Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    process::ExitCode,
    time::{Duration, Instant},
};

use ak_vmm::{
    failure::{During, Failure, Outcome},
    firecracker::Firecracker,
    hold,
    monitor::{End, Monitor},
    qemu::Qemu,
    spec::{Accelerator, Action, MachineSpec, MonitorKind, STREAM_FD},
    watch,
};
use ak_wire::host_socket::HostSocket;
use rustix::{
    fs::{OFlags, fcntl_setfl},
    io::{FdFlags, fcntl_setfd},
};
use serde_json::Value;

const FAILED: u8 = 1;
const MISUSED: u8 = 2;
/// From the kernel's first instruction to where it waits, on a machine that has no time.
const BOOT_PATIENCE: Duration = Duration::from_secs(120);
const MAX_MESSAGE: usize = 4096;
/// How long a kernel that calibrates the processor's clock itself is busy after boot; it would do so again in every
/// copy.
const SETTLES_IN: Duration = Duration::from_millis(1300);
const SETTLES_ON_HARDWARE_IN: Duration = Duration::from_millis(150);

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let outcome = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["run", spec] => MachineSpec::parse(spec).and_then(|spec| run(&spec)),
        ["hold", ref words @ ..] => hold::run(words, &mut std::io::stdin().lock(), &mut std::io::stdout().lock()),
        _ => {
            eprintln!(
                "usage: ak-vmm run SPEC | ak-vmm hold new MIB | ak-vmm hold open MIB DIRECTORY (started by agentkernel)"
            );
            return ExitCode::from(MISUSED);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // The supervisor reads it, and tells it with the end.
            eprintln!("{failure}");
            ExitCode::from(FAILED)
        }
    }
}

fn run(spec: &MachineSpec) -> Outcome<()> {
    match spec.monitor {
        MonitorKind::Qemu => run_on::<Qemu>(spec),
        MonitorKind::Firecracker => run_on::<Firecracker>(spec),
    }
}

fn run_on<M: Monitor>(spec: &MachineSpec) -> Outcome<()> {
    // SAFETY: the jail put it there for this program. It stays open until this process has ended: the other end takes
    // its end for the virtual machine's, and would not wait for the reason.
    let stream = unsafe { BorrowedFd::borrow_raw(STREAM_FD) };
    // A monitor gets a copy where it takes one, and must not have another.
    fcntl_setfd(stream, FdFlags::CLOEXEC).during("keep the machine's stream")?;
    let own = || stream.try_clone_to_owned().during("give the machine its stream");
    let end = match (spec.does, spec.disk_mib) {
        (Action::Save, _) => return save::<M>(spec),
        (_, Some(_)) => {
            fcntl_setfl(stream, OFlags::NONBLOCK).during("open the host socket")?;
            M::keep(spec, HostSocket::new(own()?))?
        }
        (Action::Boot, None) => M::boot(spec, own()?)?.await_end()?,
        (Action::Restore | Action::Continue, None) => M::restore(spec, own()?)?.await_end()?,
    };
    match end {
        End::Off => Ok(()),
        End::Failed(why) => Err(Failure::new(why)),
    }
}

/// Only this process is connected to it, and only to wait for its announcement.
fn save<M: Monitor>(spec: &MachineSpec) -> Outcome<()> {
    let (ours, theirs) = UnixStream::pair().during("make the machine's stream")?;
    let mut machine = M::boot(spec, theirs.into())?;
    tell_first(&ours, spec).and_then(|()| await_waiting(&ours)).and_then(|()| settle(&ours, spec)).map_err(
        |failure| {
            let said = machine.last_output();
            let also = if said.is_empty() { "" } else { "; " };
            Failure::new(format!("the machine did not come up: {failure}{also}{said}"))
        },
    )?;
    // The machine would see it end, and take that for the host's end.
    let saved = machine.save();
    drop(ours);
    saved
}

/// Copies do not begin with what it still has to do behind what was said. Under emulation, where that is dear, neither with
/// what its kernel does by itself after a while, nor with what it has put off for as long as it slept.
fn settle(mut stream: &UnixStream, spec: &MachineSpec) -> Outcome<()> {
    if spec.accelerator == Accelerator::Kvm {
        std::thread::sleep(SETTLES_ON_HARDWARE_IN);
        return Ok(());
    }
    std::thread::sleep(SETTLES_IN);
    stream.write_all(&0u32.to_le_bytes()).during("have the machine settle")?;
    await_waiting(stream)
}

fn tell_first(mut stream: &UnixStream, spec: &MachineSpec) -> Outcome<()> {
    let Some(text) = &spec.says else { return Ok(()) };
    let length = u32::try_from(text.len()).during("tell the machine its shape")?;
    stream.write_all(&[&length.to_le_bytes()[..], text.as_bytes()].concat()).during("tell the machine its shape")
}

fn await_waiting(mut stream: &UnixStream) -> Outcome<()> {
    let until = Instant::now() + BOOT_PATIENCE;
    let mut message = Vec::new();
    loop {
        watch::await_any(&[stream.as_fd()], Some(until))?;
        let mut byte = [0; 256];
        let count = stream.read(&mut byte).during("hear the machine")?;
        if count == 0 {
            return Err(Failure::new("it ended"));
        }
        message.extend(&byte[..count]);
        if let Some(said) = whole(&message)? {
            let waits = said["said"] == "waiting";
            return if waits { Ok(()) } else { Err(Failure::new(format!("it said {said}"))) };
        }
    }
}

/// A length of four bytes, and so many bytes of JSON; none while some are missing.
fn whole(message: &[u8]) -> Outcome<Option<Value>> {
    let Some((length, text)) = message.split_first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_le_bytes(*length) as usize;
    if length > MAX_MESSAGE {
        return Err(Failure::new("its first message is too long"));
    }
    match text.get(..length) {
        Some(text) => serde_json::from_slice(text).during("understand its first message").map(Some),
        None => Ok(None),
    }
}
