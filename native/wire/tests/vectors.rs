//! The codec against `spec/vectors/frames.json`, which the TypeScript codec shares.

use ak_wire::{Decoder, Direction, encode_frame};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Vectors {
    version: u32,
    frames: Vec<Accepted>,
    refused: Vec<Refused>,
}

#[derive(Deserialize)]
struct Accepted {
    name: String,
    hex: String,
    direction: String,
    frame: Expected,
}

#[derive(Deserialize)]
struct Expected {
    #[serde(rename = "type")]
    frame_type: u8,
    channel: u32,
    stream: u8,
    payload_hex: Option<String>,
    json: Option<Value>,
}

#[derive(Deserialize)]
struct Refused {
    name: String,
    hex: String,
    direction: String,
    reason: String,
}

fn vectors() -> Vectors {
    let text = include_str!("../../../spec/vectors/frames.json");
    let vectors: Vectors = serde_json::from_str(text).expect("the vector file parses");
    assert_eq!(vectors.version, 1);
    vectors
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
}

fn direction(name: &str) -> Direction {
    match name {
        "guest-to-host" => Direction::GuestToHost,
        "host-to-guest" => Direction::HostToGuest,
        other => panic!("unknown direction {other}"),
    }
}

#[test]
fn every_accepted_vector_decodes_to_its_frame() {
    for vector in vectors().frames {
        let mut decoder = Decoder::new(direction(&vector.direction));
        decoder.push(&bytes(&vector.hex));
        let frame = decoder.next_frame().expect(&vector.name).expect(&vector.name);
        let name = &vector.name;
        assert_eq!(frame.frame_type as u8, vector.frame.frame_type, "{name}");
        assert_eq!(frame.channel, vector.frame.channel, "{name}");
        assert_eq!(frame.stream, vector.frame.stream, "{name}");
        match (&vector.frame.payload_hex, &vector.frame.json) {
            (Some(hex), None) => assert_eq!(frame.payload, bytes(hex), "{name}"),
            (None, Some(json)) => {
                let decoded: Value = serde_json::from_slice(frame.payload).expect(name);
                assert_eq!(&decoded, json, "{name}");
            }
            _ => panic!("{name}: exactly one of payload_hex and json"),
        }
        let mut encoded = Vec::new();
        encode_frame(&mut encoded, frame.frame_type, frame.channel, frame.stream, frame.payload);
        assert_eq!(encoded, bytes(&vector.hex), "{name}");
        assert_eq!(decoder.pending(), 0, "{name}");
    }
}

#[test]
fn every_refused_vector_is_refused_for_its_reason_and_for_good() {
    for vector in vectors().refused {
        let mut decoder = Decoder::new(direction(&vector.direction));
        decoder.push(&bytes(&vector.hex));
        let name = &vector.name;
        let violation = decoder.next_frame().expect_err(name);
        assert_eq!(violation.slug(), vector.reason, "{name}");
        decoder.push(&bytes("00000000000000000c000000"));
        assert_eq!(decoder.next_frame(), Err(violation), "{name}");
    }
}

#[test]
fn every_frame_type_has_a_vector() {
    let all = vectors().frames;
    for wanted in 1..=14 {
        assert!(all.iter().any(|vector| vector.frame.frame_type == wanted), "type {wanted}");
    }
}
