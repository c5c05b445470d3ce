//! A directory of the host's in a sandbox that has a kernel of its own, without copying it: the guest asks for what is
//! touched, over a stream, and keeps it.
//!
//! Each directory is what it was when it was first asked for, and each file what it was when its directory was. A file
//! that has changed since is not mixed with what it was: the first read of it fails with ESTALE, and those after it are
//! of the new file.

pub mod fuse;
pub mod host;
pub mod message;
pub mod shown;
