//! A machine that stays: hosts come to it and go. They come through the jail's door; this gives each to the machine, and
//! tells its process 1 when it may open a port again, and when it is to end (native/init/src/stays).

use std::{io::Write, os::fd::AsFd};

use ak_door::{Door, Knock};

use super::{
    Qemu, Turn,
    ports::{ERRANDS, HOST, Port},
};
use crate::{
    failure::{During, Outcome},
    monitor::End,
};

/// The kinds of orders, their first byte; eight bytes follow, little-endian.
const STOP: u8 = 1;
const HOST_IS_FREE: u8 = 2;
const ERRANDS_ARE_FREE: u8 = 3;
const CHANGED: &str = "VSERPORT_CHANGE";

pub fn run(mut machine: Qemu, mut door: Door) -> Outcome<End> {
    let mut hosts = Port::new(HOST);
    let mut errands = Port::new(ERRANDS);
    let mut is_door_open = true;
    loop {
        let besides = is_door_open.then(|| door.socket.as_fd());
        match machine.turn(besides)? {
            Turn::Over(end) => return Ok(end),
            Turn::Machine => {}
            Turn::Besides => {
                door.ready = true;
                while let Some(knock) = door.answer() {
                    match knock {
                        Knock::Host(stream) => hosts.come(&mut machine.qmp, stream)?,
                        Knock::Errand(stream) => errands.come(&mut machine.qmp, stream)?,
                        Knock::Stop { grace_ms } => machine.order(STOP, grace_ms)?,
                        Knock::Closed => {
                            is_door_open = false;
                            break;
                        }
                    }
                }
            }
        }
        while let Some((name, data)) = machine.qmp.happening() {
            if name != CHANGED {
                continue;
            }
            if hosts.heard(&mut machine.qmp, &data)? {
                machine.order(HOST_IS_FREE, 0)?;
            }
            if errands.heard(&mut machine.qmp, &data)? {
                machine.order(ERRANDS_ARE_FREE, 0)?;
            }
        }
    }
}

impl Qemu {
    fn order(&mut self, kind: u8, value: u64) -> Outcome<()> {
        let Some(orders) = &mut self.orders else { return Ok(()) };
        let mut message = vec![kind];
        message.extend(value.to_le_bytes());
        orders.write_all(&message).during("tell the machine")
    }
}
