//! The credit that the host has left on a stream of a file channel.

use ak_wire::{MAX_CREDIT, MAX_DATA};

use crate::channel::ProtocolBreach;

pub struct Credit(u32);

impl Credit {
    pub fn new(window: u32) -> Self {
        Self(window)
    }

    pub fn add(&mut self, amount: u32) -> Result<(), ProtocolBreach> {
        match self.0.checked_add(amount) {
            Some(sum) if sum <= MAX_CREDIT => {
                self.0 = sum;
                Ok(())
            }
            _ => Err(ProtocolBreach),
        }
    }

    /// The most that one frame may carry now.
    pub fn frame_max(&self) -> usize {
        MAX_DATA.min(self.0 as usize)
    }

    pub fn spend(&mut self, bytes: usize) {
        self.0 -= bytes as u32;
    }
}
