//! Frames appended to a byte vector.

use serde::Serialize;

use crate::{FrameType, HEADER_LEN, Header};

pub fn encode_frame(out: &mut Vec<u8>, frame_type: FrameType, channel: u32, stream: u8, payload: &[u8]) {
    let header = Header { length: payload.len(), channel, frame_type, stream };
    out.reserve(HEADER_LEN + payload.len());
    out.extend_from_slice(&header.encode());
    out.extend_from_slice(payload);
}

pub fn encode_credit(out: &mut Vec<u8>, channel: u32, stream: u8, bytes: u32) {
    encode_frame(out, FrameType::Credit, channel, stream, &bytes.to_le_bytes());
}

/// Appends a JSON frame; on an error `out` is as before.
pub fn encode_json<T: Serialize>(
    out: &mut Vec<u8>,
    frame_type: FrameType,
    channel: u32,
    value: &T,
) -> Result<(), serde_json::Error> {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_LEN]);
    if let Err(error) = serde_json::to_writer(&mut *out, value) {
        out.truncate(start);
        return Err(error);
    }
    let header = Header { length: out.len() - start - HEADER_LEN, channel, frame_type, stream: 0 };
    out[start..start + HEADER_LEN].copy_from_slice(&header.encode());
    Ok(())
}
