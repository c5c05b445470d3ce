// Written by `npm run sdk:sources` from spec/errors.json and spec/openapi.json; changes belong there.

/// Every code that an error of the server can have. A code that this version does not know has no case here; the
/// error's `rawCode` has it.
public enum ErrorCode: String, Sendable, CaseIterable {
    /// A flag, field or value is not one we accept.
    case invalidArgument = "invalid_argument"
    /// A policy or configuration file does not parse or asks for something impossible.
    case invalidPolicy = "invalid_policy"
    /// The named thing does not exist.
    case notFound = "not_found"
    /// The thing exists already, or is in a state that does not allow this.
    case conflict = "conflict"
    /// The policy forbids this.
    case policyDenied = "policy_denied"
    /// The image is not in the store and cannot be had.
    case imageUnavailable = "image_unavailable"
    /// The registry has no such image, tag or platform.
    case imageNotFound = "image_not_found"
    /// The image is malformed, too large or of a kind that is not supported.
    case imageInvalid = "image_invalid"
    /// Downloaded content is not what its digest says.
    case digestMismatch = "digest_mismatch"
    /// The registry wants a login, or refused the one it was given.
    case registryUnauthorized = "registry_unauthorized"
    /// The registry cannot be reached, or the connection to it broke.
    case registryUnreachable = "registry_unreachable"
    /// The registry's certificate is not valid, or it asked for something unsafe.
    case registryUntrusted = "registry_untrusted"
    /// The registry failed, or gave an answer that makes no sense.
    case registryError = "registry_error"
    /// The registry allows no more downloads for now.
    case rateLimited = "rate_limited"
    /// The backend cannot run sandboxes on this machine as it is.
    case backendUnavailable = "backend_unavailable"
    /// An isolation layer that the policy requires could not be applied.
    case layerUnavailable = "layer_unavailable"
    /// The sandbox could not be started.
    case sandboxStartFailed = "sandbox_start_failed"
    /// The sandbox ended before its command did.
    case sandboxDied = "sandbox_died"
    /// The guest broke the protocol; its sandbox was ended.
    case guestProtocol = "guest_protocol"
    /// The command is not in the sandbox.
    case commandNotFound = "command_not_found"
    /// The command was found but cannot be executed.
    case commandNotExecutable = "command_not_executable"
    /// The working directory does not exist in the sandbox.
    case badWorkdir = "bad_workdir"
    /// The user is not known or not allowed in the sandbox.
    case badUser = "bad_user"
    /// A limit of the sandbox or of the host was reached.
    case resourceExhausted = "resource_exhausted"
    /// A file operation inside the sandbox failed.
    case fileError = "file_error"
    /// An MCP server cannot be reached, failed, or did not answer in time.
    case toolFailed = "tool_failed"
    /// The audit log is required and could not be written.
    case auditUnwritable = "audit_unwritable"
    /// This backend or version does not do that.
    case unsupported = "unsupported"
    /// No key or token came with the request, or not a valid one.
    case unauthorized = "unauthorized"
    /// Whoever asks may not do this.
    case forbidden = "forbidden"
    /// There is something at this path, but not for this method.
    case methodNotAllowed = "method_not_allowed"
    /// The request's body is larger than is accepted.
    case payloadTooLarge = "payload_too_large"
    /// The request's body is of a kind that is not accepted here.
    case unsupportedMediaType = "unsupported_media_type"
    /// A limit on requests was reached; the answer says when to try again.
    case tooManyRequests = "too_many_requests"
    /// The server is about to end and takes no new work.
    case stopping = "stopping"
    /// A fault of agentkernel's own.
    case `internal` = "internal"

    /// Whether the same call may work later.
    public var isRetryable: Bool {
        switch self {
        case .registryUnreachable,
            .registryError,
            .rateLimited,
            .sandboxStartFailed,
            .sandboxDied,
            .resourceExhausted,
            .toolFailed,
            .auditUnwritable,
            .tooManyRequests,
            .stopping:
            return true
        default:
            return false
        }
    }
}
