import Foundation

/// Files of one sandbox. A path that does not start with a slash is below /workspace.
public struct Files: Sendable {
    let connection: Connection
    let sandbox: String

    private struct Nothing: Decodable {}

    /// All of a file.
    public func read(_ path: String) async throws -> Data {
        try await connection.content(at("GET", path, ["format": "raw"]))
    }

    /// Replaces the file as a whole or not at all; folders on the way are made. Without a mode it is 0o644.
    public func write(_ path: String, _ content: Data, mode: Int? = nil) async throws -> Written {
        var query: [String: String] = [:]
        if let mode {
            let octal = String(mode, radix: 8)
            query["mode"] = String(repeating: "0", count: max(0, 3 - octal.count)) + octal
        }
        return try await connection.data(Written.self, at("PUT", path, query).bytes(content))
    }

    /// Makes a folder, and those on the way.
    public func makeFolder(_ path: String) async throws -> Written {
        try await connection.data(Written.self, at("PUT", path, ["type": "dir"]))
    }

    /// What is in a folder.
    public func list(_ path: String = "/workspace") async throws -> FolderListing {
        try await connection.data(FolderListing.self, at("GET", path, ["format": "json"]))
    }

    /// A file, an empty folder, or (`recursive`) a folder with all that is in it.
    public func remove(_ path: String, recursive: Bool = false) async throws {
        _ = try await connection.data(Nothing.self, at("DELETE", path, recursive ? ["recursive": "true"] : [:]))
    }

    private func at(_ method: String, _ path: String, _ query: [String: String]) -> Call {
        let absolute = path.hasPrefix("/") ? String(path.dropFirst()) : "workspace/\(path)"
        let words = absolute.split(separator: "/", omittingEmptySubsequences: false).map { encoded(String($0)) }
        let items = query.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        return Call(method, "\(sandbox)/files/\(words.joined(separator: "/"))", query: items)
    }
}
