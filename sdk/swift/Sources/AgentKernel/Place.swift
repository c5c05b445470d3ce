import Foundation

/// Which server is asked, and what stands for the user there.
enum Place: Sendable, Equatable {
    case unix(path: String)
    case tcp(host: String, port: UInt16, authority: String, prefix: String)
    /// A base URL with TLS.
    case tls(host: String, port: UInt16, base: String)

    static let usualURL = "http://localhost:8080"

    /// What is said outright, else AGENTKERNEL_BASE_URL, else the socket of the user's daemon if there is one, else
    /// localhost:8080.
    static func find(_ baseURL: String?, _ environment: LocalFolders) throws -> Place {
        if let named = baseURL ?? environment.variable("AGENTKERNEL_BASE_URL") { return try parse(named) }
        if let socket = environment.daemonSocket { return .unix(path: socket) }
        return try parse(usualURL)
    }

    static func parse(_ named: String) throws -> Place {
        let refusal = AgentKernelError.request(
            "the base URL \(named) is of no kind that is known: "
                + "give http://host:port, https://host:port or unix:///path/to/socket")
        guard let parts = URLComponents(string: named), let scheme = parts.scheme?.lowercased() else { throw refusal }
        let host = (parts.host ?? "").trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        if scheme == "unix" {
            guard host.isEmpty, parts.path.hasPrefix("/") else { throw refusal }
            return .unix(path: parts.path)
        }
        guard ["http", "https"].contains(scheme), !host.isEmpty, parts.user == nil, parts.query == nil,
            parts.fragment == nil, let port = UInt16(exactly: parts.port ?? (scheme == "https" ? 443 : 80))
        else { throw refusal }
        let bracketed = host.contains(":") ? "[\(host)]" : host
        let authority = parts.port.map { "\(bracketed):\($0)" } ?? bracketed
        var prefix = parts.percentEncodedPath
        while prefix.hasSuffix("/") { prefix.removeLast() }
        if scheme == "https" { return .tls(host: host, port: port, base: "https://\(authority)\(prefix)") }
        return .tcp(host: host, port: port, authority: authority, prefix: prefix)
    }

    /// What stands for the user at a server of theirs on loopback, which writes it to a file that only the user can read.
    /// Read for each request: a server makes a new one when it starts.
    func localToken(_ environment: LocalFolders) -> String? {
        switch self {
        case .unix: return nil
        case .tcp(let host, let port, _, _), .tls(let host, let port, _):
            guard Self.isLoopback(host.lowercased()) else { return nil }
            let path = "\(environment.state)/agentkernel/api-tokens/\(port)"
            guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
            let token = text.trimmingCharacters(in: .whitespacesAndNewlines)
            return token.isEmpty ? nil : token
        }
    }

    private static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

/// Where agentkernel keeps what is the user's own, from the variables of this program.
struct LocalFolders: Sendable {
    private let variables: [String: String]

    init(_ variables: [String: String] = ProcessInfo.processInfo.environment) {
        self.variables = variables
    }

    /// An empty one counts as none.
    func variable(_ name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    var state: String {
        absolute("XDG_STATE_HOME") ?? (absolute("HOME") ?? NSHomeDirectory()) + "/.local/state"
    }

    var daemonSocket: String? {
        let path = daemonFolder + "/daemon.sock"
        let kind = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
        return kind == .typeSocket ? path : nil
    }

    private var daemonFolder: String {
        // Under sudo the variable may still name the folder of the user before.
        if let runtime = absolute("XDG_RUNTIME_DIR"), Self.isOwnFolder(runtime) { return runtime + "/agentkernel" }
        return state + "/agentkernel/daemon"
    }

    private func absolute(_ name: String) -> String? {
        variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    private static func isOwnFolder(_ path: String) -> Bool {
        guard let found = try? FileManager.default.attributesOfItem(atPath: path) else { return false }
        let owner = (found[.ownerAccountID] as? NSNumber)?.uint32Value
        return found[.type] as? FileAttributeType == .typeDirectory && owner == SystemCalls.userID
    }
}
