import Foundation

/// What was kept of sandboxes: files as they were at one moment and, of machines that ran, memory.
public struct Snapshots: Sendable {
    let connection: Connection

    private struct List: Decodable {
        let snapshots: [Snapshot]
    }

    private struct Nothing: Decodable {}

    /// Sorted by name.
    public func list() async throws -> [Snapshot] {
        try await connection.data(List.self, Call("GET", "/snapshots")).snapshots
    }

    /// `ErrorCode.notFound` where there is none of that name.
    public func get(_ name: String) async throws -> Snapshot {
        try await connection.data(Snapshot.self, Call("GET", "/snapshots/\(encoded(name))"))
    }

    /// Sandboxes that were made of it stay.
    public func remove(_ name: String) async throws {
        _ = try await connection.data(Nothing.self, Call("DELETE", "/snapshots/\(encoded(name))"))
    }

    /// Makes a sandbox of it, and starts it unless `start` is false.
    public func restore(
        _ snapshot: String, as name: String, _ options: CopyOptions = CopyOptions()
    ) async throws -> Sandbox {
        let path = "/snapshots/\(encoded(snapshot))/restore"
        let call = try Call("POST", path).json(CopyBody(name: name, start: options.start, memory: options.memory))
        return Sandbox(connection: connection, info: try await connection.data(SandboxInfo.self, call))
    }
}

/// What is asked for a sandbox that begins as a copy.
struct CopyBody: Encodable {
    let name: String
    let start: Bool?
    let memory: Bool?
}

struct SnapshotBody: Encodable {
    let name: String?
    let memory: Bool?
}
