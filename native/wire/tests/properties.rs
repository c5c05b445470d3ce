//! Properties of every input, beyond the vectors.

use ak_wire::{Decoder, Direction, FrameType, HEADER_LEN, encode_frame};
use proptest::prelude::*;

type Owned = (u8, u32, u8, Vec<u8>);

fn any_host_frame() -> impl Strategy<Value = Owned> {
    let channel = 1..=u32::MAX;
    let bytes = |max: usize| prop::collection::vec(any::<u8>(), 1..max);
    let json = "[a-zä☃]{0,40}".prop_map(|text| format!("{{\"kind\":\"{text}\",\"x\":[1]}}").into_bytes());
    prop_oneof![
        (channel.clone(), 0..3u8, bytes(5000)).prop_map(|(c, s, p)| (5, c, s, p)),
        (channel.clone(), 0..3u8).prop_map(|(c, s)| (6, c, s, Vec::new())),
        (channel.clone(), 0..3u8, 1..0x8000_0000u32).prop_map(|(c, s, n)| (7, c, s, n.to_le_bytes().to_vec())),
        (prop::sample::select(vec![2u8, 3, 4, 8, 9, 11]), channel, json.clone()).prop_map(|(t, c, p)| (t, c, 0, p)),
        (prop::sample::select(vec![1u8, 14]), json).prop_map(|(t, p)| (t, 0, 0, p)),
        (12..14u8, bytes(65)).prop_map(|(t, p)| (t, 0, 0, p)),
    ]
}

fn drain(decoder: &mut Decoder, into: &mut Vec<Owned>) {
    while let Some(frame) = decoder.next_frame().expect("valid frames stay valid") {
        into.push((frame.frame_type as u8, frame.channel, frame.stream, frame.payload.to_vec()));
    }
}

proptest! {
    #[test]
    fn any_chunking_yields_the_same_frames(
        frames in prop::collection::vec(any_host_frame(), 0..12),
        chunks in prop::collection::vec(1usize..700, 1..40),
    ) {
        let mut wire = Vec::new();
        for (kind, channel, stream, payload) in &frames {
            let kind = FrameType::from_u8(*kind).expect("a known type");
            encode_frame(&mut wire, kind, *channel, *stream, payload);
        }
        let mut decoder = Decoder::new(Direction::HostToGuest);
        let mut decoded = Vec::new();
        let mut rest = wire.as_slice();
        for size in chunks.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, tail) = rest.split_at((*size).min(rest.len()));
            decoder.push(chunk);
            drain(&mut decoder, &mut decoded);
            rest = tail;
        }
        prop_assert_eq!(decoded, frames);
        prop_assert_eq!(decoder.pending(), 0);
    }

    #[test]
    fn random_bytes_never_panic_and_never_yield_a_frame_over_its_limit(
        bytes in prop::collection::vec(any::<u8>(), 0..4000),
        guest in any::<bool>(),
    ) {
        let direction = if guest { Direction::GuestToHost } else { Direction::HostToGuest };
        let mut decoder = Decoder::new(direction);
        decoder.push(&bytes);
        while let Ok(Some(frame)) = decoder.next_frame() {
            prop_assert!(frame.payload.len() <= 4_194_304);
        }
    }

    #[test]
    fn a_damaged_header_is_refused_or_waits_but_never_panics(
        frame in any_host_frame(),
        at in 0..HEADER_LEN,
        value in any::<u8>(),
    ) {
        let (kind, channel, stream, payload) = frame;
        let mut wire = Vec::new();
        let kind = FrameType::from_u8(kind).expect("a known type");
        encode_frame(&mut wire, kind, channel, stream, &payload);
        wire[at] = value;
        let mut decoder = Decoder::new(Direction::HostToGuest);
        for byte in wire {
            decoder.push(&[byte]);
            if decoder.next_frame().is_err() {
                break;
            }
        }
    }
}

#[test]
fn an_oversized_header_is_refused_before_any_payload_byte() {
    let mut decoder = Decoder::new(Direction::GuestToHost);
    decoder.push(&[0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 5, 1, 0]);
    assert_eq!(decoder.next_frame(), Ok(None));
    decoder.push(&[0]);
    assert!(decoder.next_frame().is_err());
}
