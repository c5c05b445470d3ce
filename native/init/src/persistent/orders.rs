//! Orders from the process that runs the virtual machine to its process 1 (native/vmm/src/qemu/kept.rs).

use std::{
    fs::File,
    io::{Read, Write},
};

use ak_jail::fault::{During, Fault, Outcome};

#[derive(Debug, PartialEq, Eq)]
pub enum Order {
    Stop {
        grace_ms: u64,
    },
    /// Another host connects: the process that has the port must release it.
    AcceptHost,
    AcceptRequest,
    /// Nothing of the sandbox is to run, and what it wrote is to be on the disk: the machine is about to be saved.
    Freeze {
        /// Says that all stand still.
        answer: u8,
    },
    /// It runs again. The clock stood still meanwhile.
    Thaw {
        now_ns: u64,
    },
}

/// The kinds of messages, their first byte.
const STOP: u8 = 1;
const ROOM_FOR_HOST: u8 = 2;
const ROOM_FOR_ERRAND: u8 = 3;
const STILL: u8 = 4;
const GO_ON: u8 = 5;
/// The answer to an order that cannot be followed.
const CANNOT: u8 = 6;

pub fn next(port: &mut File) -> Outcome<Order> {
    let mut message = [0; 9];
    port.read_exact(&mut message).during("hear an order")?;
    understood(message)
}

/// A way to say that there is room, or that all stands still.
pub struct Ready<'a> {
    orders: &'a File,
    kind: u8,
}

impl<'a> Ready<'a> {
    pub fn for_host(orders: &'a File) -> Self {
        Self { orders, kind: ROOM_FOR_HOST }
    }

    pub fn for_request(orders: &'a File) -> Self {
        Self { orders, kind: ROOM_FOR_ERRAND }
    }

    pub fn to_be_saved(orders: &'a File, answer: u8) -> Self {
        Self { orders, kind: answer }
    }

    pub fn tell(self) -> Outcome<()> {
        let kind = self.kind;
        self.say(kind)
    }

    /// It cannot be done.
    pub fn refuse(self) -> Outcome<()> {
        self.say(CANNOT)
    }

    fn say(self, answer: u8) -> Outcome<()> {
        let mut orders = self.orders;
        orders.write_all(&[answer]).during("answer an order")
    }
}

fn understood([kind, value @ ..]: [u8; 9]) -> Outcome<Order> {
    match kind {
        STOP => Ok(Order::Stop { grace_ms: u64::from_le_bytes(value) }),
        ROOM_FOR_HOST => Ok(Order::AcceptHost),
        ROOM_FOR_ERRAND => Ok(Order::AcceptRequest),
        STILL => Ok(Order::Freeze { answer: value[0] }),
        GO_ON => Ok(Order::Thaw { now_ns: u64::from_le_bytes(value) }),
        _ => Err(Fault::new("internal", format!("an order of kind {kind}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_understood_and_others_refused() {
        assert_eq!(understood([1, 0xe8, 3, 0, 0, 0, 0, 0, 0]).expect("an order"), Order::Stop { grace_ms: 1000 });
        assert_eq!(understood([2; 9]).expect("an order"), Order::AcceptHost);
        assert_eq!(understood([3; 9]).expect("an order"), Order::AcceptRequest);
        assert_eq!(understood([4, 129, 0, 0, 0, 0, 0, 0, 0]).expect("an order"), Order::Freeze { answer: 129 });
        assert_eq!(understood([5, 1, 0, 0, 0, 0, 0, 0, 0]).expect("an order"), Order::Thaw { now_ns: 1 });
        assert!(understood([0; 9]).is_err());
    }
}
