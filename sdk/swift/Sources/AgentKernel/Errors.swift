import Foundation

/// Every way in which a call can fail. Cancellation is Swift's own `CancellationError`.
///
/// ```swift
/// do {
///     _ = try await client.sandboxes.get("nothing")
/// } catch let error as AgentKernelError where error.code == .notFound {
///     print(error.localizedDescription)
/// }
/// ```
public enum AgentKernelError: Error, Sendable {
    /// The server said no, and why.
    case api(ApiError)
    /// The server was not reached, or the connection broke. `unsent`: nothing of the request can have reached it.
    case transport(String, unsent: Bool)
    /// The answer did not come in time. A command has a limit of its own, `timeout`, whose end is a result.
    case timeout
    /// Something answered that is not agentkernel, or of another version.
    case badAnswer(String)
    /// What was asked for cannot be sent.
    case request(String)

    /// The code with which the server refused; nil for other failures, and for a code that this version does not know.
    public var code: ErrorCode? {
        if case .api(let error) = self { return error.code }
        return nil
    }
}

extension AgentKernelError: LocalizedError {
    /// What failed, and why.
    public var errorDescription: String? {
        switch self {
        case .api(let error): return error.errorDescription
        case .transport(let message, _): return message
        case .timeout: return "the server did not answer in time"
        case .badAnswer(let message): return message
        case .request(let message): return message
        }
    }

    /// What to do next: the server's hint, where it gave one.
    public var recoverySuggestion: String? {
        switch self {
        case .api(let error): return error.hint
        case .transport(_, let unsent):
            return unsent ? "start a server with `agentkernel daemon start`, or name one with AGENTKERNEL_BASE_URL" : nil
        case .timeout: return "give `requestTimeout` more time"
        case .badAnswer: return "check that AGENTKERNEL_BASE_URL names a server of agentkernel"
        case .request: return nil
        }
    }
}

/// A refusal of the server's.
public struct ApiError: Error, Sendable, Decodable {
    /// As the server wrote it; a newer one may know more codes than this version.
    public let rawCode: String
    /// What failed, and why.
    public let message: String
    /// What to do next.
    public let hint: String?
    /// Of HTTP; nil where the error came within a stream or a batch.
    public internal(set) var status: Int?
    /// How long the server wants to be left alone.
    public internal(set) var retryAfter: Duration?

    /// The code, where this version knows it.
    public var code: ErrorCode? { ErrorCode(rawValue: rawCode) }
    /// Whether the same call may work later.
    public var isRetryable: Bool { code?.isRetryable ?? false }

    enum CodingKeys: String, CodingKey {
        case rawCode = "code"
        case message
        case hint
    }
}

extension ApiError: LocalizedError {
    /// What failed, and why.
    public var errorDescription: String? { message }
    /// The server's hint.
    public var recoverySuggestion: String? { hint }
}
