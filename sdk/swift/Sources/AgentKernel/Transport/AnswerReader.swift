import Foundation

/// Where the body of an answer ends.
enum Framing: Equatable {
    /// After so many bytes more.
    case bytes(Int)
    /// After the chunk of length 0; so much of the present one is left.
    case chunks(left: Int)
    /// Where the server hangs up.
    case close
    case ended
}

/// Takes one answer of HTTP/1.1 apart, reading no more than it is asked for.
final class AnswerReader {
    struct Head {
        let status: Int
        let headers: [String: String]
        let framing: Framing
        /// How long the connection may lie idle afterwards; nil: it cannot be used again.
        let idleTime: Duration?
    }

    private static let mostHeadBytes = 64 * 1024
    private static let pieceBytes = 64 * 1024
    /// Where the server does not tell how long it keeps a connection.
    private static let usualIdleTime = Duration.seconds(4)
    private var socket: Socket?
    private var buffer: [UInt8] = []
    private var start = 0

    init(_ socket: Socket) {
        self.socket = socket
    }

    /// The socket, once all of the answer is read and nothing lies beyond it.
    func release() -> Socket? {
        defer { socket = nil }
        return start == buffer.count ? socket : nil
    }

    /// Of the final answer; interim ones are passed over.
    func head(_ limit: Limit, method: String) async throws -> Head {
        while true {
            let status = try Self.status(of: try await line(limit))
            let headers = try await headers(limit)
            if (100..<200).contains(status.code), status.code != 101 { continue }
            let framing = method == "HEAD" || status.code == 204 || status.code == 304 ? .ended : try Self.framing(headers)
            let words = headers["connection"]?.lowercased() ?? ""
            let isKept = status.isKeptByDefault && !words.contains("close") && framing != .close
            return Head(
                status: status.code, headers: headers, framing: framing,
                idleTime: isKept ? Self.idleTime(headers["keep-alive"]) : nil)
        }
    }

    /// The next bytes of the body; nil after the last.
    func body(_ framing: inout Framing, _ limit: Limit) async throws -> [UInt8]? {
        switch framing {
        case .ended:
            return nil
        case .close:
            let bytes = try await some(Self.pieceBytes, limit)
            if bytes.isEmpty { framing = .ended }
            return bytes.isEmpty ? nil : bytes
        case .bytes(let left):
            let bytes = try await some(left, limit)
            if bytes.isEmpty { throw Self.brokenOff }
            framing = bytes.count == left ? .ended : .bytes(left - bytes.count)
            return bytes
        case .chunks(let left):
            return try await chunk(&framing, left, limit)
        }
    }

    private func chunk(_ framing: inout Framing, _ left: Int, _ limit: Limit) async throws -> [UInt8]? {
        var left = left
        if left == 0 {
            let word = try await line(limit).prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
            guard !word.isEmpty, word.allSatisfy(\.isHexDigit), let size = Int(word, radix: 16) else {
                throw AgentKernelError.badAnswer("a chunk of the answer has no length")
            }
            left = size
            if size == 0 {
                // Trailers say nothing that is needed.
                _ = try await headers(limit)
                framing = .ended
                return nil
            }
        }
        let bytes = try await some(left, limit)
        if bytes.isEmpty { throw Self.brokenOff }
        if bytes.count == left, try await !line(limit).isEmpty {
            throw AgentKernelError.badAnswer("a chunk of the answer is longer than it says")
        }
        framing = .chunks(left: left - bytes.count)
        return bytes
    }

    private static let brokenOff = AgentKernelError.transport("the connection broke off within an answer", unsent: false)

    private static func status(of line: String) throws -> (code: Int, isKeptByDefault: Bool) {
        let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, words[0] == "HTTP/1.1" || words[0] == "HTTP/1.0", words[1].count == 3,
            words[1].allSatisfy(\.isASCII), let code = Int(words[1]), code >= 100
        else { throw AgentKernelError.badAnswer("the answer is not HTTP") }
        return (code, words[0] == "HTTP/1.1")
    }

    private static func framing(_ headers: [String: String]) throws -> Framing {
        if let coding = headers["transfer-encoding"] {
            guard coding.lowercased() == "chunked" else {
                throw AgentKernelError.badAnswer("the answer is encoded as \(coding), which is not known")
            }
            return .chunks(left: 0)
        }
        guard let text = headers["content-length"] else { return .close }
        let lengths = Set(text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
        guard lengths.count == 1, let only = lengths.first, only.allSatisfy(\.isNumber), let length = Int(only) else {
            throw AgentKernelError.badAnswer("the answer says \(text) of its length")
        }
        return length == 0 ? .ended : .bytes(length)
    }

    /// Before the server's own time is over, a request could still meet its hanging up.
    private static func idleTime(_ keepAlive: String?) -> Duration? {
        let words = (keepAlive ?? "").lowercased().split { $0 == "," || $0 == " " }
        guard let named = words.first(where: { $0.hasPrefix("timeout=") }) else { return usualIdleTime }
        guard let seconds = Double(named.dropFirst("timeout=".count)), seconds.isFinite else { return nil }
        return seconds > 1 ? .seconds(min(seconds - 1, 60)) : nil
    }

    private func headers(_ limit: Limit) async throws -> [String: String] {
        var headers: [String: String] = [:]
        var bytes = 0
        while true {
            let text = try await line(limit)
            if text.isEmpty { return headers }
            bytes += text.utf8.count
            guard bytes <= Self.mostHeadBytes else { throw AgentKernelError.badAnswer("the answer's head does not end") }
            guard let colon = text.firstIndex(of: ":") else { throw AgentKernelError.badAnswer("the answer is not HTTP") }
            let name = text[..<colon].lowercased()
            let value = text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            headers[name] = headers[name].map { "\($0), \(value)" } ?? value
        }
    }

    /// Without its end, which is a line feed with or without a carriage return.
    private func line(_ limit: Limit) async throws -> String {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) {
                defer { start = end + 1 }
                let isReturned = end > start && buffer[end - 1] == 0x0D
                return String(decoding: buffer[start..<(isReturned ? end - 1 : end)], as: UTF8.self)
            }
            guard buffer.count - start <= Self.mostHeadBytes else {
                throw AgentKernelError.badAnswer("the answer's head does not end")
            }
            let kept = buffer.count - start
            buffer.removeFirst(start)
            start = 0
            searched = kept
            let more = try await read(limit)
            if more.isEmpty { throw Self.brokenOff }
            buffer.append(contentsOf: more)
        }
    }

    /// At least one byte and at most `count`; nothing where the server has hung up.
    private func some(_ count: Int, _ limit: Limit) async throws -> [UInt8] {
        if start == buffer.count {
            buffer = try await read(limit)
            start = 0
        }
        let end = min(buffer.count, start + count)
        defer { start = end }
        if start == 0, end == buffer.count { return buffer }
        return Array(buffer[start..<end])
    }

    private func read(_ limit: Limit) async throws -> [UInt8] {
        guard let socket else { return [] }
        return try await socket.read(Self.pieceBytes, limit)
    }
}
