//! The sandbox's network namespace. The kernel works on it longer than on anything else in a sandbox, so a thread makes
//! it while the process builds the root; the process enters it when it is done.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    thread,
};

use ak_net::capture::Listeners;
use rustix::{
    fs::{Mode, OFlags, open},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};

use super::Told;
use crate::{
    channel::Channel,
    control::{Layer, LayerState},
    fault::{During, Fault, Outcome},
    spec::Network,
    sys,
};

const CAPTURE_LAYER: &str = "network capture";
/// Far more than it needs; pages that are not touched cost nothing.
const STACK_BYTES: usize = 256 << 10;

/// A namespace that is being made. No process may be forked and no credentials given up before it is entered.
pub enum Making {
    Beside(thread::JoinHandle<Outcome<(Made, OwnedFd)>>),
    /// No thread could be had, and the process is in the namespace already.
    Done(Outcome<Made>),
}

/// What there is in it.
pub struct Made {
    listeners: Option<Listeners>,
    /// What the user is told.
    layer: Option<Layer>,
}

/// Needs all capabilities in the user namespace.
pub fn make(network: Network) -> Making {
    let beside = move || {
        let made = make_here(network)?;
        let namespace = open("/proc/thread-self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        Ok((made, namespace.during("open the network namespace")?))
    };
    let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(beside);
    thread.map_or_else(|_: io::Error| Making::Done(make_here(network)), Making::Beside)
}

impl Making {
    /// The listeners of a captured network.
    pub fn enter(self, channel: &Channel) -> Outcome<Option<Listeners>> {
        let Made { listeners, layer } = match self {
            Self::Done(made) => made?,
            Self::Beside(thread) => {
                let made = thread.join().map_err(|_| Fault::new("internal", "making the network broke off"))?;
                let (made, namespace) = made?;
                move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
                    .during("enter the network namespace")?;
                made
            }
        };
        layer.map_or(Ok(()), |layer| channel.send(&Told::Layer(layer), None))?;
        Ok(listeners)
    }
}

/// Of the calling thread. A network that cannot be captured is none at all, and the user is told.
fn make_here(network: Network) -> Outcome<Made> {
    sys::unshare(libc::CLONE_NEWNET).during("make the network namespace")?;
    let mut made = Made { listeners: None, layer: None };
    if network == Network::Captured {
        match ak_net::capture::set_up() {
            Ok(listeners) => {
                let detail = if listeners.has_ipv6() { "" } else { "this kernel has no IPv6, so the sandbox has none" };
                let layer = Layer::new(CAPTURE_LAYER, LayerState::Applied, detail);
                return Ok(Made { listeners: Some(listeners), layer: Some(layer) });
            }
            Err(failure) => {
                let detail = format!("the sandbox has no network: {failure}; see `agentkernel doctor`");
                made.layer = Some(Layer::new(CAPTURE_LAYER, LayerState::Absent, detail));
            }
        }
    }
    ak_net::netlink::route::raise_loopback().during("bring loopback up")?;
    Ok(made)
}
