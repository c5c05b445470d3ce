import Foundation

/// One call of the API: what is asked, and how long it may take.
struct Call: Sendable {
    let method: String
    let path: String
    private let query: [(name: String, value: String)]
    private(set) var contentType: String?
    private(set) var body: Data?
    /// Time limits of the commands that it is about.
    private(set) var commandTime = Duration.zero

    init(_ method: String, _ path: String, query: [(name: String, value: String)] = []) {
        self.method = method
        self.path = path
        self.query = query
    }

    func json(_ value: some Encodable) throws -> Call {
        var call = self
        do {
            call.body = try JSONEncoder().encode(value)
        } catch {
            throw AgentKernelError.request("the request cannot be written as JSON: \(error)")
        }
        call.contentType = "application/json"
        return call
    }

    func bytes(_ content: Data) -> Call {
        var call = self
        call.body = content
        call.contentType = "application/octet-stream"
        return call
    }

    func taking(_ commandTime: Duration) -> Call {
        var call = self
        call.commandTime = commandTime
        return call
    }

    /// Path and query.
    var target: String {
        query.isEmpty ? path : path + "?" + query.map { "\(encoded($0.name))=\(encoded($0.value))" }.joined(separator: "&")
    }
}

/// One segment of a path, or one word of a query.
func encoded(_ word: String) -> String {
    let plain = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
    return word.addingPercentEncoding(withAllowedCharacters: plain) ?? word
}
