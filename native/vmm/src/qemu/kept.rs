//! A machine that stays: hosts come to it and go. They come through the jail's host socket; this gives each to the machine, when
//! its process 1 has made room for it, and passes on when the machine is to end (native/init/src/persistent).

use std::{
    io::{ErrorKind, Read, Write},
    os::fd::AsFd,
    time::Duration,
};

use ak_wire::host_socket::{HostMessage, HostSocket};

use super::{
    Qemu, Turn,
    ports::{HOST, Port, REQUESTS},
    snapshot_hold::{self, SnapshotHold},
};
use crate::{
    failure::{During, Failure, Outcome},
    monitor::{End, Monitor},
    spec::Action,
};

/// The kinds of orders, their first byte; eight bytes follow, little-endian.
const STOP: u8 = 1;
const ROOM_FOR_HOST: u8 = 2;
const ROOM_FOR_REQUEST: u8 = 3;
pub const FREEZE: u8 = 4;
pub const THAW: u8 = 5;
/// The answer of process 1 to an order that it cannot follow.
const CANNOT: u8 = 6;
/// QEMU's arguments for what happens.
const RUNS: &str = "RESUME";
const MIGRATION: &str = "MIGRATION";

/// From the closing of its streams to a process's end.
const LAST_MOMENTS: Duration = Duration::from_millis(500);

pub fn run(mut machine: Qemu, host_socket: HostSocket, does: Action) -> Outcome<End> {
    let end = serve(&mut machine, host_socket, does);
    // A request to a virtual machine that is just ending fails; the reason for its end is the better message.
    if end.is_err() && machine.ends_within(LAST_MOMENTS) { machine.ended() } else { end }
}

fn serve(machine: &mut Qemu, mut host_socket: HostSocket, does: Action) -> Outcome<End> {
    // As long as a machine is being restored, QEMU gives its ports nothing.
    let mut is_running = does == Action::Boot;
    // The first host finds a machine that waits for it, unless it had one before.
    let mut hosts = Port::new(HOST, does != Action::Continue);
    let mut hold = SnapshotHold::default();
    let mut requests = Port::new(REQUESTS, false);
    let orders = machine.orders.as_ref().map(|orders| orders.try_clone()).transpose().during("hear the machine")?;
    let orders = orders.ok_or_else(|| Failure::new("a machine that stays has no port for orders"))?;
    let mut is_host_socket_open = true;
    loop {
        while let Some((name, data)) = machine.qmp.next_event() {
            match name.as_str() {
                RUNS => is_running = true,
                // It was saved standing still.
                MIGRATION if !is_running && does == Action::Continue && data["status"] == "completed" => {
                    machine.resume()?;
                }
                MIGRATION if is_running => hold.hear(machine, &data)?,
                _ => {}
            }
        }
        let messages = (is_host_socket_open && is_running && !hold.is_active()).then(|| host_socket.socket.as_fd());
        let besides: Vec<_> = [Some(orders.as_fd()), messages, hold.requester()].into_iter().flatten().collect();
        if let Turn::Over(end) = machine.turn(&besides)? {
            return Ok(end);
        }
        hold.look(machine)?;
        match heard(&orders)? {
            Some(ROOM_FOR_HOST) => hosts.has_room(),
            Some(ROOM_FOR_REQUEST) => requests.has_room(),
            Some(CANNOT) => hold.is_refused(machine)?,
            Some(number) if snapshot_hold::FIRST_NUMBER <= number => {
                hosts.stands_still();
                requests.stands_still();
                hold.begin(machine, number)?;
            }
            Some(_) => return Err(Failure::new("the machine's first process says something unknown")),
            None => {}
        }
        // QEMU changes no streams while the machine stands still.
        if !hold.is_active() {
            hosts.attach(&mut machine.qmp)?;
            requests.attach(&mut machine.qmp)?;
        }
        host_socket.ready = is_host_socket_open && is_running && !hold.is_active();
        while let Some(message) = host_socket.receive() {
            match message {
                HostMessage::Connection(stream) => {
                    if !hosts.come(&mut machine.qmp, stream)? {
                        machine.order(ROOM_FOR_HOST, 0)?;
                    }
                }
                HostMessage::Request(stream) => {
                    if !requests.come(&mut machine.qmp, stream)? {
                        machine.order(ROOM_FOR_REQUEST, 0)?;
                    }
                }
                HostMessage::Hold(requester) => {
                    hold.ask(machine, requester)?;
                    break;
                }
                HostMessage::Stop { grace_ms } => machine.order(STOP, grace_ms)?,
                HostMessage::Closed => {
                    is_host_socket_open = false;
                    break;
                }
            }
        }
    }
}

/// One byte, where there is one.
fn heard(mut orders: &std::os::unix::net::UnixStream) -> Outcome<Option<u8>> {
    let mut byte = [0];
    match orders.read(&mut byte) {
        Ok(1) => Ok(Some(byte[0])),
        // With its end the machine's is near.
        Ok(_) => Ok(None),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionReset) => Ok(None),
        Err(e) => Err(e).during("hear the machine"),
    }
}

impl Qemu {
    pub(super) fn order(&mut self, kind: u8, value: u64) -> Outcome<()> {
        let Some(orders) = &mut self.orders else { return Ok(()) };
        let mut message = vec![kind];
        message.extend(value.to_le_bytes());
        orders.write_all(&message).during("tell the machine")
    }
}
