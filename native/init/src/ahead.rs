//! A sandbox that is built before it is somebody's. Its first process raises the walls and becomes the guest, which waits
//! at an entrance; its child, the placer, waits for the wake message with all the rights of the machine, does what that
//! says, hands the guest the stream and is gone before the guest reads the first byte of it. Nothing of a user runs before.

use std::{
    convert::Infallible,
    io::IoSlice,
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
};

use ak_entry::{Said, guest, home, order::Order, speech::Speech, tell_listing, trees};
use ak_jail::{
    control::Layer,
    fault::{During, Fault, Outcome},
    sys::{Fork, fork_into},
    trust,
};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv,
    send, sendmsg, socketpair,
};

use crate::{
    remains::TokenWriter,
    root::Root,
    stream::Stream,
    wake::{Rest, Wake},
};

/// The layers of a sandbox are a few lines.
const MAX_LAYERS_BYTES: usize = 64 << 10;
/// As native/door has it: here is a host.
const HOST: u8 = 1;

/// In the sandbox's root. The current process becomes the guest, and its child has the stream.
pub fn serve(stream: &mut Stream, root: Root, order: Order, token: TokenWriter) -> Outcome<Infallible> {
    let guest = guest::open_program()?;
    home::write(&order)?;
    let flags = SocketFlags::CLOEXEC;
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).during("make the guest's entrance")?;
    match fork_into(0, None).during("start the placer")? {
        Fork::Parent { .. } => {
            drop(ours);
            // The placer hears of it, and tells whoever there is.
            become_guest(&order, guest, theirs)
        }
        Fork::Child => {
            drop((theirs, guest));
            if let Err(fault) = place(stream, root, order, &ours, token) {
                // Whoever should hear it may be gone; the kernel's log has it too.
                let _ = stream.say_failed(&fault);
                crate::end::log(&fault.to_string());
                std::process::exit(1)
            }
            std::process::exit(0)
        }
    }
}

fn become_guest(order: &Order, guest: OwnedFd, entrance: OwnedFd) -> Outcome<Infallible> {
    let raise = || -> Outcome<_> {
        let mut layers = Vec::new();
        let captured = guest::set_up_network(order, &mut layers)?;
        guest::raise_walls(order, &mut layers)?;
        Ok((captured, layers))
    };
    let raised = raise();
    let told: Result<&Vec<Layer>, &Fault> = raised.as_ref().map(|(_, layers)| layers);
    let text = serde_json::to_vec(&told).during("tell which walls stand")?;
    send(&entrance, &text, SendFlags::empty()).during("tell which walls stand")?;
    let (captured, _) = raised?;
    guest::enter_ahead(entrance, guest, captured.as_ref())
}

fn place(
    stream: &mut Stream,
    mut root: Root,
    order: Order,
    entrance: &OwnedFd,
    token: TokenWriter,
) -> Outcome<()> {
    let layers = hear_layers(entrance)?;
    await_guest(entrance)?;
    root.open_files()?;
    let wake = stream.hear_wake()?;
    let wake = Wake::parse(&wake)?;
    let Some(rest) = &wake.rest else { return Err(Fault::new("internal", "the wake message lacks its rest")) };
    token.tell(wake.token_bytes())?;
    root.wake(&wake)?;
    let mut speech = Speech::on(stream.fd().try_clone_to_owned().during("keep the stream")?).during("keep the stream")?;
    speech.say(&Said::Here).during("say that the machine is there")?;
    fill(&mut speech, order, rest)?;
    speech.say(&Said::Started { layers: &layers }).during("say that the guest starts")?;
    let_in(entrance, stream)
}

/// What the sandbox is to have of its owner's.
fn fill(speech: &mut Speech, order: Order, rest: &Rest) -> Outcome<()> {
    if let Some(certificate) = &rest.trusted_certificate {
        trust::install(&Root::seen_from_inside()?, certificate)?;
    }
    if rest.trees.is_empty() && rest.listed.is_none() {
        return Ok(());
    }
    let order = Order { trees: rest.trees.clone(), listed: rest.listed.clone(), ..order };
    order.check()?;
    trees::receive(speech, &order)?;
    tell_listing(speech, &order)
}

fn hear_layers(entrance: &OwnedFd) -> Outcome<Vec<Layer>> {
    let mut text = vec![0; MAX_LAYERS_BYTES];
    let (_, length) = recv(entrance, &mut text, RecvFlags::empty()).during("hear which walls stand")?;
    let told: Result<Vec<Layer>, Fault> = serde_json::from_slice(&text[..length]).during("hear which walls stand")?;
    told
}

/// It has done all that it can before it has a host.
fn await_guest(entrance: &OwnedFd) -> Outcome<()> {
    let (_, length) = recv(entrance, &mut [0; 1], RecvFlags::empty()).during("wait for the guest")?;
    if length == 0 { Err(Fault::start("the guest did not come up")) } else { Ok(()) }
}

fn let_in(entrance: &OwnedFd, stream: &Stream) -> Outcome<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    let fds = [stream.fd()];
    if !with.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(Fault::new("internal", "no room for a descriptor"));
    }
    sendmsg(entrance, &[IoSlice::new(&[HOST])], &mut with, SendFlags::empty()).during("let the host in").map(drop)
}
