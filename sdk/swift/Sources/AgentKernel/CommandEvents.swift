import Foundation

/// Something heard of a command while it runs.
public enum CommandEvent: Sendable {
    case started(sandbox: String)
    /// Output is bytes: with `encoding` "base64" every one as it was, otherwise UTF-8 with the rest replaced.
    case stdout(Data)
    case stderr(Data)
    case exit(Exit)

    public struct Exit: Sendable, Decodable {
        public let code: Int
        public let durationMs: Double
        public let timedOut: Bool
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
    static func read(_ event: String, _ data: String) throws -> CommandEvent? {
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

    private static func output(_ event: String, _ data: String) throws -> Data {
        let output = try body(Output.self, event, data)
        if let text = output.text { return Data(text.utf8) }
        if let base64 = output.base64, let bytes = Data(base64Encoded: base64) { return bytes }
        throw AgentKernelError.badAnswer("the event \(event) has no output")
    }

    private static func body<T: Decodable>(_ type: T.Type, _ event: String, _ data: String) throws -> T {
        do {
            return try JSONDecoder().decode(type, from: Data(data.utf8))
        } catch {
            throw AgentKernelError.badAnswer("the event \(event) is not in the form that it should be: \(error)")
        }
    }
}
