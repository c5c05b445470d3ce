//! Files and directories as one stream of bytes (spec/guest-protocol.md, *Tree streams*), read from a filesystem and written
//! to one. Both ends are used on both sides of the wall: the guest sends what the host writes, and the other way round.
//!
//! The writer trusts nothing that it is sent. It writes below one directory and nowhere else, whatever names and links
//! come, opens every directory without following a link, never sets a set-id bit, and holds what it writes to a limit.
//! Neither end waits for a pipe, a device or a socket.

mod failure;
mod format;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzed;
mod links;
mod listing;
mod place;
mod reader;
mod report;
mod writer;

pub use failure::Failure;
pub use links::Links;
pub use listing::Listing;
pub use place::Destination;
pub use reader::{Judge, LeaveOut, Reader};
pub use report::{Note, Report};
pub use writer::{Limits, Writer};

/// Directories in directories. Each takes a descriptor while it is worked on. Deeper than anything that is carried over, so that
/// what is refused there is known there.
pub const DEEPEST: usize = 256;
