import Foundation

/// One request as it goes out.
struct Outgoing: Sendable {
    let method: String
    /// Path and query, percent-encoded, below the base URL.
    let target: String
    let headers: [(name: String, value: String)]
    let body: Data?
}

/// The head of an answer, and its body, which is read on demand.
struct Answer: Sendable {
    let status: Int
    /// Names are in lower case.
    let headers: [String: String]
    let body: any AnswerBody
}

/// What comes after the head of an answer. Nothing is read before it is asked for, so a slow reader holds the server back.
/// Hangs up when nothing refers to it any more. One task reads it at a time.
protocol AnswerBody: AnyObject, Sendable {
    /// The next bytes; nil after the last.
    func next(_ limit: Limit) async throws -> [UInt8]?
}

/// Sends requests to one server. Throws `AgentKernelError` and `CancellationError`.
protocol Transport: Sendable {
    func send(_ request: Outgoing, _ limit: Limit) async throws -> Answer
}

extension AnswerBody {
    func whole(_ limit: Limit) async throws -> Data {
        var all = Data()
        while let bytes = try await next(limit) { all.append(contentsOf: bytes) }
        return all
    }
}
