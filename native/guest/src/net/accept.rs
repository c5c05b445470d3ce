//! Connections that programs make: each becomes a channel that says where it
//! was going.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use ak_net::capture::address::{Meaning, meaning};
use ak_net::capture::original_destination;
use ak_wire::FrameType;
use ak_wire::payload::{OpenByGuest, OutgoingTarget};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, sockopt};

use super::connection::Connection;
use super::names::Names;
use super::{Net, NetContext};
use crate::outbox::Outbox;
use crate::poller::Poller;

/// Per turn, so that a burst does not keep the connections that are there waiting.
const PER_TURN: usize = 64;

pub struct Listener {
    pub socket: OwnedFd,
    pub is_proxy: bool,
    pub is_ipv6: bool,
    pub ready: bool,
    /// Its place among the inherited sockets.
    pub index: usize,
}

impl Net {
    /// True when more may wait. While no further channel is to be had they wait in the kernel.
    pub(super) fn accept(&mut self, outbox: &mut Outbox, poller: &Poller, now: Instant) -> bool {
        let mut progress = false;
        for index in 0..self.listeners.len() {
            for _ in 0..PER_TURN {
                let listener = &mut self.listeners[index];
                if !listener.ready || (self.channels.open >= self.channels.limit && !self.is_offline) {
                    break;
                }
                let (is_proxy, is_ipv6) = (listener.is_proxy, listener.is_ipv6);
                match accept_with(&listener.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                    Ok(socket) if self.is_offline => {
                        progress = true;
                        refuse(&socket);
                    }
                    Ok(socket) => {
                        progress = true;
                        self.admit(socket, is_proxy, is_ipv6, outbox, poller, now);
                    }
                    Err(Errno::AGAIN) => listener.ready = false,
                    // No descriptor left: when one is closed, an event brings us back here.
                    Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => break,
                    // That one connection was lost before it was taken.
                    Err(_) => {}
                }
            }
        }
        progress
    }

    fn admit(
        &mut self,
        socket: OwnedFd,
        is_proxy: bool,
        is_ipv6: bool,
        outbox: &mut Outbox,
        poller: &Poller,
        now: Instant,
    ) {
        let target = if is_proxy {
            Some((OutgoingTarget::Proxy { proxy: true }, None))
        } else {
            let original = original_destination(&socket, is_ipv6).ok();
            original.and_then(|original| target(original, &mut self.names, now))
        };
        let Some((target, name)) = target else { return refuse(&socket) };
        let Self { budget, channels, .. } = self;
        let context = NetContext { outbox, poller, budget, channels, now };
        let Some(id) = context.channels.open() else { return refuse(&socket) };
        // Small writes of a program must not wait for each other; without it they are only slower.
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        // Nothing is congested on a loopback, and what a host has chosen instead may pace, which costs timers.
        let _ = sockopt::set_tcp_congestion(&socket, "reno");
        let Ok(connection) = Connection::out(socket, name, id, &context) else {
            context.channels.close();
            if let Some(index) = name {
                self.names.disconnect(index, now);
            }
            return;
        };
        context.outbox.json(FrameType::Open, id, &OpenByGuest::TcpOut(target));
        self.connections.insert(id, connection);
        self.wake(id);
    }
}

/// Returns the target of a destination. None for the listener itself, and for synthetic addresses that stand for no
/// name (any more).
fn target(original: SocketAddr, names: &mut Names, now: Instant) -> Option<(OutgoingTarget, Option<u32>)> {
    let port = Some(original.port()).filter(|port| *port != 0)?;
    match meaning(original.ip()) {
        Meaning::Own => None,
        Meaning::Synthetic(index) => {
            let name = names.connect(index, now)?.to_owned();
            Some((OutgoingTarget::Name { name, port }, Some(index)))
        }
        Meaning::Other(address) => Some((OutgoingTarget::Address { address, port }, None)),
    }
}

/// Closes with a reset (SO_LINGER 0) instead of an orderly end, which would look like a server's answer.
fn refuse(socket: &OwnedFd) {
    let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target_of(text: &str, names: &mut Names) -> Option<OutgoingTarget> {
        target(text.parse().expect("an address"), names, Instant::now()).map(|(target, _)| target)
    }

    #[test]
    fn a_synthetic_address_is_its_name_and_any_other_is_itself() {
        let mut names = Names::default();
        let index = names.assign("example.com", Instant::now()).expect("an address");
        let named = Some(OutgoingTarget::Name { name: "example.com".into(), port: 443 });
        assert_eq!(target_of(&format!("{}:443", ak_net::capture::address::synthetic_ipv4(index)), &mut names), named);
        assert_eq!(target_of(&format!("[{}]:443", ak_net::capture::address::synthetic_ipv6(index)), &mut names), named);
        let address = "192.0.2.1".parse().expect("an address");
        let itself = Some(OutgoingTarget::Address { address, port: 22 });
        assert_eq!(target_of("192.0.2.1:22", &mut names), itself);
        assert_eq!(target_of("[::ffff:192.0.2.1]:22", &mut names), itself);
    }

    #[test]
    fn the_listener_itself_a_name_nobody_asked_for_and_port_0_are_no_destinations() {
        let mut names = Names::default();
        for nothing in
            ["127.0.0.1:1", "[::1]:1", "198.18.0.1:1", "198.18.7.7:443", "[fd61:6b6e:6c00::99]:443", "192.0.2.1:0"]
        {
            assert_eq!(target_of(nothing, &mut names), None, "{nothing}");
        }
    }
}
