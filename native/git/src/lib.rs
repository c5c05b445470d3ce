//! Reads git repositories that a sandbox may have written: the index, references, commits and trees. No program is
//! started, no configuration is obeyed, no symlink is followed below a repository, and memory is bounded by limits of
//! ours and never by a size that a file states.
//!
//! It answers two questions: how an index has to look so that git does not record a hidden file as deleted
//! (`index`), and whether commits that a sandbox made delete or empty files that were hidden from it (`losses`).

mod commit;
mod delta;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzed;
mod genuine;
mod hidden;
mod history;
mod id;
pub mod index;
mod loose;
mod losses;
mod malformed;
mod pack;
mod read;
mod references;
mod store;
mod tree;

pub use hidden::HiddenPaths;
pub use index::Index;
pub use losses::{Loss, losses, moved_branch, removed_branch};
pub use malformed::Malformed;
pub use references::{GitDirectory, branch_of};
