//! How host and guest reach each other and what they say: the frame codec of the guest protocol
//! (`spec/guest-protocol.md`), and the socket that delivers host connections to a sandbox (`host_socket`).
//!
//! The codec owns the byte layout, the limits and the shape of every payload. It does no I/O and keeps no channel state:
//! its users judge whether a frame is legal at its place in a conversation.

mod decoder;
mod encode;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzed;
mod header;
pub mod host_socket;
pub mod payload;
mod violation;

pub use decoder::{Decoder, Frame};
pub use encode::{encode_credit, encode_frame, encode_json};
pub use header::{Direction, FrameType, HEADER_LEN, Header, MAX_DATA, MAX_PING};
pub use violation::Violation;

/// The version of the protocol that this codec speaks.
pub const PROTOCOL: u32 = 1;
/// The smallest and the largest window that a HELLO may announce.
pub const WINDOW_RANGE: std::ops::RangeInclusive<u32> = 65_536..=16_777_216;
/// The guest's window that the host assumes until the guest's HELLO arrives.
pub const ASSUMED_WINDOW: u32 = 65_536;
/// The most credit that may be outstanding on one stream.
pub const MAX_CREDIT: u32 = 0x7fff_ffff;
/// Bytes that each side may send on each stream of a channel that the guest opened, before more is granted.
pub const GUEST_CHANNEL_WINDOW: u32 = 65_536;
/// The most channels that the guest may have open at once.
pub const MAX_GUEST_CHANNELS: usize = 4096;
/// The most channels that the host may have open at once.
pub const MAX_HOST_CHANNELS: usize = 256;
/// The most execs that a kept guest keeps beyond a connection; their list fits into one HELLO.
pub const MAX_KEPT_EXECS: usize = 128;
/// The longest name of a kept exec.
pub const MAX_KEY_LEN: usize = 64;
