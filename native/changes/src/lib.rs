//! What a kept sandbox changed in its copy of a project: found by comparing its writable layer with the host's folder,
//! told as a list or a patch, applied on the user's order. It never changes the layer, and changes the project only in
//! `apply`.

mod apply;
mod carry;
mod change;
mod compare;
mod contents;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzed;
mod list;
mod moved;
mod order;
mod origin;
mod patch;
mod receive;
mod record;
mod renames;
mod rules;

pub use apply::apply;
pub use carry::{begin, carry, forget};
pub use list::list;
pub use order::Order;
pub use patch::patch;
pub use receive::receive;
