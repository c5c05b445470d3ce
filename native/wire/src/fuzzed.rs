//! Target of `npm run fuzz -- wire-frames`: any bytes, from either side, in any pieces.

use crate::{Decoder, Direction, FrameType, Violation, encode_frame, payload};

type Decoded = (Vec<(FrameType, u32, u8, Vec<u8>)>, Option<Violation>);

/// The first byte says who sends, and into which pieces the rest is cut.
pub fn frames(data: &[u8]) {
    let Some((how, bytes)) = data.split_first() else { return };
    let direction = if how & 1 == 0 { Direction::HostToGuest } else { Direction::GuestToHost };
    let whole = decode(direction, bytes, bytes.len().max(1));
    assert_eq!(decode(direction, bytes, usize::from(how >> 1) + 1), whole, "in pieces");
    let mut again = Vec::new();
    for (kind, channel, stream, payload) in &whole.0 {
        encode_frame(&mut again, *kind, *channel, *stream, payload);
        understand(*kind, payload);
    }
    assert!(bytes.starts_with(&again), "frames are not written as they were read");
}

fn decode(direction: Direction, bytes: &[u8], step: usize) -> Decoded {
    let mut decoder = Decoder::new(direction);
    let mut frames = Vec::new();
    for piece in bytes.chunks(step) {
        decoder.push(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => {
                    frames.push((frame.frame_type, frame.channel, frame.stream, frame.payload.to_vec()));
                }
                Ok(None) => break,
                Err(violation) => return (frames, Some(violation)),
            }
        }
    }
    (frames, None)
}

/// As the ends of a connection do: a payload of another shape is an error and nothing else.
fn understand(kind: FrameType, body: &[u8]) {
    match kind {
        FrameType::Hello => drop(serde_json::from_slice::<payload::Hello>(body)),
        FrameType::Open => {
            drop(serde_json::from_slice::<payload::OpenByGuest>(body));
            drop(serde_json::from_slice::<payload::OpenExec>(body));
            drop(serde_json::from_slice::<payload::OpenTreeWrite>(body));
            drop(serde_json::from_slice::<payload::OpenFileOp>(body));
        }
        FrameType::Exit => drop(serde_json::from_slice::<payload::Exit>(body)),
        FrameType::Signal => drop(serde_json::from_slice::<payload::Signal>(body)),
        FrameType::Failed => drop(serde_json::from_slice::<payload::Failed>(body)),
        _ => {}
    }
}

#[cfg(test)]
#[test]
fn kept_inputs_pass() {
    ak_corpus::replay("wire-frames", frames);
}
