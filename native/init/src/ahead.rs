//! A sandbox that is built before it has an owner. Its first process raises the walls and becomes the guest, which has
//! the stream and leaves it alone until its entrance says that it may begin. Process 1 of the virtual machine, which no
//! process in the sandbox can see, enters the sandbox's namespaces, waits for the wake message on the same stream,
//! follows it, and tells the guest. Nothing of a user runs before.
//!
//! After a restore, software emulation has to translate all code anew, and code costs most when it runs for the first
//! time. So little follows the wake message, and it is prepared: nothing is allocated or formatted.

use std::{
    convert::Infallible,
    fs::File,
    io::Write,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use ak_entry::{Message, guest, home, host_channel::HostChannel, order::Order, send_listing, trees};
use ak_jail::{
    control::Layer,
    fault::{During, Fault, Outcome},
    place::Root as Tree,
    sys::{Fork, fork_into, unshare},
    trust,
};
use rustix::{
    net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};

use crate::{
    NAMESPACES,
    end::{self, End},
    ended::{EndedSandbox, Token, enter_mounts, mounts_of},
    identity::{self, Identity},
    lazy::LazyParts,
    limits::Limits,
    root::{Root, Storage},
    shape::Shape,
    stream::{self, Stream},
    wake::{Rest, Wake},
};

/// The layers of a sandbox are a few lines.
const MAX_LAYERS_BYTES: usize = 64 << 10;

/// In process 1. The stream is the sandbox's when this waits for its end.
pub fn run(mut stream: Stream, shape: Shape, order: Order, limits: &Limits) -> Outcome<End> {
    let own_mounts = mounts_of("self")?;
    // It cannot be seen from where the sandbox's files are.
    let device = ak_lazy::fuse::open_device().ok();
    let served = start(&stream, &shape, &order, limits).and_then(|(started, view)| {
        let token = place(&mut stream, &shape, order, (&started, LazyParts { device, stream: view }))?;
        Ok((started, token))
    });
    if let Err(fault) = &served {
        // The host may have disconnected; the kernel's log has the message too.
        let _ = stream.say_failed(fault);
    }
    let (Started { pid, entrance, mounts, names, .. }, token) = served?;
    // The guest lets go of it when its first command has ended. Until then nothing is to be done here, and to wait in this
    // way is what it has done as well: no code is new.
    let _ = rustix::io::read(&entrance, &mut [0; 1]);
    end::of_child(pid, &EndedSandbox::of(mounts, Token::Known(token)), || {
        // Not before: it would take a processor from the guest.
        drop((stream, entrance, names));
        enter_mounts(&own_mounts)
    })
}

/// A guest that waits.
struct Started {
    pid: libc::pid_t,
    entrance: OwnedFd,
    mounts: OwnedFd,
    names: OwnedFd,
    layers: Vec<Layer>,
}

/// The other end of the second stream is where a lazy view's requests go to the guest, and so to the host.
fn start(stream: &Stream, shape: &Shape, order: &Order, limits: &Limits) -> Outcome<(Started, OwnedFd)> {
    let (view, guests_view) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .during("make the stream of a lazy view")?;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .during("make the guest's entrance")?;
    match fork_into(NAMESPACES, Some(limits.cgroup())).during("start the sandbox's first process")? {
        Fork::Parent { pid, .. } => {
            drop((theirs, guests_view));
            let mounts = mounts_of(&pid.to_string())?;
            let names = File::open(format!("/proc/{pid}/ns/uts")).during("look into the sandbox")?;
            let layers = hear_layers(&ours)?;
            await_guest(&ours)?;
            Ok((Started { pid, entrance: ours, mounts, names: names.into(), layers }, view))
        }
        Fork::Child => {
            drop((ours, view));
            let fault = match become_guest((stream.fd(), guests_view.as_fd()), shape, order, &theirs) {
                Err(fault) => fault,
                Ok(never) => match never {},
            };
            end::log(&fault.to_string());
            std::process::exit(1)
        }
    }
}

fn become_guest(
    streams: (BorrowedFd<'_>, BorrowedFd<'_>),
    shape: &Shape,
    order: &Order,
    entrance: &OwnedFd,
) -> Outcome<Infallible> {
    let prepare = || -> Outcome<_> {
        let root = Root::build(Storage::Memory)?;
        root.write_common_files(shape)?;
        root.enter()?;
        let guest = guest::open_program()?;
        home::write(order)?;
        let mut layers = Vec::new();
        let captured = guest::set_up_network(order, &mut layers)?;
        guest::raise_walls(order, &mut layers)?;
        Ok((guest, captured, layers))
    };
    let prepared = prepare();
    let told: Result<&Vec<Layer>, &Fault> = prepared.as_ref().map(|(_, _, layers)| layers);
    let text = serde_json::to_vec(&told).during("tell which walls stand")?;
    send(entrance, &text, SendFlags::empty()).during("tell which walls stand")?;
    let (guest, captured, _) = prepared?;
    guest::enter_ahead(entrance.as_fd(), streams, guest, captured.as_ref())
}

fn hear_layers(entrance: &OwnedFd) -> Outcome<Vec<Layer>> {
    let mut text = vec![0; MAX_LAYERS_BYTES];
    let (_, length) = recv(entrance, &mut text, RecvFlags::empty()).during("hear which walls stand")?;
    serde_json::from_slice::<Result<_, Fault>>(&text[..length]).during("hear which walls stand")?
}

/// It has done all that it can before it has a host.
fn await_guest(entrance: &OwnedFd) -> Outcome<()> {
    let (_, length) = recv(entrance, &mut [0; 1], RecvFlags::empty()).during("wait for the guest")?;
    if length == 0 { Err(Fault::start("the guest did not come up")) } else { Ok(()) }
}

/// The byte that tells the guest at its entrance to begin.
const BEGIN: u8 = 0;
const REHEARSE: u8 = 1;
/// The same as to begin, with a lazy view whose requests the guest carries.
const BEGIN_WITH_VIEW: u8 = 2;

/// Has the guest start a dummy command. In a waiting copy, the code of a start has then run once.
fn rehearse(entrance: &OwnedFd) -> Outcome<()> {
    rustix::io::write(entrance, &[REHEARSE]).during("have the guest rehearse")?;
    await_guest(entrance)
}

/// Waits for the wake message, and gives the sandbox what is its own. Its token comes back.
fn place(
    stream: &mut Stream,
    shape: &Shape,
    order: Order,
    (started, lazy): (&Started, LazyParts),
) -> Outcome<Option<crate::wake::Token>> {
    let random = identity::open_random()?;
    move_into_link_name_space(started.names.as_fd(), Some(LinkNameSpaceType::HostNameAndNISDomainName))
        .during("look into the sandbox")?;
    // The kernel's own threads have theirs in common with process 1.
    unshare(libc::CLONE_FS).during("look into the sandbox")?;
    enter_mounts(&started.mounts)?;
    let mut identity = Identity::prepare(random, shape)?;
    let here = stream::message(&Message::Here)?;
    let begun = stream::message(&Message::Started { layers: &started.layers })?;
    let both = [&here[..], &begun].concat();
    let mut heard = Vec::new();
    stream.hear_wake(&mut heard, || rehearse(&started.entrance))?;
    let wake = Wake::parse(&heard)?;
    identity.take(&wake)?;
    let mut begin = BEGIN;
    match wake.rest()? {
        None => stream.file().write_all(&both).during("say that the guest starts")?,
        Some(rest) => {
            stream.file().write_all(&here).during("say that the machine is there")?;
            if rest.lazy.is_some() {
                begin = BEGIN_WITH_VIEW;
            }
            let begun = match fill(stream.fd(), order, &rest, lazy)? {
                None => begun.clone(),
                Some(layer) => {
                    let layers: Vec<_> = started.layers.iter().cloned().chain([layer]).collect();
                    stream::message(&Message::Started { layers: &layers })?
                }
            };
            stream.file().write_all(&begun).during("say that the guest starts")?;
        }
    }
    rustix::io::write(&started.entrance, &[begin]).during("let the guest begin")?;
    let token = wake.token;
    // Giving memory back would take a processor from the guest.
    std::mem::forget((heard, here, begun, both, identity));
    Ok(token)
}

/// Puts the owner's files into the sandbox. Returns what could not be put there.
fn fill(stream: BorrowedFd<'_>, order: Order, rest: &Rest, lazy: LazyParts) -> Outcome<Option<Layer>> {
    let root = || Ok(Tree::new(File::open("/").during("open the root")?.into()));
    if let Some(certificate) = &rest.trusted_certificate {
        trust::install(&root()?, certificate)?;
    }
    if let Some(files) = &rest.git {
        trust::install_git(&root()?, files)?;
    }
    let order =
        Order { trees: rest.trees.clone(), listed: rest.listed.clone(), project: rest.project.clone(), ..order };
    order.check()?;
    let stream = stream.try_clone_to_owned().during("keep the stream")?;
    let mut host = HostChannel::on(stream).during("keep the stream")?;
    if let Some(target) = &rest.lazy {
        lazy.show(target, order.user)?;
    }
    trees::receive(&mut host, &order)?;
    let absent = home::link_project(&order)?;
    send_listing(&mut host, &order)?;
    Ok(absent)
}
