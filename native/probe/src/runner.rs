//! Runs probes side by side, each in a forked child with a deadline, and removes whatever one left.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions};

use crate::probes::{Context, Layer};
use crate::process;
use crate::report::{Fault, Line, Verdict};

const DEADLINE: Duration = Duration::from_millis(1500);
/// How long a killed probe may take to vanish before the answer is given without waiting for it.
const REAP_LIMIT: Duration = Duration::from_millis(200);

struct Running<'a> {
    layer: &'a Layer,
    started: Instant,
    child: Option<(Pid, OwnedFd)>,
    line: Option<Line>,
}

/// Emits one line per layer, in the order given, each as soon as all before it are decided.
pub fn run(layers: &[&Layer], emit: &mut dyn FnMut(&Line) -> io::Result<()>) -> io::Result<()> {
    // Orphans of a killed probe come back to this process, so that it can wait for their end.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let context = Context::new();
    let mut running: Vec<Running> = layers.iter().map(|layer| start(layer, &context)).collect();
    let mut emitted = 0;
    let mut failure = None;
    loop {
        while let Some(line) = running.get(emitted).and_then(|probe| probe.line.as_ref()) {
            // Probes that still run are awaited even without a reader: they clean up.
            failure = failure.or(emit(line).err());
            emitted += 1;
        }
        if emitted == running.len() {
            break;
        }
        await_any(&mut running)?;
        for probe in running.iter_mut().filter(|probe| probe.line.is_none()) {
            settle(probe, &context)?;
        }
    }
    reap_orphans();
    failure.map_or(Ok(()), Err)
}

fn start<'a>(layer: &'a Layer, context: &Context) -> Running<'a> {
    let started = Instant::now();
    let (child, line) = match launch(layer, context) {
        Ok(child) => (Some(child), None),
        Err(error) => {
            let fault = Fault::new(format!("starting the probe: {error}"), "try again");
            (None, Some(Line::new(layer.name, Err(fault), 0.0)))
        }
    };
    Running { layer, started, child, line }
}

fn launch(layer: &Layer, context: &Context) -> io::Result<(Pid, OwnedFd)> {
    let (reader, writer) = process::pipe()?;
    let child = process::fork(|| {
        let verdict = match detach(layer) {
            Ok(()) => (layer.probe)(context),
            Err(error) => Err(Fault::new(format!("starting the probe: {error}"), "try again")),
        };
        i32::from(process::send(writer, verdict).is_err())
    })?;
    match rustix::process::setpgid(Some(child), Some(child)) {
        // The child makes the same call; the first one wins, and the child may have ended already.
        Ok(()) | Err(rustix::io::Errno::ACCESS | rustix::io::Errno::SRCH) => Ok((child, reader)),
        Err(error) => Err(error.into()),
    }
}

/// A process group of its own, so that all of a probe can be killed; none of our descriptors.
fn detach(layer: &Layer) -> io::Result<()> {
    rustix::process::setpgid(None, None)?;
    if !layer.finishes_alone {
        process::die_with_parent()?;
    }
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// Waits until a running probe answers or the nearest deadline has passed.
fn await_any(running: &mut [Running]) -> io::Result<()> {
    let waiting = running.iter().filter(|probe| probe.line.is_none());
    let nearest =
        waiting.clone().map(|probe| DEADLINE.saturating_sub(probe.started.elapsed())).min().unwrap_or_default();
    let mut descriptors: Vec<PollFd> = waiting
        .filter_map(|probe| probe.child.as_ref())
        .map(|(_, answer)| PollFd::new(answer, PollFlags::IN))
        .collect();
    let timeout = Timespec::try_from(nearest).map_err(io::Error::other)?;
    match poll(&mut descriptors, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Takes the answer of a probe that has one, ends one that is out of time, leaves the others.
fn settle(probe: &mut Running, context: &Context) -> io::Result<()> {
    let Some((child, answer)) = probe.child.take() else {
        return Ok(());
    };
    let elapsed = probe.started.elapsed();
    let ready = {
        let mut one = [PollFd::new(&answer, PollFlags::IN)];
        poll(&mut one, Some(&Timespec::default())).is_ok_and(|count| count > 0)
    };
    if !ready && elapsed < DEADLINE {
        probe.child = Some((child, answer));
        return Ok(());
    }
    let received = if ready { process::receive(answer)? } else { None };
    // The answer is a probe's last word: what is left of its group is a stray, and so is all of a late one.
    match rustix::process::kill_process_group(child, Signal::KILL) {
        Ok(()) | Err(rustix::io::Errno::SRCH | rustix::io::Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    let status = wait_within(child, REAP_LIMIT);
    (probe.layer.sweep)(context);
    let verdict = received.unwrap_or_else(|| no_answer(ready, status, probe.layer));
    probe.line = Some(Line::new(probe.layer.name, verdict, elapsed.as_secs_f64() * 1000.0));
    Ok(())
}

fn no_answer(ended: bool, status: Option<rustix::process::WaitStatus>, layer: &Layer) -> Verdict {
    match status {
        Some(status) if ended => Err(process::ended_silently(status)),
        _ => Err(Fault::new(format!("timed out after {} ms", DEADLINE.as_millis()), layer.timeout_hint)),
    }
}

fn wait_within(child: Pid, limit: Duration) -> Option<rustix::process::WaitStatus> {
    let since = Instant::now();
    loop {
        match rustix::process::waitpid(Some(child), WaitOptions::NOHANG) {
            Ok(Some((_, status))) => return Some(status),
            Ok(None) | Err(rustix::io::Errno::INTR) if since.elapsed() < limit => {
                std::thread::sleep(Duration::from_micros(200));
            }
            _ => return None,
        }
    }
}

fn reap_orphans() {
    let since = Instant::now();
    while since.elapsed() < REAP_LIMIT {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => std::thread::sleep(Duration::from_micros(200)),
            Err(_) => return,
        }
    }
}
