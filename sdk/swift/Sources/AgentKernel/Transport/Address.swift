import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// An address in the form that the kernel takes.
struct Address: Sendable {
    let family: Int32
    private let bytes: [UInt8]

    init(_ found: addrinfo) {
        family = found.ai_family
        bytes = Array(UnsafeRawBufferPointer(start: found.ai_addr, count: Int(found.ai_addrlen)))
    }

    init(unixPath path: String) throws {
        var address = sockaddr_un()
        let room = MemoryLayout.size(ofValue: address.sun_path)
        let text = Array(path.utf8)
        guard text.count < room, !text.contains(0) else {
            throw AgentKernelError.request("the path of the socket, \(path), is longer than \(room - 1) bytes")
        }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: text) }
        family = AF_UNIX
        bytes = withUnsafeBytes(of: &address) { Array($0) }
    }

    func with<T>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
        // As large as any address, and aligned as the kernel's structures are.
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(bytes.count)) }
        }
    }
}

/// Looks names up. The system offers that only as a call that blocks, so a thread of Dispatch's does it, and a request
/// that cannot wait any longer leaves it there.
enum Resolver {
    private final class Lookup: @unchecked Sendable {
        private let lock = NSLock()
        private var found: Result<[Address], AgentKernelError>?

        var result: Result<[Address], AgentKernelError>? { lock.withLock { found } }

        func end(_ result: Result<[Address], AgentKernelError>) {
            lock.withLock { found = result }
        }
    }

    static func addresses(of host: String, port: UInt16, _ limit: Limit) async throws -> [Address] {
        if case .success(let literal) = look(up: host, port, AI_NUMERICHOST) { return literal }
        let lookup = Lookup()
        let poller = Poller.shared
        let ticket = poller.ticket()
        DispatchQueue.global().async {
            lookup.end(look(up: host, port, 0))
            poller.finish(ticket)
        }
        while true {
            if let result = lookup.result { return try result.get() }
            _ = try await poller.wait(until: limit.deadline, as: ticket) { lookup.result != nil }
        }
    }

    private static func look(up host: String, _ port: UInt16, _ flags: Int32) -> Result<[Address], AgentKernelError> {
        var hints = addrinfo()
        hints.ai_flags = flags
        #if canImport(Glibc)
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
        hints.ai_socktype = SOCK_STREAM
        #endif
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else {
            let reason = String(cString: gai_strerror(code))
            return .failure(.transport("\(host) could not be resolved: \(reason)", unsent: true))
        }
        defer { freeaddrinfo(list) }
        var addresses: [Address] = []
        var next = list
        while let entry = next {
            addresses.append(Address(entry.pointee))
            next = entry.pointee.ai_next
        }
        return .success(addresses)
    }
}
