//! What our short-lived programs need of the C library and the kernel: arguments without Rust's runtime (`args`), a
//! heap (`heap`), and giving memory back while idle (`idle`).

pub mod args;
pub mod heap;
pub mod idle;
