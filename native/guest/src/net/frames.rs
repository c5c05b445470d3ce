//! Handles the host's frames about connections and lookups.

use std::os::fd::OwnedFd;
use std::time::Instant;

use ak_wire::payload::{Closed, Failed, NameFamilies, OpenByGuest};
use ak_wire::{Frame, FrameType};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde::de::DeserializeOwned;

use super::connection::{Connection, Outcome};
use super::{Net, NetContext};
use crate::channel::{ProtocolBreach, Refusal};
use crate::outbox::Outbox;
use crate::poller::Poller;

impl Net {
    /// The host asks for a port inside.
    pub fn open_inward(
        &mut self,
        id: u32,
        port: u16,
        credit: u32,
        (outbox, poller, now): (&mut Outbox, &Poller, Instant),
    ) -> Result<(), Refusal> {
        let Self { budget, channels, .. } = self;
        let connection = Connection::inward(port, credit, id, &NetContext { outbox, poller, budget, channels, now })?;
        self.connections.insert(id, connection);
        self.inward += 1;
        Ok(())
    }

    /// The calls of a command go to the host as a connection out does. Where there is no channel for them the command
    /// finds its end closed.
    pub fn open_call(&mut self, exec: u32, socket: OwnedFd, (outbox, poller, now): (&mut Outbox, &Poller, Instant)) {
        let Self { budget, channels, .. } = self;
        let context = NetContext { outbox, poller, budget, channels, now };
        let Some(id) = context.channels.open() else { return };
        let Ok(connection) = Connection::out(socket, None, id, &context) else {
            context.channels.close();
            return;
        };
        context.outbox.json(FrameType::Open, id, &OpenByGuest::Call { exec });
        self.connections.insert(id, connection);
        self.wake(id);
    }

    /// A lazy view's requests go to the host in the same way. It is the first channel of all.
    pub fn open_view(
        &mut self,
        socket: OwnedFd,
        (outbox, poller, now): (&mut Outbox, &Poller, Instant),
    ) -> std::io::Result<()> {
        fcntl_setfl(&socket, fcntl_getfl(&socket)? | OFlags::NONBLOCK)?;
        let Self { budget, channels, .. } = self;
        let context = NetContext { outbox, poller, budget, channels, now };
        let id = context.channels.open().ok_or(rustix::io::Errno::NOBUFS)?;
        let connection = Connection::out(socket, None, id, &context)?;
        context.outbox.json(FrameType::Open, id, &OpenByGuest::View {});
        self.has_view = true;
        self.connections.insert(id, connection);
        self.wake(id);
        Ok(())
    }

    /// Whether the guest has opened this channel, now or earlier.
    pub fn has_opened(&self, id: u32) -> bool {
        id & 1 == 0 && id <= self.channels.last_id
    }

    pub fn has(&self, id: u32) -> bool {
        self.connections.contains_key(&id)
    }

    /// Frames on a channel that is over are ignored: the host may not have seen its end.
    pub fn on_frame(
        &mut self,
        frame: &Frame,
        outbox: &mut Outbox,
        poller: &Poller,
        now: Instant,
    ) -> Result<(), ProtocolBreach> {
        let id = frame.channel;
        let Self { connections, budget, channels, stub, names, .. } = self;
        let mut context = NetContext { outbox, poller, budget, channels, now };
        if let Some(connection) = connections.get_mut(&id) {
            let outcome = on_connection_frame(connection, frame, &mut context)?;
            self.settle(id, outcome, now);
            return Ok(());
        }
        if !stub.has_lookup(id) {
            return Ok(());
        }
        let expected = match frame.frame_type {
            FrameType::Opened => stub.on_opened(id, parse::<NameFamilies>(frame)?, &context, names),
            FrameType::Failed => stub.on_failed(id, &parse::<Failed>(frame)?, &mut context),
            FrameType::Close => stub.on_close(id, &mut context),
            _ => false,
        };
        if expected { Ok(()) } else { Err(ProtocolBreach) }
    }
}

fn on_connection_frame(
    connection: &mut Connection,
    frame: &Frame,
    context: &mut NetContext,
) -> Result<Outcome, ProtocolBreach> {
    let id = frame.channel;
    let is_out = connection.is_out();
    match (frame.frame_type, frame.stream) {
        (FrameType::Data, 0) => connection.on_data(context, id, frame.payload)?,
        (FrameType::Eof, 0) => connection.on_eof()?,
        (FrameType::Credit, 1) => connection.on_credit(frame.credit())?,
        (FrameType::Credit, _) => {}
        (FrameType::Opened, _) if is_out => connection.on_opened()?,
        (FrameType::Failed, _) if is_out => return Ok(connection.on_failed()),
        (FrameType::Close, _) => return Ok(connection.on_close(context, id, &parse::<Closed>(frame)?)),
        (FrameType::Signal | FrameType::Resize, _) if !is_out => {}
        _ => return Err(ProtocolBreach),
    }
    Ok(Outcome::Progress)
}

fn parse<T: DeserializeOwned>(frame: &Frame) -> Result<T, ProtocolBreach> {
    serde_json::from_slice(frame.payload).map_err(|_| ProtocolBreach)
}
