import Foundation

/// Something heard of a command while it runs.
public enum CommandEvent: Sendable, Equatable {
    /// It runs, in the sandbox of this name.
    case started(sandbox: String)
    /// Of its standard output. Output is bytes: with `encoding` `.base64` every one as it was, otherwise UTF-8 with the
    /// rest replaced.
    case stdout(Data)
    /// Of its standard error.
    case stderr(Data)
    /// It ended; nothing comes after.
    case exit(Exit)

    /// How a command ended.
    public struct Exit: Sendable, Equatable, Codable {
        /// The command's own status; 124 timed out, 128+n killed by signal n.
        public let code: Int
        /// From the request to the end, in milliseconds.
        public let durationMs: Double
        /// The time limit ended it.
        public let timedOut: Bool
        /// The sandbox that it ran in.
        public let sandbox: String

        enum CodingKeys: String, CodingKey {
            case code
            case durationMs = "duration_ms"
            case timedOut = "timed_out"
            case sandbox
        }
    }

    private struct Started: Decodable {
        let sandbox: String
    }

    private struct Output: Decodable {
        let text: String?
        let base64: String?
    }

    /// Nil for an event of a kind that this version does not know. An error is thrown.
    static func read(_ event: String, _ data: [UInt8]) throws -> CommandEvent? {
        switch event {
        case "started":
            return .started(sandbox: try body(Started.self, event, data).sandbox)
        case "stdout":
            return .stdout(try output(event, data))
        case "stderr":
            return .stderr(try output(event, data))
        case "exit":
            return .exit(try body(Exit.self, event, data))
        case "error":
            throw AgentKernelError.api(try body(ApiError.self, event, data))
        default:
            return nil
        }
    }

    private static func output(_ event: String, _ data: [UInt8]) throws -> Data {
        let output = try body(Output.self, event, data)
        if let text = output.text { return Data(text.utf8) }
        if let base64 = output.base64, let bytes = Data(base64Encoded: base64) { return bytes }
        throw AgentKernelError.badAnswer("the event \(event) has no output")
    }

    private static func body<T: Decodable>(_ type: T.Type, _ event: String, _ data: [UInt8]) throws -> T {
        do {
            return try JSONDecoder().decode(type, from: Data(data))
        } catch {
            throw AgentKernelError.badAnswer("the event \(event) is not in the form that it should be: \(error)")
        }
    }
}

/// A command that is heard while it runs. The first look starts it; leaving the loop, or cancelling the task, ends it.
/// The server is held back by a loop that is slow, so memory stays small whatever comes.
///
/// ```swift
/// for try await event in try client.stream(["swift", "test"]) {
///     if case .stdout(let data) = event { FileHandle.standardOutput.write(data) }
/// }
/// ```
///
/// It can be looked through once: a second loop would run the command again, and throws instead.
public struct CommandEvents: AsyncSequence, Sendable {
    /// What the sequence is of.
    public typealias Element = CommandEvent

    private let start: Start

    init(connection: Connection, call: Call, limit: Limit) {
        start = Start(connection: connection, call: call, limit: limit)
    }

    /// One look through the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let start: Start
        private var body: (any AnswerBody)?
        private var parser = EventParser()
        private var ready: [(event: String, data: [UInt8])] = []
        private var isOver = false

        fileprivate init(_ start: Start) {
            self.start = start
        }

        /// Waits for the next event; nil after the exit.
        public mutating func next() async throws -> CommandEvent? {
            guard !isOver else { return nil }
            do {
                let event = try await nextKnown()
                if case .exit = event { end() }
                return event
            } catch {
                end()
                throw error
            }
        }

        private mutating func nextKnown() async throws -> CommandEvent {
            while true {
                while !ready.isEmpty {
                    let (event, data) = ready.removeFirst()
                    if let known = try CommandEvent.read(event, data) { return known }
                }
                let open: any AnswerBody
                if let body { open = body } else { open = try await start.once() }
                body = open
                guard let bytes = try await open.next(start.limit) else {
                    throw AgentKernelError.transport("the stream ended before the command did", unsent: false)
                }
                ready = parser.push(bytes)
            }
        }

        /// Letting go of the body hangs up.
        private mutating func end() {
            isOver = true
            body = nil
            ready = []
        }
    }

    /// Begins to look through the events.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(start)
    }
}

private final class Start: @unchecked Sendable {
    let limit: Limit
    private let connection: Connection
    private let call: Call
    private let lock = NSLock()
    private var isMade = false

    init(connection: Connection, call: Call, limit: Limit) {
        self.connection = connection
        self.call = call
        self.limit = limit
    }

    func once() async throws -> any AnswerBody {
        let isFirst = lock.withLock {
            defer { isMade = true }
            return !isMade
        }
        guard isFirst else { throw AgentKernelError.request("a stream of events can be looked through only once") }
        return try await connection.open(call, limit)
    }
}
