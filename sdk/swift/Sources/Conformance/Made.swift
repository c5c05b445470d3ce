import AgentKernel
import Foundation

/// What each call of a scenario is in this SDK, and what earlier steps have made.
actor Made {
    private let client: AgentKernel
    private var sandboxes: [String: Sandbox] = [:]

    init(client: AgentKernel) {
        self.client = client
    }

    func listen(_ step: Step) throws -> CommandEvents {
        step.text("call") == "stream"
            ? try client.stream(step.words("command"), step.runOptions())
            : try on(step).execStream(step.words("command"), step.options(ExecOptions.self))
    }

    func act(_ step: Step) async throws -> JSON {
        switch step.text("call") {
        case "run": return try JSON(of: await client.run(step.words("command"), step.runOptions()))
        case "batch": return try await batch(step)
        // A closure holds a session in this language; a scenario opens and closes one in steps of their own.
        case "session":
            var options = try step.options(CreateOptions.self)
            options.ttl = options.ttl ?? "24h"
            return try keep(step, await client.sandboxes.create("session-\(UUID().uuidString.lowercased())", options))
        case "scoped": return try await scoped(step)
        case "create":
            return try keep(step, await client.sandboxes.create(step.text("name"), step.options(CreateOptions.self)))
        case "fork": return try keep(step, await on(step).fork(step.text("name"), step.options(CopyOptions.self)))
        case "restore":
            let options = try step.options(CopyOptions.self)
            return try keep(step, await client.snapshots.restore(step.text("from"), as: step.text("name"), options))
        case "exec":
            return try JSON(of: await on(step).exec(step.words("command"), step.options(ExecOptions.self)))
        case "exec_detached":
            return try JSON(of: await on(step).execDetached(step.words("command"), step.options(ExecOptions.self)))
        default:
            try step.refuseOptions()
            return try await look(step)
        }
    }

    func removeSessions() async throws {
        for sandbox in sandboxes.values where sandbox.name.hasPrefix("session-") {
            do {
                try await sandbox.remove(force: true)
            } catch let error as AgentKernelError where error.code == .notFound {
                continue
            }
        }
    }

    private func look(_ step: Step) async throws -> JSON {
        switch step.text("call") {
        case "health": return try JSON(of: await client.health())
        case "version": return try JSON(of: await client.version())
        case "get":
            let name = sandboxes[step.text("name_of")]?.name ?? step.text("name")
            return try JSON(of: await client.sandboxes.get(name).info)
        case "list":
            let state = step["state"]?.text.map { SandboxState(rawValue: $0) }
            return try names(await client.sandboxes.list(state: state).map(\.name))
        case "snapshots": return try names(await client.snapshots.list().map(\.name))
        case "get_snapshot": return try JSON(of: await client.snapshots.get(step.text("name")))
        case "remove_snapshot":
            try await client.snapshots.remove(step.text("name"))
            return .object([:])
        default: return try await actOn(step)
        }
    }

    private func actOn(_ step: Step) async throws -> JSON {
        let path = step.text("path")
        switch step.text("call") {
        case "start": return try JSON(of: await on(step).start())
        case "stop": return try JSON(of: await on(step).stop())
        case "pause": return try JSON(of: await on(step).pause())
        case "resume": return try JSON(of: await on(step).resume())
        case "snapshot":
            return try JSON(of: await on(step).snapshot(name: step["name"]?.text, memory: step["memory"]?.flag))
        case "close":
            do { try await on(step).remove(force: true) } catch let error as AgentKernelError where error.code == .notFound {}
        case "remove": try await on(step).remove(force: step["force"]?.flag ?? false)
        case "stats": return try JSON(of: await on(step).stats())
        case "diff": return try JSON(of: await on(step).diff())
        case "patch": return .object(["patch": .text(String(decoding: try await on(step).patch(), as: UTF8.self))])
        case "apply": return try JSON(of: await on(step).apply(paths: step["paths"]?.words))
        case "logs": return .object(["execs": try JSON(of: await on(step).logs())])
        case "read": return .object(["base64": .text(try await on(step).files.read(path).base64EncodedString())])
        case "write":
            let mode = Int(step.text("mode"), radix: 8)
            return try JSON(of: await on(step).files.write(path, step.content(), mode: mode))
        case "make_folder": return try JSON(of: await on(step).files.makeFolder(path))
        case "list_files": return try JSON(of: await on(step).files.list(path))
        case "remove_file": try await on(step).files.remove(path, recursive: step["recursive"]?.flag ?? false)
        case let call: throw Unknown(description: "the call \(call) is none that this runner knows")
        }
        return .object([:])
    }

    private func scoped(_ step: Step) async throws -> JSON {
        let info = try await client.withSession(step.options(CreateOptions.self)) { $0.info }
        let inside = JSON.text(info.state.rawValue)
        do {
            _ = try await client.sandboxes.get(info.name)
            return .object(["inside": inside, "after": .text("there")])
        } catch AgentKernelError.api(let error) {
            return .object(["inside": inside, "after": .text(error.rawCode)])
        }
    }

    private func batch(_ step: Step) async throws -> JSON {
        try step.refuseOptions()
        let commands = try step.commands().map { (command: $0.words("command"), options: try $0.runOptions()) }
        let results = try await client.batch(commands, parallel: step["parallel"]?.number.map { Int($0) })
        let shown = try results.map { result -> JSON in
            switch result {
            case .success(let value): return try JSON(of: value)
            case .failure(let error): return .object(["error": apiErrorShown(error)])
            }
        }
        return .object(["results": .list(shown)])
    }

    private func names(_ names: [String]) -> JSON {
        .object(["names": .list(names.map { .text($0) })])
    }

    private func keep(_ step: Step, _ sandbox: Sandbox) throws -> JSON {
        sandboxes[step.text("as")] = sandbox
        return try JSON(of: sandbox.info)
    }

    private func on(_ step: Step) throws -> Sandbox {
        guard let found = sandboxes[step.text("on")] else {
            throw Unknown(description: "no earlier step has made \(step.text("on")), which \(step.text("call")) is about")
        }
        return found
    }
}
