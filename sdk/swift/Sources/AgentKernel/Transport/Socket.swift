import Foundation

/// Where a server without TLS listens.
enum Endpoint: Sendable, Hashable {
    case unix(path: String)
    case tcp(host: String, port: UInt16)
}

/// A connection, closed when nothing refers to it any more. One task uses it at a time.
final class Socket: @unchecked Sendable {
    private let descriptor: Int32

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        SystemCalls.hangUp(descriptor)
    }

    /// Throws `AgentKernelError.transport` with `unsent` where no address of the endpoint takes the connection.
    static func open(_ endpoint: Endpoint, _ limit: Limit) async throws -> Socket {
        var failure = "it has no address"
        for address in try await addresses(of: endpoint, limit) {
            guard let descriptor = SystemCalls.openSocket(family: address.family) else {
                failure = SystemCalls.explain(errno)
                continue
            }
            let socket = Socket(descriptor)
            if address.family != AF_UNIX { SystemCalls.sendWithoutDelay(descriptor) }
            guard let reason = try await socket.connect(to: address, limit) else { return socket }
            failure = reason
        }
        throw AgentKernelError.transport("\(name(of: endpoint)) could not be reached: \(failure)", unsent: true)
    }

    /// Whether a connection that lay idle can be used: the server has neither closed it nor sent anything.
    var isQuiet: Bool {
        if case .wouldBlock = SystemCalls.peek(descriptor) { return true }
        return false
    }

    /// Sends all of it, unless the server answers or hangs up before: false then.
    func write(_ bytes: Data, _ limit: Limit) async throws -> Bool {
        var sent = 0
        while sent < bytes.count {
            let outcome = bytes.withUnsafeBytes { SystemCalls.write(descriptor, UnsafeRawBufferPointer(rebasing: $0[sent...])) }
            switch outcome {
            case .moved(let count):
                sent += count
            case .wouldBlock:
                let events = try await Poller.shared.wait(for: [.read, .write], of: descriptor, until: limit.deadline)
                if events.contains(.read) { return false }
            case .failed:
                // There may be an answer all the same, and if not, reading tells.
                return false
            }
        }
        return true
    }

    /// What has come, at most `count` bytes; nothing at the end.
    func read(_ count: Int, _ limit: Limit) async throws -> [UInt8] {
        while true {
            try Task.checkCancellation()
            var outcome = SystemCalls.Outcome.wouldBlock
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                outcome = SystemCalls.read(descriptor, UnsafeMutableRawBufferPointer(buffer))
                if case .moved(let count) = outcome { filled = count }
            }
            switch outcome {
            case .moved:
                return bytes
            case .wouldBlock:
                _ = try await Poller.shared.wait(for: .read, of: descriptor, until: limit.deadline)
            case .failed(let code):
                throw AgentKernelError.transport("the connection broke: \(SystemCalls.explain(code))", unsent: false)
            }
        }
    }

    /// Why it failed; nil where it is connected.
    private func connect(to address: Address, _ limit: Limit) async throws -> String? {
        let begun = SystemCalls.beginConnecting(descriptor, to: address)
        if begun == 0 { return nil }
        guard begun == EINPROGRESS else { return SystemCalls.explain(begun) }
        _ = try await Poller.shared.wait(for: .write, of: descriptor, until: limit.deadline)
        let code = SystemCalls.connectError(descriptor)
        return code == 0 ? nil : SystemCalls.explain(code)
    }

    private static func addresses(of endpoint: Endpoint, _ limit: Limit) async throws -> [Address] {
        switch endpoint {
        case .unix(let path): return [try Address(unixPath: path)]
        case .tcp(let host, let port): return try await Resolver.addresses(of: host, port: port, limit)
        }
    }

    private static func name(of endpoint: Endpoint) -> String {
        switch endpoint {
        case .unix(let path): return path
        case .tcp(let host, let port): return "\(host):\(port)"
        }
    }
}
