//! A sandbox that outlives whoever started it. Its supervisor serves a socket in the sandbox's state folder: owners come
//! and go, each newer one taking the place of the one before, and only the present owner gets a stream to the guest.
//!
//! The folder's mode keeps other users out; inside the sandbox nothing of it can be seen but the folder `disk`. The
//! sandbox lives and dies with this process, which holds the folder's lock for as long.

mod all_ids;
mod clients;
mod copy;
pub mod door;
mod folder;
mod orders;
pub mod project;
mod removal;
mod serve;
mod sweep;
mod uncarried;

use std::{os::fd::AsFd, time::SystemTime};

use rustix::{
    fs::{Mode, OFlags, open},
    process::{chdir, setsid},
};

use crate::{
    carry::Report,
    cgroup,
    control::{Control, Event},
    fault::{During, Fault, Outcome},
    sandbox::{Sandbox, Ties},
    spec::Spec,
    view::placeholder::Placeholders,
};
pub use all_ids::with_all_ids;
use clients::Clients;
pub use copy::copy;
use door::Door;
use folder::StateFolder;
pub use removal::remove;
use serve::Server;
pub use sweep::sweep;

/// Tells whoever started it when the sandbox runs, or why it does not, and then needs nobody any more.
pub fn run(mut control: Control) -> Outcome<()> {
    let Some(line) = control.line()? else { return Ok(()) };
    let spec = match Spec::parse(&line) {
        Ok(spec) => spec,
        Err(fault) => return tell_failure(&control, fault),
    };
    // A leader of its own session already is what it should be.
    let _ = setsid();
    match start(&spec) {
        Ok(kept) => {
            control.send(&Event::Started { pid: kept.sandbox.pid(), layers: &kept.sandbox.layers });
            drop(control);
            let_go_of_terminal()?;
            kept.serve(&spec)
        }
        Err(fault) => tell_failure(&control, fault),
    }
}

fn tell_failure(control: &Control, fault: Fault) -> Outcome<()> {
    control.send(&Event::Failed(&fault));
    Err(fault)
}

struct Kept<'a> {
    sandbox: Sandbox<'a>,
    door: Door,
    clients: Clients,
    folder: StateFolder,
    started_at: SystemTime,
}

fn start(spec: &Spec) -> Outcome<Kept<'_>> {
    let path =
        spec.state.as_ref().ok_or_else(|| Fault::new("internal", "the jail's spec: a kept sandbox needs state"))?;
    let folder = StateFolder::claim(path)?;
    chdir("/").during("leave the caller's folder")?;
    sweep::clear(&folder)?;
    folder.note_supervisor()?;
    // From here on whoever connects waits until the sandbox runs.
    let clients = Clients::listen(&folder)?;
    let started = start_in(spec, &folder);
    match started {
        Ok((sandbox, door)) => Ok(Kept { sandbox, door, clients, folder, started_at: SystemTime::now() }),
        Err(fault) => {
            // The failure is on its way to the user.
            let _ = folder.forget();
            Err(fault)
        }
    }
}

fn start_in<'a>(spec: &'a Spec, folder: &StateFolder) -> Outcome<(Sandbox<'a>, Door)> {
    let disk = folder.make_disk()?;
    let (door, guests_end) = Door::pair()?;
    let mut born = |pid| folder.write_state(pid, &spec.journal, Vec::new());
    let since = uncarried::begin(folder, spec)?;
    // What a machine has of a project was copied into it, and whoever did so has noted it.
    if spec.monitor.is_none() {
        project::begin(folder, spec, &disk)?;
    }
    let ties = Ties { stream: guests_end, disk: Some(&disk), since, born: &mut born };
    let sandbox = Sandbox::start(spec, ties)?;
    folder.write_state(sandbox.pid(), &spec.journal, sandbox.cgroup.paths())?;
    Ok((sandbox, door))
}

impl Kept<'_> {
    fn serve(self, spec: &Spec) -> Outcome<()> {
        let Self { sandbox, door, clients, folder, started_at } = self;
        let mut server = Server::new(sandbox, door, clients, started_at);
        let cause = server.run();
        let Server { sandbox, mut clients, .. } = server;
        let end = match sandbox.end(matches!(cause, Ok(serve::Cause::Stopped))) {
            Ok(mut end) => {
                end.carried.iter_mut().for_each(Report::shorten);
                end
            }
            Err(fault) => {
                folder.write_lost().and_then(|()| folder.forget())?;
                drop(folder);
                clients.tell_failure(&fault);
                return Err(fault);
            }
        };
        folder.write_end(&end)?;
        if end.carried.is_some() {
            uncarried::clear(&folder, spec)?;
        }
        folder.forget()?;
        // Whoever hears of the end may start it again at once.
        drop(folder);
        clients.tell_end(&end);
        cgroup::sweep_kept();
        Placeholders::sweep(&spec.journal);
        cause.map(drop)
    }
}

/// What was inherited as standard streams may be somebody's terminal or pipe, which would never end.
fn let_go_of_terminal() -> Outcome<()> {
    let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).during("open /dev/null")?;
    let null = null.as_fd();
    rustix::stdio::dup2_stdin(null)
        .and_then(|()| rustix::stdio::dup2_stdout(null))
        .and_then(|()| rustix::stdio::dup2_stderr(null))
        .during("let go of the terminal")
}
