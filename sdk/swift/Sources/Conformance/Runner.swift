// Does what sdk/conformance/scenarios.json says, by this SDK, and writes what came of each step as a line of JSON.
// Whether that is right is judged by whoever started it. What it does not know of a scenario ends it.
//
//     Conformance scenarios.json real|scripted
import AgentKernel
import Foundation

@main
struct Runner {
    private static let settings: Set<String> = ["api_key", "request_timeout_ms", "max_retries"]

    static func main() async throws {
        let words = CommandLine.arguments
        let environment = ProcessInfo.processInfo.environment
        let text = try String(contentsOfFile: words[1], encoding: .utf8)
            .replacingOccurrences(of: "{name}", with: environment["CONFORMANCE_NAME"] ?? "")
            .replacingOccurrences(of: "{dir}", with: environment["CONFORMANCE_DIR"] ?? "")
        let file = try JSONDecoder().decode(JSON.self, from: Data(text.utf8))
        guard case .list(let scenarios)? = file.fields?["scenarios"] else { throw Unknown(description: "no scenarios") }
        for scenario in scenarios.compactMap(\.fields) where scenario["server"]?.text == words[2] {
            try await play(scenario, scriptedURL: words[2] == "scripted" ? environment["CONFORMANCE_SCRIPTED_URL"] : nil)
        }
    }

    private static func play(_ scenario: [String: JSON], scriptedURL: String?) async throws {
        let id = scenario["id"]?.text ?? ""
        let given = scenario["client"]?.fields ?? [:]
        if let unknown = given.keys.first(where: { !settings.contains($0) }) {
            throw Unknown(description: "the client has no setting \(unknown)")
        }
        let client = AgentKernel(
            baseURL: scriptedURL.map { "\($0)/\(id)" },
            apiKey: given["api_key"]?.text,
            requestTimeout: .milliseconds(given["request_timeout_ms"]?.number ?? 120_000),
            maxRetries: given["max_retries"]?.number.map { Int($0) } ?? 2
        )
        let made = Made(client: client)
        guard case .list(let steps)? = scenario["steps"] else { throw Unknown(description: "\(id) has no steps") }
        for (index, fields) in steps.compactMap(\.fields).enumerated() {
            if fields["skip"]?.fields?["swift"] != nil { continue }
            var line = try await outcome(made, try Step(fields))
            line["scenario"] = .text(id)
            line["step"] = .number(Double(index))
            print(String(decoding: try JSONEncoder().encode(JSON.object(line)), as: UTF8.self))
        }
        try await made.removeSessions()
    }

    private static func outcome(_ made: Made, _ step: Step) async throws -> [String: JSON] {
        var events: [JSON] = []
        do {
            if ["stream", "exec_stream"].contains(step.text("call")) {
                for try await event in try await made.listen(step) {
                    let shown = step.shown(event)
                    events.append(.object(shown))
                    if let last = step["leave_after"], shown["type"] == last { break }
                }
                return ["events": .list(events)]
            }
            let doing = Task { try await made.act(step) }
            if let ms = step["cancel_after_ms"]?.number {
                try await Task.sleep(for: .milliseconds(ms))
                doing.cancel()
            }
            return ["result": try await doing.value]
        } catch let error as Unknown {
            throw error
        } catch {
            let shown: [String: JSON] = ["error": errorShown(error)]
            return events.isEmpty ? shown : shown.merging(["events": .list(events)]) { first, _ in first }
        }
    }
}

func errorShown(_ error: any Error) -> JSON {
    switch error {
    case AgentKernelError.api(let error): return apiErrorShown(error)
    case AgentKernelError.transport(let message, _): return kind("transport", message)
    case AgentKernelError.timeout: return kind("timeout")
    case AgentKernelError.badAnswer(let message): return kind("bad_answer", message)
    case is CancellationError: return kind("cancelled")
    default: return kind("unexpected", "\(error)")
    }
}

func apiErrorShown(_ error: ApiError) -> JSON {
    .object([
        "kind": .text("api"),
        "code": .text(error.rawCode),
        "status": error.status.map { .number(Double($0)) } ?? .null,
        "hint": error.hint.map { .text($0) } ?? .null,
        "retryable": .flag(error.isRetryable),
        "retry_after_ms": error.retryAfter.map { .number(Double($0.components.seconds) * 1000) } ?? .null,
        "has_message": .flag(!error.message.isEmpty),
    ])
}

private func kind(_ kind: String, _ message: String = "") -> JSON {
    .object(["kind": .text(kind), "message": .text(message)])
}
