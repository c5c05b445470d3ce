import Foundation

/// The sandboxes that stay, by their names.
///
/// ```swift
/// let box = try await client.sandboxes.create("box", CreateOptions(image: "alpine:3.20"))
/// _ = try await box.exec(["touch", "kept"])
/// ```
public struct Sandboxes: Sendable {
    let connection: Connection

    private struct List: Decodable {
        let sandboxes: [SandboxInfo]
    }

    /// Makes one, and starts it unless `start` is false.
    public func create(_ name: String, _ options: CreateOptions = CreateOptions()) async throws -> Sandbox {
        let call = try Call("POST", "/sandboxes").json(CreateBody(name: name, options: options))
        return Sandbox(connection: connection, info: try await connection.data(SandboxInfo.self, call))
    }

    /// `ErrorCode.notFound` where there is none of that name.
    public func get(_ name: String) async throws -> Sandbox {
        let call = Call("GET", "/sandboxes/\(encoded(name))")
        return Sandbox(connection: connection, info: try await connection.data(SandboxInfo.self, call))
    }

    /// Sorted by name: all, or those in one state.
    public func list(state: SandboxState? = nil) async throws -> [SandboxInfo] {
        let query = state.map { [("state", $0.rawValue)] } ?? []
        return try await connection.data(List.self, Call("GET", "/sandboxes", query: query)).sandboxes
    }
}

private struct CreateBody: Encodable {
    let name: String
    let options: CreateOptions

    enum CodingKeys: String, CodingKey {
        case name
    }

    func encode(to encoder: any Encoder) throws {
        try options.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
    }
}

/// One sandbox that stays: what runs in it, its files, and its states.
public struct Sandbox: Sendable {
    /// As it was when this was made.
    public let info: SandboxInfo
    /// Its files.
    ///
    /// ```swift
    /// _ = try await sandbox.files.write("notes.txt", Data("kept".utf8))
    /// let bytes = try await sandbox.files.read("notes.txt")
    /// ```
    public let files: Files
    /// Its name.
    public var name: String { info.name }
    private let connection: Connection
    private let path: String

    private struct Nothing: Decodable {}

    private struct Logs: Decodable {
        let execs: [ExecLog]
    }

    init(connection: Connection, info: SandboxInfo) {
        self.connection = connection
        self.info = info
        path = "/sandboxes/\(encoded(info.name))"
        files = Files(connection: connection, sandbox: path)
    }

    /// As it is now.
    public func inspect() async throws -> SandboxInfo {
        try await connection.data(SandboxInfo.self, Call("GET", path))
    }

    /// Runs a command. One that fails is a result too.
    public func exec(_ command: [String], _ options: ExecOptions = ExecOptions()) async throws -> ExecResult {
        let call = try Call("POST", "\(path)/exec").json(CommandBody(command, options))
        return try await connection.data(ExecResult.self, call.taking(commandTime(options.timeout)))
    }

    /// The same, heard while it runs. Leaving the loop ends the command.
    public func execStream(
        _ command: [String], _ options: ExecOptions = ExecOptions()
    ) throws -> CommandEvents {
        connection.events(try Call("POST", "\(path)/exec/stream").json(CommandBody(command, options)))
    }

    /// Lets it run on; `logs` has its output and its end.
    public func execDetached(
        _ command: [String], _ options: ExecOptions = ExecOptions()
    ) async throws -> DetachedExec {
        let call = try Call("POST", "\(path)/exec").json(CommandBody(command, options, detach: true))
        return try await connection.data(DetachedExec.self, call)
    }

    /// Output and end of detached commands, oldest first: of all, or of one.
    public func logs(exec: String? = nil) async throws -> [ExecLog] {
        let query = exec.map { [("exec", $0)] } ?? []
        return try await connection.data(Logs.self, Call("GET", "\(path)/logs", query: query)).execs
    }

    /// Starts it again, with the files that it has.
    public func start() async throws -> SandboxInfo { try await act("start") }

    /// Ends all that runs in it; its files stay.
    public func stop() async throws -> SandboxInfo { try await act("stop") }

    /// Holds all that runs in it.
    public func pause() async throws -> SandboxInfo { try await act("pause") }

    /// Lets it go on.
    public func resume() async throws -> SandboxInfo { try await act("resume") }

    /// Keeps what it has written, under this name or one of the server's; of a machine that runs, its memory too,
    /// unless `memory` is false.
    public func snapshot(name: String? = nil, memory: Bool? = nil) async throws -> Snapshot {
        let body = SnapshotBody(name: name, memory: memory)
        return try await connection.data(Snapshot.self, try Call("POST", "\(path)/snapshot").json(body))
    }

    /// A second sandbox with everything that it has written, which is started unless `start` is false.
    public func fork(_ name: String, _ options: CopyOptions = CopyOptions()) async throws -> Sandbox {
        let call = try Call("POST", "\(path)/fork").json(CopyBody(name: name, start: options.start, memory: options.memory))
        return Sandbox(connection: connection, info: try await connection.data(SandboxInfo.self, call))
    }

    /// With all that is in it; `force`: also where it runs.
    public func remove(force: Bool = false) async throws {
        let query = force ? [("force", "true")] : []
        _ = try await connection.data(Nothing.self, Call("DELETE", path, query: query))
    }

    /// What it uses now.
    public func stats() async throws -> Stats {
        try await connection.data(Stats.self, Call("GET", "\(path)/stats"))
    }

    /// What it changed in the project.
    public func diff() async throws -> Diff {
        try await connection.data(Diff.self, Call("GET", "\(path)/diff"))
    }

    /// The same, as a patch that `git apply` takes.
    public func patch() async throws -> Data {
        try await connection.content(Call("GET", "\(path)/diff", query: [("format", "patch")]))
    }

    /// Takes its changes over into the project on the host: all, or those at and below the paths.
    public func apply(paths: [String]? = nil) async throws -> Changes {
        let body = paths.map { ["paths": $0] } ?? [:]
        return try await connection.data(Changes.self, try Call("POST", "\(path)/apply").json(body))
    }

    /// Also where the task around it was cancelled. What cannot be removed now goes at the end of its time.
    func removeWhateverHappens() async {
        await Task { try? await remove(force: true) }.value
    }

    private func act(_ action: String) async throws -> SandboxInfo {
        try await connection.data(SandboxInfo.self, Call("POST", "\(path)/\(action)"))
    }
}
