//! `ak-entry`, the first program of a container that an engine made for us. `ak-entry boot` reads its order on standard
//! input, puts the caller's files in place, shows directories of the host, captures the network, drops every right that
//! the sandbox must not have, and becomes the guest, whose stream to the host are the container's standard streams. In
//! a kept container hosts connect and disconnect: the engine starts `ak-entry connect` there, which hands the guest a
//! stream and carries its bytes, or `ak-entry stop MS`, which asks for an orderly end. `ak-entry gather` reports the
//! project's changes since it was put in place; a stopped container is started with it instead of an order.
//!
//! It runs as root of the container before anything untrusted does, and never after. It decides nothing: the order says
//! what to do.

use std::env;

use ak_entry::{
    Message, connect, gather, guest, home, host_channel::HostChannel, live, order::Order, programs, send_listing, trees,
};
use ak_jail::{
    fault::{During, Outcome},
    sys,
};

const DONE: i32 = 0;
const FAILED: i32 = 1;
const MISUSED: i32 = 2;

fn main() {
    sys::ignore_broken_pipes();
    let words: Vec<String> = env::args().skip(1).collect();
    std::process::exit(match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["boot"] => boot(),
        // A command that every image has, for the proof that a sandbox runs commands.
        ["true"] => DONE,
        ["gather"] => finished(gather::on_standard_streams()),
        ["connect"] => finished(connect::carry()),
        ["stop", grace_ms] => match grace_ms.parse() {
            Ok(grace_ms) => finished(connect::stop(grace_ms)),
            Err(_) => MISUSED,
        },
        _ => {
            eprintln!("usage: ak-entry boot | gather | connect | stop MS (started by an engine for agentkernel)");
            MISUSED
        }
    });
}

fn finished(outcome: Outcome<()>) -> i32 {
    match outcome {
        Ok(()) => DONE,
        Err(fault) => {
            eprintln!("ak-entry: {fault}");
            FAILED
        }
    }
}

fn boot() -> i32 {
    let mut host = match HostChannel::open() {
        Ok(host) => host,
        Err(error) => {
            eprintln!("ak-entry: its standard streams must be open: {error}");
            return MISUSED;
        }
    };
    match prepare(&mut host) {
        Ok(()) => DONE,
        Err(fault) => {
            // The host may have disconnected; then there is no reader.
            if host.say(&Message::Failed(&fault)).is_ok() {
                host.drain_until_close();
            }
            FAILED
        }
    }
}

/// Does not come back, unless there was nothing to start.
fn prepare(host: &mut HostChannel) -> Outcome<()> {
    programs::insist_on_fixed_place()?;
    let guest = guest::open_program()?;
    host.say(&Message::Here).during("say that the container is there")?;
    let Some(text) = host.hear()? else { return Ok(()) };
    if text == gather::WORD {
        return gather::tell(host);
    }
    let order = Order::parse(&text)?;
    home::write(&order)?;
    trees::receive(host, &order)?;
    let mut layers = live::show(host, &order)?;
    layers.extend(home::link_project(&order)?);
    send_listing(host, &order)?;
    let captured = guest::set_up_network(&order, &mut layers)?;
    let never = guest::raise_walls(&order, &mut layers)
        .and_then(|()| guest::enter(host, &order, guest, captured.as_ref(), &layers))?;
    match never {}
}
