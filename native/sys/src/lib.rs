//! The C library and the kernel for our short-lived programs: arguments without Rust's runtime (`args`), a heap
//! (`heap`), and giving memory back while idle (`idle`).

pub mod args;
pub mod heap;
pub mod idle;
