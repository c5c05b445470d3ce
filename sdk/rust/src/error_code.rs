//! Written by `npm run sdk:sources` from spec/errors.json and spec/openapi.json; changes belong there.

/// Every code that an error of the server can have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorCode {
    /// A flag, field or value is not one we accept.
    InvalidArgument,
    /// A policy or configuration file does not parse or asks for something impossible.
    InvalidPolicy,
    /// The named thing does not exist.
    NotFound,
    /// The thing exists already, or is in a state that does not allow this.
    Conflict,
    /// The policy forbids this.
    PolicyDenied,
    /// The image is not in the store and cannot be had.
    ImageUnavailable,
    /// The registry has no such image, tag or platform.
    ImageNotFound,
    /// The image is malformed, too large or of a kind that is not supported.
    ImageInvalid,
    /// Downloaded content is not what its digest says.
    DigestMismatch,
    /// The registry wants a login, or refused the one it was given.
    RegistryUnauthorized,
    /// The registry cannot be reached, or the connection to it broke.
    RegistryUnreachable,
    /// The registry's certificate is not valid, or it asked for something unsafe.
    RegistryUntrusted,
    /// The registry failed, or gave an answer that makes no sense.
    RegistryError,
    /// The registry allows no more downloads for now.
    RateLimited,
    /// The backend cannot run sandboxes on this machine as it is.
    BackendUnavailable,
    /// An isolation layer that the policy requires could not be applied.
    LayerUnavailable,
    /// The sandbox could not be started.
    SandboxStartFailed,
    /// The sandbox ended before its command did.
    SandboxDied,
    /// The guest broke the protocol; its sandbox was ended.
    GuestProtocol,
    /// The command is not in the sandbox.
    CommandNotFound,
    /// The command was found but cannot be executed.
    CommandNotExecutable,
    /// The working directory does not exist in the sandbox.
    BadWorkdir,
    /// The user is not known or not allowed in the sandbox.
    BadUser,
    /// A limit of the sandbox or of the host was reached.
    ResourceExhausted,
    /// A file operation inside the sandbox failed.
    FileError,
    /// An MCP server cannot be reached, failed, or did not answer in time.
    ToolFailed,
    /// The audit log is required and could not be written.
    AuditUnwritable,
    /// This backend or version does not do that.
    Unsupported,
    /// No key or token came with the request, or not a valid one.
    Unauthorized,
    /// Whoever asks may not do this.
    Forbidden,
    /// There is something at this path, but not for this method.
    MethodNotAllowed,
    /// The request's body is larger than is accepted.
    PayloadTooLarge,
    /// The request's body is of a kind that is not accepted here.
    UnsupportedMediaType,
    /// A limit on requests was reached; the answer says when to try again.
    TooManyRequests,
    /// The server is about to end and takes no new work.
    Stopping,
    /// A fault of agentkernel's own.
    Internal,
    /// One that this version does not know.
    Other(String),
}

impl ErrorCode {
    pub fn as_str(&self) -> &str {
        match self {
            Self::InvalidArgument => "invalid_argument",
            Self::InvalidPolicy => "invalid_policy",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::PolicyDenied => "policy_denied",
            Self::ImageUnavailable => "image_unavailable",
            Self::ImageNotFound => "image_not_found",
            Self::ImageInvalid => "image_invalid",
            Self::DigestMismatch => "digest_mismatch",
            Self::RegistryUnauthorized => "registry_unauthorized",
            Self::RegistryUnreachable => "registry_unreachable",
            Self::RegistryUntrusted => "registry_untrusted",
            Self::RegistryError => "registry_error",
            Self::RateLimited => "rate_limited",
            Self::BackendUnavailable => "backend_unavailable",
            Self::LayerUnavailable => "layer_unavailable",
            Self::SandboxStartFailed => "sandbox_start_failed",
            Self::SandboxDied => "sandbox_died",
            Self::GuestProtocol => "guest_protocol",
            Self::CommandNotFound => "command_not_found",
            Self::CommandNotExecutable => "command_not_executable",
            Self::BadWorkdir => "bad_workdir",
            Self::BadUser => "bad_user",
            Self::ResourceExhausted => "resource_exhausted",
            Self::FileError => "file_error",
            Self::ToolFailed => "tool_failed",
            Self::AuditUnwritable => "audit_unwritable",
            Self::Unsupported => "unsupported",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::PayloadTooLarge => "payload_too_large",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::TooManyRequests => "too_many_requests",
            Self::Stopping => "stopping",
            Self::Internal => "internal",
            Self::Other(code) => code,
        }
    }

    /// Whether the same call may work later.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::RegistryUnreachable
                | Self::RegistryError
                | Self::RateLimited
                | Self::SandboxStartFailed
                | Self::SandboxDied
                | Self::ResourceExhausted
                | Self::ToolFailed
                | Self::AuditUnwritable
                | Self::TooManyRequests
                | Self::Stopping
        )
    }
}

impl From<&str> for ErrorCode {
    fn from(code: &str) -> Self {
        match code {
            "invalid_argument" => Self::InvalidArgument,
            "invalid_policy" => Self::InvalidPolicy,
            "not_found" => Self::NotFound,
            "conflict" => Self::Conflict,
            "policy_denied" => Self::PolicyDenied,
            "image_unavailable" => Self::ImageUnavailable,
            "image_not_found" => Self::ImageNotFound,
            "image_invalid" => Self::ImageInvalid,
            "digest_mismatch" => Self::DigestMismatch,
            "registry_unauthorized" => Self::RegistryUnauthorized,
            "registry_unreachable" => Self::RegistryUnreachable,
            "registry_untrusted" => Self::RegistryUntrusted,
            "registry_error" => Self::RegistryError,
            "rate_limited" => Self::RateLimited,
            "backend_unavailable" => Self::BackendUnavailable,
            "layer_unavailable" => Self::LayerUnavailable,
            "sandbox_start_failed" => Self::SandboxStartFailed,
            "sandbox_died" => Self::SandboxDied,
            "guest_protocol" => Self::GuestProtocol,
            "command_not_found" => Self::CommandNotFound,
            "command_not_executable" => Self::CommandNotExecutable,
            "bad_workdir" => Self::BadWorkdir,
            "bad_user" => Self::BadUser,
            "resource_exhausted" => Self::ResourceExhausted,
            "file_error" => Self::FileError,
            "tool_failed" => Self::ToolFailed,
            "audit_unwritable" => Self::AuditUnwritable,
            "unsupported" => Self::Unsupported,
            "unauthorized" => Self::Unauthorized,
            "forbidden" => Self::Forbidden,
            "method_not_allowed" => Self::MethodNotAllowed,
            "payload_too_large" => Self::PayloadTooLarge,
            "unsupported_media_type" => Self::UnsupportedMediaType,
            "too_many_requests" => Self::TooManyRequests,
            "stopping" => Self::Stopping,
            "internal" => Self::Internal,
            other => Self::Other(other.to_owned()),
        }
    }
}
