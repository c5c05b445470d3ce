//! Everything between a root filesystem and the guest in it: the caller's files, directories of the host, the captured
//! network, the walls. `ak-entry` does it in a container; the first program of a virtual machine does it in one that is
//! built ahead.

pub mod connect;
pub mod gather;
pub mod guest;
pub mod home;
pub mod host_channel;
pub mod live;
pub mod order;
pub mod programs;
mod readonly;
pub mod trees;

use ak_jail::{
    control::Layer,
    fault::{During, Fault, Outcome},
};
use ak_tree::Listing;
use host_channel::HostChannel;
use order::Order;
use serde::Serialize;

#[derive(Serialize)]
#[serde(tag = "said", rename_all = "lowercase")]
pub enum Message<'a> {
    /// It waits for its order.
    Here,
    /// The directories are in place; the listing follows in messages, the last of which is empty.
    Filled,
    Started {
        layers: &'a [Layer],
    },
    Failed(&'a Fault),
}

/// Sends the listing of the project, where its changes are to be found later.
pub fn send_listing(host: &mut HostChannel, order: &Order) -> Outcome<()> {
    let Some(directory) = &order.listed else { return Ok(()) };
    let listing = Listing::of(directory).map_err(|failure| Fault::start(failure.message))?;
    host.say(&Message::Filled).during("say that the project is there")?;
    host.send_all(&listing.to_bytes())
}
