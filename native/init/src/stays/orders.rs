//! What whoever runs the machine says to its process 1 (native/vmm/src/qemu/kept.rs).

use std::{fs::File, io::Read};

use ak_jail::fault::{During, Fault, Outcome};

#[derive(Debug, PartialEq, Eq)]
pub enum Order {
    Stop {
        grace_ms: u64,
    },
    /// The sandbox has let go of its last host: another can come.
    HostIsFree,
    ErrandsAreFree,
}

pub fn next(port: &mut File) -> Outcome<Order> {
    let mut message = [0; 9];
    port.read_exact(&mut message).during("hear an order")?;
    understood(message)
}

fn understood([kind, value @ ..]: [u8; 9]) -> Outcome<Order> {
    match kind {
        1 => Ok(Order::Stop { grace_ms: u64::from_le_bytes(value) }),
        2 => Ok(Order::HostIsFree),
        3 => Ok(Order::ErrandsAreFree),
        _ => Err(Fault::new("internal", format!("an order of kind {kind}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_understood_and_others_refused() {
        assert_eq!(understood([1, 0xe8, 3, 0, 0, 0, 0, 0, 0]).expect("an order"), Order::Stop { grace_ms: 1000 });
        assert_eq!(understood([2; 9]).expect("an order"), Order::HostIsFree);
        assert_eq!(understood([3; 9]).expect("an order"), Order::ErrandsAreFree);
        assert!(understood([0; 9]).is_err());
    }
}
