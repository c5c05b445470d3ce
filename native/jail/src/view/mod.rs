//! Folders of the host inside the sandbox: which of their files are hidden or protected (found by the supervisor,
//! on the host's side), and how they are put in place (by the child, inside the new namespaces).

mod candidates;
mod content;
pub mod contents;
pub mod entries;
pub mod guard;
mod hard_links;
pub mod hold;
mod link_target;
mod listing_bytes;
pub mod mask;
pub mod matcher;
pub mod memory;
pub mod overlay;
pub mod placeholder;
pub mod repository;
pub mod rules;
pub mod search;
mod sieve;
pub mod source;
pub mod spelling;
pub mod survey;
pub mod told;
mod unnamed;
pub mod walk;
