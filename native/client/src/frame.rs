//! The frames of the client protocol (`spec/client-protocol.md`): eight bytes of header, then the payload.

pub const HEADER_LEN: usize = 8;
/// The most that one frame may carry.
pub const MAX_PAYLOAD: usize = 4 << 20;

pub const START: u8 = 1;
pub const DATA: u8 = 2;
pub const EOF: u8 = 3;
pub const CREDIT: u8 = 4;
pub const CLOSED: u8 = 5;
pub const SIGNAL: u8 = 6;
pub const WINDOW: u8 = 7;
pub const RAW: u8 = 8;
pub const EXIT: u8 = 9;
pub const WILL: u8 = 10;

pub fn encode(kind: u8, stream: u8, payload: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    into.extend_from_slice(&[kind, stream, 0, 0]);
    into.extend_from_slice(payload);
}

/// An event of the decoder. Output is passed on in whatever pieces it arrived.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    Output { stream: u8, piece: &'a [u8] },
    Frame { kind: u8, stream: u8, payload: Vec<u8> },
}

/// Bytes in any pieces go in, events come out. Holds no more than one short frame.
#[derive(Default)]
pub struct Decoder {
    header: [u8; HEADER_LEN],
    filled: usize,
    missing: usize,
    payload: Vec<u8>,
}

impl Decoder {
    /// The next event, and how many bytes of the input it used; `None` when more input is needed, after all of it was used.
    pub fn next<'a>(&mut self, input: &'a [u8]) -> Result<(usize, Option<Event<'a>>), &'static str> {
        let mut used = 0;
        if self.filled < HEADER_LEN {
            let taken = input.len().min(HEADER_LEN - self.filled);
            self.header[self.filled..self.filled + taken].copy_from_slice(&input[..taken]);
            self.filled += taken;
            used = taken;
            if self.filled < HEADER_LEN {
                return Ok((used, None));
            }
            self.missing =
                u32::from_le_bytes([self.header[0], self.header[1], self.header[2], self.header[3]]) as usize;
            if self.missing > MAX_PAYLOAD {
                return Err("a frame is too long");
            }
        }
        let [_, _, _, _, kind, stream, _, _] = self.header;
        let piece = &input[used..input.len().min(used + self.missing)];
        used += piece.len();
        self.missing -= piece.len();
        if kind == DATA {
            if self.missing == 0 {
                self.filled = 0;
            }
            let event = if piece.is_empty() { None } else { Some(Event::Output { stream, piece }) };
            return Ok((used, event));
        }
        self.payload.extend_from_slice(piece);
        if self.missing > 0 {
            return Ok((used, None));
        }
        self.filled = 0;
        Ok((used, Some(Event::Frame { kind, stream, payload: std::mem::take(&mut self.payload) })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Decoded = (Vec<u8>, Vec<(u8, u8, Vec<u8>)>);

    /// All output of a stream, and the other frames, however the input is cut.
    fn decode(bytes: &[u8], step: usize) -> Decoded {
        let mut decoder = Decoder::default();
        let (mut output, mut frames) = (Vec::new(), Vec::new());
        for chunk in bytes.chunks(step) {
            let mut at = 0;
            while at < chunk.len() {
                let (used, event) = decoder.next(&chunk[at..]).expect("well-formed");
                at += used;
                match event {
                    Some(Event::Output { piece, .. }) => output.extend_from_slice(piece),
                    Some(Event::Frame { kind, stream, payload }) => frames.push((kind, stream, payload)),
                    None => {}
                }
            }
        }
        (output, frames)
    }

    #[test]
    fn frames_come_out_whole_however_the_bytes_are_cut() {
        let mut bytes = Vec::new();
        encode(DATA, 1, b"hello ", &mut bytes);
        encode(CREDIT, 0, &7u32.to_le_bytes(), &mut bytes);
        encode(CLOSED, 0, b"", &mut bytes);
        encode(DATA, 1, b"world", &mut bytes);
        encode(EXIT, 0, &[3, 0], &mut bytes);
        for step in 1..bytes.len() + 1 {
            let (output, frames) = decode(&bytes, step);
            assert_eq!(output, b"hello world", "in steps of {step}");
            assert_eq!(
                frames,
                [(CREDIT, 0, vec![7, 0, 0, 0]), (CLOSED, 0, vec![]), (EXIT, 0, vec![3, 0])],
                "in steps of {step}"
            );
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_at_its_header() {
        let mut header = [0u8; HEADER_LEN];
        header[..4].copy_from_slice(&(MAX_PAYLOAD as u32 + 1).to_le_bytes());
        assert!(Decoder::default().next(&header).is_err());
    }
}
