import Foundation

/// HTTP/1.1 over Unix sockets and TCP, on sockets of our own: one pool of connections, limits exact to the millisecond.
final class SocketTransport: Transport {
    private static let joinedBytes = 64 * 1024
    private let endpoint: Endpoint
    /// Of the Host header.
    private let authority: String
    private let pool = ConnectionPool()

    init(_ endpoint: Endpoint, authority: String) {
        self.endpoint = endpoint
        self.authority = authority
    }

    func send(_ request: Outgoing, _ limit: Limit) async throws -> Answer {
        let head = try headBytes(request)
        try Task.checkCancellation()
        let socket: Socket
        if let idle = pool.take() {
            socket = idle
        } else {
            socket = try await Socket.open(endpoint, limit)
        }
        let isSent = try await send(head, request.body ?? Data(), by: socket, limit)
        let reader = AnswerReader(socket)
        let answer = try await reader.head(limit, method: request.method)
        return Answer(
            status: answer.status, headers: answer.headers,
            body: SocketBody(reader, answer.framing, returnTo: isSent ? pool : nil, for: answer.idleTime))
    }

    /// A small request leaves in one piece; a large body is not copied for that.
    private func send(_ head: Data, _ body: Data, by socket: Socket, _ limit: Limit) async throws -> Bool {
        if body.count <= Self.joinedBytes { return try await socket.write(head + body, limit) }
        guard try await socket.write(head, limit) else { return false }
        return try await socket.write(body, limit)
    }

    private func headBytes(_ request: Outgoing) throws -> Data {
        var lines = ["\(request.method) \(request.target) HTTP/1.1", "Host: \(authority)"]
        for (name, value) in request.headers {
            guard !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
                throw AgentKernelError.request("the header \(name) has a control character")
            }
            lines.append("\(name): \(value)")
        }
        if let body = request.body { lines.append("Content-Length: \(body.count)") }
        return Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }
}

/// The body of an answer, and its connection, which goes back to the pool after the last byte.
private final class SocketBody: AnswerBody, @unchecked Sendable {
    private let reader: AnswerReader
    private var framing: Framing
    private let pool: ConnectionPool?
    private let idleTime: Duration?

    init(_ reader: AnswerReader, _ framing: Framing, returnTo pool: ConnectionPool?, for idleTime: Duration?) {
        self.reader = reader
        self.framing = framing
        self.pool = pool
        self.idleTime = idleTime
        giveBackIfEnded()
    }

    func next(_ limit: Limit) async throws -> [UInt8]? {
        let bytes = try await reader.body(&framing, limit)
        giveBackIfEnded()
        return bytes
    }

    private func giveBackIfEnded() {
        guard framing == .ended, let pool, let idleTime, let socket = reader.release() else { return }
        pool.give(socket, for: idleTime)
    }
}

/// Connections on which no request is under way. Those that the server has closed are never handed out.
final class ConnectionPool: @unchecked Sendable {
    private static let mostIdle = 64
    private let lock = NSLock()
    private var idle: [(socket: Socket, until: ContinuousClock.Instant)] = []

    var count: Int { lock.withLock { idle.count } }

    /// The one that was used last.
    func take() -> Socket? {
        lock.withLock {
            let now = ContinuousClock.now
            while let last = idle.popLast() {
                if last.until > now, last.socket.isQuiet { return last.socket }
            }
            return nil
        }
    }

    func give(_ socket: Socket, for idleTime: Duration) {
        lock.withLock {
            let now = ContinuousClock.now
            idle.removeAll { $0.until <= now }
            if idle.count < Self.mostIdle { idle.append((socket, now + idleTime)) }
        }
    }
}
