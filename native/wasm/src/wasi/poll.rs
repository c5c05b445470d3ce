//! Waiting: for a time, or for something to read. Files and outputs are always ready.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::wasi::descriptors::Open;
use crate::wasi::errno::{Answer, Errno, Fault};
use crate::wasi::guest::Guest;
use crate::wasi::surroundings::nanoseconds;

const SUBSCRIPTION_BYTES: u32 = 48;
const EVENT_BYTES: u32 = 32;
const MOST_SUBSCRIPTIONS: u32 = 4096;
const CLOCK: u8 = 0;
const READ: u8 = 1;
const WRITE: u8 = 2;
const ABSOLUTE: u32 = 1;
/// Longer waits than this are as good as endless.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

struct Event {
    userdata: u64,
    errno: u16,
    kind: u8,
    bytes: u64,
}

/// The events to wait for.
#[derive(Default)]
struct Waits {
    clocks: Vec<(u64, Instant)>,
    /// Who wants to hear of the input.
    readers: Vec<u64>,
    happened: Vec<Event>,
}

impl Guest<'_> {
    pub fn poll_oneoff(&mut self, asked: u32, events: u32, count: u32, happened: u32) -> Answer {
        if count == 0 || count > MOST_SUBSCRIPTIONS {
            return Err(Errno::INVAL.into());
        }
        let mut waits = Waits::default();
        for index in 0..count {
            let at = asked.checked_add(index * SUBSCRIPTION_BYTES).ok_or(Errno::FAULT)?;
            self.subscribe(at, &mut waits)?;
        }
        self.wait_for(&mut waits)?;
        for (index, event) in waits.happened.iter().enumerate() {
            let mut told = [0; EVENT_BYTES as usize];
            told[0..8].copy_from_slice(&event.userdata.to_le_bytes());
            told[8..10].copy_from_slice(&event.errno.to_le_bytes());
            told[10] = event.kind;
            told[16..24].copy_from_slice(&event.bytes.to_le_bytes());
            self.put(events.checked_add(index as u32 * EVENT_BYTES).ok_or(Errno::FAULT)?, &told)?;
        }
        self.put_u32(happened, waits.happened.len() as u32)
    }

    fn subscribe(&mut self, at: u32, waits: &mut Waits) -> Answer {
        let field = |offset: u32| at.checked_add(offset).ok_or(Errno::FAULT);
        let userdata = self.u64_at(at)?;
        let kind = self.bytes(field(8)?, 1)?[0];
        match kind {
            CLOCK => {
                let (id, timeout) = (self.u32_at(field(16)?)?, self.u64_at(field(24)?)?);
                let is_absolute = self.u32_at(field(40)?)? & ABSOLUTE != 0;
                waits.clocks.push((userdata, due(id, timeout, is_absolute)?));
            }
            READ | WRITE => {
                let fd = self.u32_at(field(16)?)?;
                let ready = match self.wasi.descriptors.get(fd) {
                    Ok(Open::Stdin { .. }) if kind == READ => {
                        waits.readers.push(userdata);
                        return Ok(());
                    }
                    Ok(Open::File(_)) => Event { userdata, errno: 0, kind, bytes: 1 },
                    Ok(Open::Stdout | Open::Stderr) if kind == WRITE => Event { userdata, errno: 0, kind, bytes: 1 },
                    Ok(_) | Err(Fault::Told(_)) => Event { userdata, errno: Errno::BADF.0, kind, bytes: 0 },
                    Err(fault) => return Err(fault),
                };
                waits.happened.push(ready);
            }
            _ => return Err(Errno::INVAL.into()),
        }
        Ok(())
    }

    fn wait_for(&mut self, waits: &mut Waits) -> Answer {
        let Waits { clocks, readers, happened } = waits;
        let stdin = &self.wasi.stdin;
        let earliest = clocks.iter().map(|(_, due)| *due).min();
        if happened.is_empty() {
            self.wasi.kill.wait_until(earliest, || !readers.is_empty() && stdin.is_ready())?;
        }
        if stdin.is_ready() {
            let bytes = stdin.available() as u64;
            happened.extend(readers.iter().map(|userdata| Event { userdata: *userdata, errno: 0, kind: READ, bytes }));
        }
        let now = Instant::now();
        let due = clocks.iter().filter(|(_, due)| *due <= now);
        happened.extend(due.map(|(userdata, _)| Event { userdata: *userdata, errno: 0, kind: CLOCK, bytes: 0 }));
        Ok(())
    }
}

fn due(id: u32, timeout: u64, is_absolute: bool) -> Answer<Instant> {
    let clock = match id {
        0 => ClockId::Realtime,
        1 => ClockId::Monotonic,
        _ => return Err(Errno::INVAL.into()),
    };
    let left = if is_absolute {
        let now = clock_gettime(clock);
        timeout.saturating_sub(nanoseconds(now.tv_sec, now.tv_nsec))
    } else {
        timeout
    };
    Ok(Instant::now() + Duration::from_nanos(left).min(LONGEST))
}
