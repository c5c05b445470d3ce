//! Firecracker's driver against a strict double of Firecracker (test/support/firecracker), to the guest's first words.
//! What no double can show is that a machine boots.

mod bench;
mod deaths;
mod order;
mod refusals;
mod saved;
mod strictness;
