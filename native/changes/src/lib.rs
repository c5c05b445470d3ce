//! Changes of a kept sandbox to its copy of a project. Finds them by comparing its writable overlayfs layer with the
//! host's directory, lists them or writes a patch, and applies them on the user's order. It never changes the layer,
//! and changes the project in `apply` only.

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
