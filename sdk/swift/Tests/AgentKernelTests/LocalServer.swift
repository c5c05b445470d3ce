import Foundation

@testable import AgentKernel

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A server on loopback that does with each connection what a test says. It blocks on threads of its own, so that nothing
/// of what is tested is used to test it.
final class LocalServer: @unchecked Sendable {
    /// One connection, from the server's side.
    final class Peer: @unchecked Sendable {
        private let descriptor: Int32
        private var received: [UInt8] = []

        fileprivate init(_ descriptor: Int32) {
            self.descriptor = descriptor
            #if canImport(Darwin)
            var on: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
            #endif
        }

        deinit {
            close(descriptor)
        }

        /// The head of the next request, after which its body is read too; nil where the client hung up.
        func request() -> String? {
            while true {
                if let end = received.indices.first(where: { received[$0...].starts(with: Array("\r\n\r\n".utf8)) }) {
                    let head = String(decoding: received[..<end], as: UTF8.self)
                    received.removeFirst(end + 4)
                    let length = head.lowercased().components(separatedBy: "content-length: ").dropFirst().first
                    var left = length.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
                    while left > received.count { guard more() else { return nil } }
                    received.removeFirst(left)
                    left = 0
                    return head
                }
                guard more() else { return nil }
            }
        }

        /// False where the client hung up.
        @discardableResult
        func send(_ text: String) -> Bool {
            send(Array(text.utf8))
        }

        @discardableResult
        func send(_ bytes: [UInt8]) -> Bool {
            var sent = 0
            while sent < bytes.count {
                guard case .moved(let count) = bytes.withUnsafeBytes({
                    SystemCalls.write(descriptor, UnsafeRawBufferPointer(rebasing: $0[sent...]))
                }) else { return false }
                sent += count
            }
            return true
        }

        /// Until the client hangs up.
        func waitForEnd() {
            while more() {}
        }

        private func more() -> Bool {
            var bytes = [UInt8](repeating: 0, count: 65536)
            guard case .moved(let count) = bytes.withUnsafeMutableBytes({ SystemCalls.read(descriptor, $0) }), count > 0
            else { return false }
            received.append(contentsOf: bytes[..<count])
            return true
        }
    }

    let port: UInt16
    private let descriptor: Int32
    private let lock = NSLock()
    private var accepted = 0

    /// How many connections there have been.
    var connections: Int { lock.withLock { accepted } }

    init(_ serve: @escaping @Sendable (Peer) -> Void) throws {
        #if canImport(Glibc)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let own = descriptor
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(own, $0, length) == 0 && listen(own, 256) == 0 && getsockname(own, $0, &length) == 0
            }
        }
        guard bound else { throw AgentKernelError.transport("no server: \(SystemCalls.explain(errno))", unsent: true) }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in
            while true {
                let peer = accept(own, nil, nil)
                guard peer >= 0 else { return }
                lock.withLock { accepted += 1 }
                let connection = Peer(peer)
                Thread.detachNewThread { serve(connection) }
            }
        }
    }

    /// No more connections.
    func stop() {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    func client(requestTimeout: Duration = .seconds(20), maxRetries: Int = 0) -> AgentKernel {
        AgentKernel(
            baseURL: "http://127.0.0.1:\(port)", apiKey: "key", requestTimeout: requestTimeout, maxRetries: maxRetries)
    }

    /// An answer with a body of a length that is told.
    static func answer(_ body: String, status: String = "200 OK", _ headers: String = "") -> String {
        "HTTP/1.1 \(status)\r\n\(headers)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    static let healthy = answer(#"{"success":true,"data":{"status":"ok"}}"#)
    static let streamHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    static func chunk(_ text: String) -> String {
        "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n"
    }
}
