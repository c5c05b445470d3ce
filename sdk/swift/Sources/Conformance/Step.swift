import AgentKernel
import Foundation

/// One step of a scenario, with options as the API writes them.
struct Step: @unchecked Sendable {
    let fields: [String: Any]

    func text(_ name: String) -> String { fields[name] as? String ?? "" }

    func words(_ name: String) -> [String] { fields[name] as? [String] ?? [] }

    func content() -> Data {
        (fields["content"] as? String).map { Data($0.utf8) } ?? Data(base64Encoded: text("base64")) ?? Data()
    }

    func runOptions() -> RunOptions {
        var own = RunOptions()
        own.cwd = options["cwd"] as? String
        own.env = options["env"] as? [String: String]
        own.timeoutMs = options["timeout_ms"] as? Int
        own.encoding = options["encoding"] as? String
        own.image = options["image"] as? String
        own.profile = options["profile"] as? String
        own.network = network
        own.resources = resources
        own.stdin = stdin
        return own
    }

    func execOptions() -> ExecOptions {
        var own = ExecOptions()
        own.cwd = options["cwd"] as? String
        own.env = options["env"] as? [String: String]
        own.timeoutMs = options["timeout_ms"] as? Int
        own.encoding = options["encoding"] as? String
        return own
    }

    func copyOptions() -> CopyOptions {
        var own = CopyOptions()
        own.start = options["start"] as? Bool
        return own
    }

    func createOptions() -> CreateOptions {
        var own = CreateOptions()
        own.image = options["image"] as? String
        own.env = options["env"] as? [String: String]
        own.dir = options["dir"] as? String
        own.workspace = options["workspace"] as? String
        own.ttl = options["ttl"] as? String
        own.start = options["start"] as? Bool
        own.network = network
        own.resources = resources
        return own
    }

    func shown(_ event: CommandEvent) -> [String: Any] {
        switch event {
        case .started(let sandbox): return ["type": "started", "sandbox": sandbox]
        case .stdout(let data): return output("stdout", data)
        case .stderr(let data): return output("stderr", data)
        case .exit(let exit): return ["type": "exit", "code": exit.code, "timed_out": exit.timedOut]
        }
    }

    private func output(_ type: String, _ data: Data) -> [String: Any] {
        options["encoding"] as? String == "base64"
            ? ["type": type, "base64": data.base64EncodedString()]
            : ["type": type, "text": String(decoding: data, as: UTF8.self)]
    }

    private var options: [String: Any] { fields["options"] as? [String: Any] ?? [:] }

    private var network: Network? {
        (options["network"] as? Bool).map { $0 ? .on : .off }
    }

    private var resources: Resources? {
        guard let given = options["resources"] as? [String: Any] else { return nil }
        var own = Resources()
        own.vcpus = given["vcpus"] as? Double
        own.memoryMb = given["memory_mb"] as? Int
        own.pids = given["pids"] as? Int
        return own
    }

    private var stdin: Input? {
        if let base64 = fields["stdin_base64"] as? String { return Data(base64Encoded: base64).map(Input.init) }
        return (options["stdin"] as? String).map { Input(Data($0.utf8)) }
    }
}
