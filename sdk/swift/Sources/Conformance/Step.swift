import AgentKernel
import Foundation

/// One step of a scenario, with options as the API writes them.
struct Step: Sendable {
    private static let known: Set<String> = [
        "as", "base64", "call", "cancel_after_ms", "cols", "command", "commands", "content", "expect", "force", "from",
        "leave_after", "memory", "mode", "name", "name_of", "on", "options", "parallel", "path", "paths", "recursive",
        "rows", "skip", "state", "stdin_base64", "typed",
    ]
    private let fields: [String: JSON]

    init(_ fields: [String: JSON]) throws {
        if let unknown = fields.keys.first(where: { !Self.known.contains($0) }) {
            throw Unknown(description: "a step has the field \(unknown), which this runner does not know")
        }
        self.fields = fields
    }

    subscript(_ name: String) -> JSON? { fields[name] }

    func text(_ name: String) -> String { fields[name]?.text ?? "" }

    func words(_ name: String) -> [String] { fields[name]?.words ?? [] }

    func content() -> Data {
        fields["content"]?.text.map { Data($0.utf8) } ?? Data(base64Encoded: text("base64")) ?? Data()
    }

    func commands() throws -> [Step] {
        guard case .list(let commands)? = fields["commands"] else { return [] }
        return try commands.map { try Step($0.fields ?? [:]) }
    }

    /// Options of one kind. What this kind does not have would go missing without a word, so it ends the runner.
    func options<Options: Codable>(_ type: Options.Type) throws -> Options {
        let given = fields["options"] ?? .object([:])
        let own = try JSONDecoder().decode(type, from: JSONEncoder().encode(given))
        if let unknown = given.missing(in: try JSON(of: own)) {
            throw Unknown(description: "the option \(unknown) of \(text("call")) is none of \(type)")
        }
        return own
    }

    func runOptions() throws -> RunOptions {
        var own = try options(RunOptions.self)
        if let base64 = fields["stdin_base64"]?.text { own.stdin = Data(base64Encoded: base64).map(Input.init) }
        return own
    }

    func refuseOptions() throws {
        if fields["options"] != nil { throw Unknown(description: "\(text("call")) takes no options") }
    }

    func shown(_ event: CommandEvent) -> [String: JSON] {
        switch event {
        case .started(let sandbox): return ["type": .text("started"), "sandbox": .text(sandbox)]
        case .stdout(let data): return output("stdout", data)
        case .stderr(let data): return output("stderr", data)
        case .exit(let exit):
            return ["type": .text("exit"), "code": .number(Double(exit.code)), "timed_out": .flag(exit.timedOut)]
        }
    }

    private func output(_ type: String, _ data: Data) -> [String: JSON] {
        fields["options"]?.fields?["encoding"]?.text == "base64"
            ? ["type": .text(type), "base64": .text(data.base64EncodedString())]
            : ["type": .text(type), "text": .text(String(decoding: data, as: UTF8.self))]
    }
}
