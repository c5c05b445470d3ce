//! Every way in which a call can fail.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error_code::ErrorCode;

#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The server said no, and why.
    Api(Box<ApiError>),
    /// The server was not reached, or the connection broke. `unsent`: nothing of the request can have reached it.
    Transport { message: String, unsent: bool },
    /// The answer did not come in time. A command has a limit of its own, `timeout_ms`, whose end is a result.
    Timeout(Duration),
    /// Something answered that is not agentkernel, or of another version.
    BadAnswer(String),
    /// What was asked for cannot be sent.
    Request(String),
}

#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApiError {
    pub code: ErrorCode,
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    pub details: Map<String, Value>,
    /// Of HTTP; none where the error came within a stream or a batch.
    pub status: Option<u16>,
    /// How long the server wants to be left alone.
    pub retry_after: Option<Duration>,
}

impl Error {
    /// Of what the server refused.
    pub fn code(&self) -> Option<&ErrorCode> {
        match self {
            Self::Api(error) => Some(&error.code),
            _ => None,
        }
    }

    pub(crate) fn broken(cause: &impl fmt::Display) -> Self {
        Self::Transport {
            message: format!("the connection broke: {cause}"),
            unsent: false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Api(error) => write!(f, "{} ({})", error.message, error.code.as_str()),
            Self::Timeout(after) => write!(f, "no answer within {after:?}"),
            Self::Transport { message, .. } | Self::BadAnswer(message) | Self::Request(message) => {
                f.write_str(message)
            }
        }
    }
}

impl std::error::Error for Error {}

/// As the API writes it.
#[derive(Deserialize)]
pub(crate) struct WireError {
    code: String,
    message: String,
    hint: Option<String>,
    #[serde(default)]
    details: Map<String, Value>,
}

impl WireError {
    pub fn into_error(self, status: Option<u16>, retry_after: Option<Duration>) -> ApiError {
        ApiError {
            code: ErrorCode::from(self.code.as_str()),
            message: self.message,
            hint: self.hint,
            details: self.details,
            status,
            retry_after,
        }
    }
}
