//! The 12-byte header: its layout, and every rule that can be judged from it alone.

use crate::Violation;

pub const HEADER_LEN: usize = 12;
pub const MAX_DATA: usize = 262_144;
pub const MAX_PING: usize = 64;
const MAX_JSON_FROM_HOST: usize = 4_194_304;
const MAX_JSON_FROM_GUEST: usize = 65_536;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    GuestToHost,
    HostToGuest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameType {
    Hello = 1,
    Open = 2,
    Opened = 3,
    Failed = 4,
    Data = 5,
    Eof = 6,
    Credit = 7,
    Signal = 8,
    Resize = 9,
    Exit = 10,
    Close = 11,
    Ping = 12,
    Pong = 13,
    Shutdown = 14,
}

impl FrameType {
    pub fn from_u8(value: u8) -> Option<Self> {
        Some(match value {
            1 => Self::Hello,
            2 => Self::Open,
            3 => Self::Opened,
            4 => Self::Failed,
            5 => Self::Data,
            6 => Self::Eof,
            7 => Self::Credit,
            8 => Self::Signal,
            9 => Self::Resize,
            10 => Self::Exit,
            11 => Self::Close,
            12 => Self::Ping,
            13 => Self::Pong,
            14 => Self::Shutdown,
            _ => return None,
        })
    }

    pub fn is_json(self) -> bool {
        !matches!(self, Self::Data | Self::Eof | Self::Credit | Self::Ping | Self::Pong)
    }

    fn is_of_connection(self) -> bool {
        matches!(self, Self::Hello | Self::Ping | Self::Pong | Self::Shutdown)
    }

    fn has_stream(self) -> bool {
        matches!(self, Self::Data | Self::Eof | Self::Credit)
    }

    fn may_go(self, direction: Direction) -> bool {
        match self {
            Self::Signal | Self::Resize | Self::Shutdown => direction == Direction::HostToGuest,
            Self::Exit => direction == Direction::GuestToHost,
            _ => true,
        }
    }

    fn check_length(self, length: usize, direction: Direction) -> Result<(), Violation> {
        let within = |limit: usize| {
            if length > limit { Err(Violation::Oversize) } else { Ok(()) }
        };
        let exactly = |wanted: usize| {
            if length == wanted { Ok(()) } else { Err(Violation::BadLength) }
        };
        match self {
            Self::Data if length == 0 => Err(Violation::BadLength),
            Self::Data => within(MAX_DATA),
            Self::Eof => exactly(0),
            Self::Credit => exactly(4),
            Self::Ping | Self::Pong => within(MAX_PING),
            _ => within(match direction {
                Direction::HostToGuest => MAX_JSON_FROM_HOST,
                Direction::GuestToHost => MAX_JSON_FROM_GUEST,
            }),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub length: usize,
    pub channel: u32,
    pub frame_type: FrameType,
    pub stream: u8,
}

impl Header {
    pub fn encode(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        // Lengths above the limits never reach the wire, so the cast cannot cut.
        bytes[0..4].copy_from_slice(&(self.length as u32).to_le_bytes());
        bytes[4..8].copy_from_slice(&self.channel.to_le_bytes());
        bytes[8] = self.frame_type as u8;
        bytes[9] = self.stream;
        bytes
    }

    /// Checks in a fixed order (type, reserved, direction, channel, stream,
    /// length), so that both codecs name the same reason.
    pub fn decode(bytes: &[u8; HEADER_LEN], direction: Direction) -> Result<Self, Violation> {
        let [l0, l1, l2, l3, c0, c1, c2, c3, kind, stream, r0, r1] = *bytes;
        let frame_type = FrameType::from_u8(kind).ok_or(Violation::UnknownType)?;
        if r0 != 0 || r1 != 0 {
            return Err(Violation::Reserved);
        }
        if !frame_type.may_go(direction) {
            return Err(Violation::BadDirection);
        }
        let channel = u32::from_le_bytes([c0, c1, c2, c3]);
        if frame_type.is_of_connection() != (channel == 0) {
            return Err(Violation::BadChannel);
        }
        if stream > if frame_type.has_stream() { 2 } else { 0 } {
            return Err(Violation::BadStream);
        }
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        frame_type.check_length(length, direction)?;
        Ok(Self { length, channel, frame_type, stream })
    }
}
