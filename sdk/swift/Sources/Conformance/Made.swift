import AgentKernel
import Foundation

/// What each call of a scenario is in this SDK, and what earlier steps have made.
final class Made: @unchecked Sendable {
    private let client: AgentKernel
    private var sandboxes: [String: Sandbox] = [:]

    init(client: AgentKernel) {
        self.client = client
    }

    func listen(_ step: Step) throws -> AsyncThrowingStream<CommandEvent, any Error> {
        step.text("call") == "stream"
            ? try client.stream(step.words("command"), step.runOptions())
            : try on(step).execStream(step.words("command"), step.execOptions())
    }

    func act(_ step: Step) async throws -> Any {
        switch step.text("call") {
        case "health": return try shown(await client.health())
        case "version": return try shown(await client.version())
        case "run": return try shown(await client.run(step.words("command"), step.runOptions()))
        case "batch": return try await batch(step)
        // A closure holds a session in this language; a scenario opens and closes one in steps of their own.
        case "session":
            var options = step.createOptions()
            options.ttl = options.ttl ?? "24h"
            return try keep(step, await client.sandboxes.create("session-\(UUID().uuidString.lowercased())", options))
        case "close":
            do { try await on(step).remove(force: true) } catch let error as AgentKernelError where error.code == .notFound {}
            return [String: Any]()
        case "scoped":
            let info = try await client.withSession(step.createOptions()) { $0.info }
            do {
                _ = try await client.sandboxes.get(info.name)
                return ["inside": info.state, "after": "there"]
            } catch AgentKernelError.api(let error) {
                return ["inside": info.state, "after": error.rawCode]
            }
        case "create": return try keep(step, await client.sandboxes.create(step.text("name"), step.createOptions()))
        case "get":
            let name = sandboxes[step.text("name_of")]?.name ?? step.text("name")
            return try shown(await client.sandboxes.get(name).info)
        case "fork": return try keep(step, await on(step).fork(step.text("name"), step.copyOptions()))
        case "restore":
            let snapshots = client.snapshots
            return try keep(step, await snapshots.restore(step.text("from"), as: step.text("name"), step.copyOptions()))
        case "snapshots": return ["names": try await client.snapshots.list().map(\.name)]
        case "get_snapshot": return try shown(await client.snapshots.get(step.text("name")))
        case "remove_snapshot":
            try await client.snapshots.remove(step.text("name"))
            return [String: Any]()
        case "list":
            return ["names": try await client.sandboxes.list(state: step.fields["state"] as? String).map(\.name)]
        default: return try await actOn(step, try on(step))
        }
    }

    func removeSessions() async {
        for sandbox in sandboxes.values where sandbox.name.hasPrefix("session-") {
            try? await sandbox.remove(force: true)
        }
    }

    private func actOn(_ step: Step, _ on: Sandbox) async throws -> Any {
        let path = step.text("path")
        let nothing = [String: Any]()
        switch step.text("call") {
        case "start": return try shown(await on.start())
        case "stop": return try shown(await on.stop())
        case "pause": return try shown(await on.pause())
        case "resume": return try shown(await on.resume())
        case "snapshot": return try shown(await on.snapshot(name: step.fields["name"] as? String, memory: step.fields["memory"] as? Bool))
        case "remove":
            try await on.remove(force: step.fields["force"] as? Bool ?? false)
            return nothing
        case "stats": return try shown(await on.stats())
        case "diff": return try shown(await on.diff())
        case "patch": return ["patch": String(decoding: try await on.patch(), as: UTF8.self)]
        case "apply": return try shown(await on.apply(paths: step.fields["paths"] as? [String]))
        case "exec": return try shown(await on.exec(step.words("command"), step.execOptions()))
        case "exec_detached": return try shown(await on.execDetached(step.words("command"), step.execOptions()))
        case "logs": return ["execs": try shown(await on.logs())]
        case "read": return ["base64": try await on.files.read(path).base64EncodedString()]
        case "write":
            let mode = Int(step.text("mode"), radix: 8)
            return try shown(await on.files.write(path, step.content(), mode: mode))
        case "make_folder": return try shown(await on.files.makeFolder(path))
        case "list_files": return try shown(await on.files.list(path))
        case "remove_file":
            try await on.files.remove(path, recursive: step.fields["recursive"] as? Bool ?? false)
            return nothing
        default: throw AgentKernelError.request("no such call: \(step.text("call"))")
        }
    }

    private func batch(_ step: Step) async throws -> Any {
        let asked = (step.fields["commands"] as? [[String: Any]] ?? []).map(Step.init)
        let commands = asked.map { (command: $0.words("command"), options: $0.runOptions()) }
        let results = try await client.batch(commands, parallel: step.fields["parallel"] as? Int)
        return [
            "results": try results.map { result -> Any in
                switch result {
                case .success(let value): return try shown(value)
                case .failure(let error): return ["error": apiErrorShown(error)]
                }
            }
        ]
    }

    private func keep(_ step: Step, _ sandbox: Sandbox) throws -> Any {
        sandboxes[step.text("as")] = sandbox
        return try shown(sandbox.info)
    }

    private func on(_ step: Step) throws -> Sandbox {
        guard let found = sandboxes[step.text("on")] else {
            throw AgentKernelError.request("no earlier step has made \(step.text("on"))")
        }
        return found
    }

    private func shown(_ value: some Encodable) throws -> Any {
        try JSONSerialization.jsonObject(with: try JSONEncoder().encode(value))
    }
}
