import Foundation

/// What stands for the user at a server of theirs on loopback, which writes it to a file that only the user can read.
/// Read for each request: a server makes a new one when it starts.
func localToken(_ url: URL, environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
    guard let host = url.host?.lowercased(), isLoopback(host) else { return nil }
    let port = url.port ?? (url.scheme == "https" ? 443 : 80)
    let named = environment["XDG_STATE_HOME"] ?? ""
    let state = named.hasPrefix("/") ? named : NSHomeDirectory() + "/.local/state"
    let path = "\(state)/agentkernel/api-tokens/\(port)"
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    let token = text.trimmingCharacters(in: .whitespacesAndNewlines)
    return token.isEmpty ? nil : token
}

private func isLoopback(_ host: String) -> Bool {
    if host == "localhost" || host == "::1" || host == "[::1]" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
}
