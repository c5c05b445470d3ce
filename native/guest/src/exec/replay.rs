//! Output of a kept exec that was sent on one stream and not yet acknowledged by CREDIT. It is sent again to a host
//! that attaches. The windows of the two hosts bound it, since no more than a window is sent unacknowledged.

use std::collections::VecDeque;

use ak_wire::payload::KeptOutput;

#[derive(Default)]
pub struct Replay {
    /// Bytes since the stream's beginning that are acknowledged, and gone.
    acked: u64,
    held: VecDeque<u8>,
    /// How many of the held bytes the present host has been sent.
    sent_now: usize,
}

impl Replay {
    pub fn state(&self) -> KeptOutput {
        KeptOutput { acked: self.acked, sent: self.acked + self.held.len() as u64 }
    }

    /// New bytes of the command, which are on their way to the host.
    pub fn push(&mut self, bytes: &[u8]) {
        self.held.extend(bytes);
        self.sent_now += bytes.len();
    }

    /// Only what the present host was sent can be acknowledged by it.
    pub fn acknowledge(&mut self, amount: u32) {
        let count = (amount as usize).min(self.sent_now);
        self.forget(count);
        self.sent_now -= count;
    }

    /// Another host goes on at this byte; false if that one cannot be had (any more).
    pub fn rewind(&mut self, from: u64) -> bool {
        let state = self.state();
        if from < state.acked || from > state.sent {
            return false;
        }
        self.forget((from - state.acked) as usize);
        self.sent_now = 0;
        true
    }

    pub fn is_behind(&self) -> bool {
        self.sent_now < self.held.len()
    }

    /// Fills `space` with what the present host has not been sent yet.
    pub fn send(&mut self, space: &mut [u8]) -> usize {
        let (front, back) = self.held.as_slices();
        let rest = match front.get(self.sent_now..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => &back[self.sent_now.saturating_sub(front.len())..],
        };
        let count = rest.len().min(space.len());
        space[..count].copy_from_slice(&rest[..count]);
        self.sent_now += count;
        count
    }

    fn forget(&mut self, count: usize) {
        self.held.drain(..count);
        self.acked += count as u64;
        if self.held.is_empty() {
            self.held = VecDeque::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_again(replay: &mut Replay) -> Vec<u8> {
        let mut all = Vec::new();
        while replay.is_behind() {
            let mut space = [0; 3];
            let count = replay.send(&mut space);
            assert!(count > 0);
            all.extend_from_slice(&space[..count]);
        }
        all
    }

    #[test]
    fn what_is_not_acknowledged_is_sent_again() {
        let mut replay = Replay::default();
        replay.push(b"0123456789");
        replay.acknowledge(4);
        assert_eq!(replay.state(), KeptOutput { acked: 4, sent: 10 });
        assert!(!replay.is_behind());
        assert!(replay.rewind(4));
        assert_eq!(sent_again(&mut replay), b"456789");
        replay.push(b"ab");
        assert!(replay.rewind(9));
        assert_eq!(sent_again(&mut replay), b"9ab");
        assert_eq!(replay.state(), KeptOutput { acked: 9, sent: 12 });
    }

    #[test]
    fn only_what_is_held_can_be_had_again() {
        let mut replay = Replay::default();
        replay.push(b"0123456789");
        replay.acknowledge(4);
        assert!(!replay.rewind(3));
        assert!(!replay.rewind(11));
        assert!(replay.rewind(10));
        assert!(!replay.is_behind());
    }

    #[test]
    fn a_host_cannot_acknowledge_what_it_was_not_sent() {
        let mut replay = Replay::default();
        replay.push(b"0123456789");
        assert!(replay.rewind(0));
        replay.acknowledge(10);
        assert_eq!(replay.state(), KeptOutput { acked: 0, sent: 10 });
        assert_eq!(replay.send(&mut [0; 3]), 3);
        replay.acknowledge(10);
        assert_eq!(replay.state(), KeptOutput { acked: 3, sent: 10 });
        assert_eq!(sent_again(&mut replay), b"3456789");
    }

    #[test]
    fn bytes_are_in_order_when_the_buffer_has_wrapped() {
        let mut replay = Replay::default();
        let mut expected = Vec::new();
        for round in 0..200u32 {
            let piece: Vec<u8> = (0..round % 17).map(|at| (round + at) as u8).collect();
            replay.push(&piece);
            expected.extend_from_slice(&piece);
            replay.acknowledge(7);
        }
        let state = replay.state();
        assert!(replay.rewind(state.acked));
        assert_eq!(sent_again(&mut replay), &expected[state.acked as usize..]);
    }
}
