//! The SDK for Rust: the HTTP API of agentkernel as async calls with types. It runs nothing itself, and stands on tokio.
//!
//! ```no_run
//! # async fn first() -> Result<(), agentkernel_sdk::Error> {
//! use agentkernel_sdk::AgentKernel;
//!
//! let result = AgentKernel::builder().build()?.run(&["echo", "hello"], None).await?;
//! assert_eq!(result.stdout, "hello\n");
//! # Ok(())
//! # }
//! ```

mod client;
mod connection;
mod error;
mod error_code;
mod files;
mod input;
mod link;
mod local;
mod network;
mod place;
mod records;
mod retry;
mod sandbox;
mod snapshots;
mod sse;
mod stream;

pub use client::{AgentKernel, BatchCommand, Builder};
pub use error::{ApiError, Error};
pub use error_code::ErrorCode;
pub use files::Files;
pub use input::Input;
pub use network::Network;
pub use records::*;
pub use sandbox::{Sandbox, Sandboxes, Session};
pub use snapshots::Snapshots;
pub use stream::{CommandStream, Event, Exit};

pub type Result<T> = std::result::Result<T, Error>;
