//! Sets up network namespaces: netlink messages (`netlink`), and the capture of all traffic in a namespace (`capture`).
//!
//! It only changes the network namespace of the calling process, and starts no program for that.

pub mod capture;
pub mod netlink;
