//! Target of `npm run fuzz -- client-frames`: any bytes from a daemon's socket, in any pieces.

use super::frame::{DATA, Decoder, Event, MAX_PAYLOAD, encode};

type Decoded = (Vec<(u8, u8, Vec<u8>)>, bool);

/// The first byte says into which pieces the rest is cut.
pub fn frames(data: &[u8]) {
    let Some((how, bytes)) = data.split_first() else { return };
    let whole = decode(bytes, bytes.len().max(1));
    assert_eq!(decode(bytes, usize::from(*how) + 1), whole, "in pieces");
    let (frames, _) = whole;
    assert!(frames.iter().all(|(.., payload)| payload.len() <= MAX_PAYLOAD));
    let mut written = Vec::new();
    frames.iter().for_each(|(kind, stream, payload)| encode(*kind, *stream, payload, &mut written));
    let mut again = decode(&written, written.len().max(1));
    again.0.truncate(frames.len());
    assert_eq!(again, (frames, true), "frames are not read as they were written");
}

/// Output of one stream in a row as one piece; false where what came can be no frame.
fn decode(bytes: &[u8], step: usize) -> Decoded {
    let mut decoder = Decoder::default();
    let mut frames: Vec<(u8, u8, Vec<u8>)> = Vec::new();
    for mut piece in bytes.chunks(step) {
        while !piece.is_empty() {
            let Ok((used, event)) = decoder.next(piece) else { return (frames, false) };
            assert!(used <= piece.len() && (used > 0 || event.is_some()), "no progress");
            piece = &piece[used..];
            match event {
                Some(Event::Output { stream, piece }) => match frames.last_mut() {
                    Some((DATA, same, output)) if *same == stream => output.extend_from_slice(piece),
                    _ => frames.push((DATA, stream, piece.to_vec())),
                },
                Some(Event::Frame { kind, stream, payload }) => frames.push((kind, stream, payload)),
                None => {}
            }
        }
    }
    (frames, true)
}

#[cfg(test)]
#[test]
fn kept_inputs_pass() {
    ak_corpus::replay("client-frames", frames);
}
