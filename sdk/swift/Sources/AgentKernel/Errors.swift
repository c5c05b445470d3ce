import Foundation

/// Every way in which a call can fail. Cancellation is Swift's own `CancellationError`.
public enum AgentKernelError: Error, Sendable {
    /// The server said no, and why.
    case api(ApiError)
    /// The server was not reached, or the connection broke. `unsent`: nothing of the request can have reached it.
    case transport(String, unsent: Bool)
    /// The answer did not come in time. A command has a limit of its own, `timeoutMs`, whose end is a result.
    case timeout
    /// Something answered that is not agentkernel, or of another version.
    case badAnswer(String)
    /// What was asked for cannot be sent.
    case request(String)

    /// Of what the server refused.
    public var code: ErrorCode? {
        if case .api(let error) = self { return error.code }
        return nil
    }
}

public struct ApiError: Error, Sendable, Decodable {
    /// As the server wrote it; a newer one may know more codes than this version.
    public let rawCode: String
    public let message: String
    /// What to do next.
    public let hint: String?
    /// Of HTTP; nil where the error came within a stream or a batch.
    public internal(set) var status: Int?
    /// How long the server wants to be left alone.
    public internal(set) var retryAfterMs: Double?

    public var code: ErrorCode? { ErrorCode(rawValue: rawCode) }
    public var isRetryable: Bool { code?.isRetryable ?? false }

    enum CodingKeys: String, CodingKey {
        case rawCode = "code"
        case message
        case hint
    }
}
