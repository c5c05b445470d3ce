// Does what sdk/conformance/scenarios.json says, by this SDK, and writes what came of each step as a line of JSON.
// Whether that is right is judged by whoever started it.
//
//     Conformance scenarios.json real|scripted
import AgentKernel
import Foundation

let words = CommandLine.arguments
let environment = ProcessInfo.processInfo.environment
let text = try String(contentsOfFile: words[1], encoding: .utf8)
    .replacingOccurrences(of: "{name}", with: environment["CONFORMANCE_NAME"] ?? "")
    .replacingOccurrences(of: "{dir}", with: environment["CONFORMANCE_DIR"] ?? "")
let file = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]

for scenario in file["scenarios"] as? [[String: Any]] ?? [] where scenario["server"] as? String == words[2] {
    let id = scenario["id"] as? String ?? ""
    let settings = scenario["client"] as? [String: Any] ?? [:]
    let scripted = environment["CONFORMANCE_SCRIPTED_URL"].map { "\($0)/\(id)" }
    let client = AgentKernel(
        baseURL: words[2] == "scripted" ? scripted : nil,
        apiKey: settings["api_key"] as? String,
        requestTimeoutMs: settings["request_timeout_ms"] as? Double ?? 120_000,
        maxRetries: settings["max_retries"] as? Int ?? 2
    )
    let made = Made(client: client)
    for (index, fields) in (scenario["steps"] as? [[String: Any]] ?? []).enumerated() {
        let step = Step(fields: fields)
        if (fields["skip"] as? [String: Any])?["swift"] != nil { continue }
        var line = await outcome(made, step)
        line["scenario"] = id
        line["step"] = index
        print(String(decoding: try JSONSerialization.data(withJSONObject: line), as: UTF8.self))
    }
    await made.removeSessions()
}

func outcome(_ made: Made, _ step: Step) async -> [String: Any] {
    var events: [[String: Any]] = []
    do {
        if step.text("call") == "stream" || step.text("call") == "exec_stream" {
            for try await event in try made.listen(step) {
                let shown = step.shown(event)
                events.append(shown)
                if shown["type"] as? String == step.fields["leave_after"] as? String { break }
            }
            return ["events": events]
        }
        let doing = Task { try await made.act(step) }
        if let ms = step.fields["cancel_after_ms"] as? Double {
            try await Task.sleep(nanoseconds: UInt64(ms * 1_000_000))
            doing.cancel()
        }
        return ["result": try await doing.value]
    } catch {
        let shown: [String: Any] = ["error": errorShown(error)]
        return events.isEmpty ? shown : shown.merging(["events": events]) { first, _ in first }
    }
}

func errorShown(_ error: any Error) -> [String: Any] {
    switch error {
    case AgentKernelError.api(let error):
        return apiErrorShown(error)
    case AgentKernelError.transport(let message, _):
        return ["kind": "transport", "message": message]
    case AgentKernelError.timeout:
        return ["kind": "timeout"]
    case AgentKernelError.badAnswer:
        return ["kind": "bad_answer"]
    case is CancellationError:
        return ["kind": "cancelled"]
    default:
        return ["kind": "unexpected", "message": "\(error)"]
    }
}

func apiErrorShown(_ error: ApiError) -> [String: Any] {
    [
        "kind": "api",
        "code": error.rawCode,
        "status": error.status ?? NSNull(),
        "hint": error.hint ?? NSNull(),
        "retryable": error.isRetryable,
        "retry_after_ms": error.retryAfterMs ?? NSNull(),
        "has_message": !error.message.isEmpty,
    ]
}
