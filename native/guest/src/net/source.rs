//! Stream 1 of a connection: read from the program only as far as the host
//! gave credit and the way to the host has room.

use std::os::fd::OwnedFd;

use ak_wire::{MAX_CREDIT, MAX_DATA};
use rustix::io::{Errno, read};

use super::NetContext;
use crate::channel::ProtocolBreach;

pub enum Flow {
    Blocked,
    /// The way to the host is full; nothing of this connection tells when it is not.
    Starved,
    Sent,
}

pub struct Source {
    credit: u32,
    pub readable: bool,
    /// EOF was sent.
    pub ended: bool,
}

impl Source {
    pub fn new(credit: u32) -> Self {
        Self { credit, readable: true, ended: false }
    }

    pub fn add_credit(&mut self, amount: u32) -> Result<(), ProtocolBreach> {
        let sum = self.credit.checked_add(amount).filter(|sum| *sum <= MAX_CREDIT);
        self.credit = sum.ok_or(ProtocolBreach)?;
        Ok(())
    }

    /// At most one frame.
    pub fn step(&mut self, context: &mut NetContext, id: u32, socket: &OwnedFd) -> Result<Flow, Errno> {
        if self.ended || !self.readable || self.credit == 0 {
            return Ok(Flow::Blocked);
        }
        if !context.outbox.has_room() {
            return Ok(Flow::Starved);
        }
        let max = MAX_DATA.min(self.credit as usize);
        match context.outbox.data(id, 1, max, |space| read(socket, space)) {
            Ok(0) => {
                self.ended = true;
                context.outbox.eof(id, 1);
                Ok(Flow::Sent)
            }
            Ok(count) => {
                self.credit -= count as u32;
                Ok(Flow::Sent)
            }
            Err(Errno::INTR) => Ok(Flow::Sent),
            Err(Errno::AGAIN) => {
                self.readable = false;
                Ok(Flow::Blocked)
            }
            Err(errno) => Err(errno),
        }
    }
}
