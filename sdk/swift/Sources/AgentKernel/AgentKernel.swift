import Foundation

/// The SDK for Swift: the HTTP API of agentkernel as async calls with types. It runs nothing itself.
///
/// ```swift
/// let client = AgentKernel()
/// let result = try await client.run(["echo", "hello"])
/// print(result.stdout, result.exitCode)
/// ```
///
/// A copy shares the connections of its original. They are closed with the last copy.
public struct AgentKernel: Sendable {
    /// The sandboxes that stay, by their names.
    public let sandboxes: Sandboxes
    /// What was kept of sandboxes.
    public let snapshots: Snapshots
    let connection: Connection

    /// Makes a client. Nothing is asked yet; a base URL that makes no sense is told by the first call.
    ///
    /// - Parameters:
    ///   - baseURL: `http://host:port`, `https://host:port` or `unix:///path/to/socket`; otherwise `AGENTKERNEL_BASE_URL`,
    ///     else the socket of the user's daemon if there is one, else `http://localhost:8080`.
    ///   - apiKey: An API key or a JWT; otherwise `AGENTKERNEL_API_KEY`, else the token of the user's own server on
    ///     loopback.
    ///   - requestTimeout: How long an answer may take beyond the time limits of its commands; of a stream, how long
    ///     nothing at all may come.
    ///   - maxRetries: How often a request is sent again where that is safe.
    public init(
        baseURL: String? = nil, apiKey: String? = nil, requestTimeout: Duration = .seconds(120), maxRetries: Int = 2
    ) {
        connection = Connection(
            baseURL: baseURL, apiKey: apiKey, requestTimeout: requestTimeout, maxRetries: maxRetries,
            folders: LocalFolders())
        sandboxes = Sandboxes(connection: connection)
        snapshots = Snapshots(connection: connection)
    }

    /// Runs a command in a sandbox of its own. A command that fails is a result too: `exitCode` says how it ended.
    ///
    /// ```swift
    /// let result = try await client.run(["swift", "test"], RunOptions(network: .off, timeout: .seconds(60)))
    /// ```
    public func run(_ command: [String], _ options: RunOptions = RunOptions()) async throws -> RunResult {
        let call = try Call("POST", "/run").json(CommandBody(command, options))
        return try await connection.data(RunResult.self, call.taking(commandTime(options.timeout)))
    }

    /// The same, heard while it runs. Leaving the loop ends the command.
    ///
    /// ```swift
    /// for try await event in try client.stream(["swift", "build"]) {
    ///     if case .exit(let exit) = event { print("ended with", exit.code) }
    /// }
    /// ```
    public func stream(
        _ command: [String], _ options: RunOptions = RunOptions()
    ) throws -> CommandEvents {
        connection.events(try Call("POST", "/run/stream").json(CommandBody(command, options)))
    }

    /// Several side by side, each in a sandbox of its own. One that could not be run has its error in its place.
    public func batch(
        _ commands: [(command: [String], options: RunOptions)], parallel: Int? = nil
    ) async throws -> [Result<RunResult, ApiError>] {
        let body = BatchBody(commands: commands.map { CommandBody($0.command, $0.options) }, parallel: parallel)
        let taking = commands.reduce(Duration.zero) { $0 + commandTime($1.options.timeout) }
        let call = try Call("POST", "/batch/run").json(body).taking(taking)
        return try await connection.data(BatchAnswer.self, call).results.map { item in
            if let data = item.data { return .success(data) }
            guard let error = item.error else { throw AgentKernelError.badAnswer("a result has neither data nor error") }
            return .failure(error)
        }
    }

    #if compiler(>=6.0)
    /// Makes a sandbox for many commands, and removes it when the closure ends, however it ends; after a day in any case
    /// (`ttl`).
    ///
    /// ```swift
    /// try await client.withSession { session in
    ///     _ = try await session.files.write("main.py", Data("print(1 + 1)".utf8))
    ///     print(try await session.exec(["python3", "main.py"]).stdout)
    /// }
    /// ```
    ///
    /// The closure runs where the caller does, on the main actor for instance, and may use what is of that actor.
    public func withSession<T: Sendable>(
        _ options: CreateOptions = CreateOptions(), isolation: isolated (any Actor)? = #isolation,
        _ body: (Sandbox) async throws -> T
    ) async throws -> T {
        let sandbox = try await openSession(options)
        let result: T
        do {
            result = try await body(sandbox)
        } catch {
            await sandbox.removeWhateverHappens()
            throw error
        }
        await sandbox.removeWhateverHappens()
        return result
    }
    #else
    /// Makes a sandbox for many commands, and removes it when the closure ends, however it ends; after a day in any case
    /// (`ttl`).
    public func withSession<T: Sendable>(
        _ options: CreateOptions = CreateOptions(), _ body: (Sandbox) async throws -> T
    ) async throws -> T {
        let sandbox = try await openSession(options)
        let result: T
        do {
            result = try await body(sandbox)
        } catch {
            await sandbox.removeWhateverHappens()
            throw error
        }
        await sandbox.removeWhateverHappens()
        return result
    }
    #endif

    private func openSession(_ options: CreateOptions) async throws -> Sandbox {
        var own = options
        own.ttl = own.ttl ?? "24h"
        return try await sandboxes.create("session-\(UUID().uuidString.lowercased())", own)
    }

    /// Whether the server takes requests.
    public func health() async throws -> Health {
        try await connection.data(Health.self, Call("GET", "/health"))
    }

    /// Which version the server is.
    public func version() async throws -> Version {
        try await connection.data(Version.self, Call("GET", "/version"))
    }
}

/// The server's own time limit of a command, where none is named.
func commandTime(_ timeout: Duration?) -> Duration {
    timeout ?? .seconds(30)
}

struct CommandBody<Options: Encodable>: Encodable {
    let command: [String]
    let options: Options
    let detach: Bool?

    init(_ command: [String], _ options: Options, detach: Bool? = nil) {
        self.command = command
        self.options = options
        self.detach = detach
    }

    enum CodingKeys: String, CodingKey {
        case command
        case detach
    }

    func encode(to encoder: any Encoder) throws {
        try options.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(command, forKey: .command)
        try container.encodeIfPresent(detach, forKey: .detach)
    }
}

private struct BatchBody: Encodable {
    let commands: [CommandBody<RunOptions>]
    let parallel: Int?
}

private struct BatchAnswer: Decodable {
    struct Item: Decodable {
        let data: RunResult?
        let error: ApiError?
    }

    let results: [Item]
}
