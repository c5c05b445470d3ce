// What the SDK costs, as one line of JSON. What is asked of which server is the caller's to say.
//
//     Measure health|list|run COUNT AT_ONCE     calls a second
//     Measure stream BYTES PAUSE_MS             output that is read slowly
//     Measure timeout MS                        when a call to a server that does not answer ends
import AgentKernel
import Foundation

@main
struct Measure {
    static func main() async throws {
        let words = CommandLine.arguments + ["", "", ""]
        let (first, second) = (Int(words[2]) ?? 1, Int(words[3]) ?? 1)
        let client = AgentKernel()
        let figures: [String: Double]
        switch words[1] {
        case "health": figures = try await calls(first, second) { _ = try await client.health() }
        case "list": figures = try await calls(first, second) { _ = try await client.sandboxes.list() }
        case "run":
            let options = RunOptions(image: "host", network: .off)
            figures = try await calls(first, second) { _ = try await client.run(["true"], options) }
        case "stream": figures = try await stream(client, bytes: first, pause: .milliseconds(second))
        case "timeout": figures = await timeout(.milliseconds(first))
        default: throw AgentKernelError.request("what is to be measured? health, list, run, stream or timeout")
        }
        print(String(decoding: try JSONEncoder().encode(figures), as: UTF8.self))
    }

    private static func calls(
        _ count: Int, _ atOnce: Int, _ call: @escaping @Sendable () async throws -> Void
    ) async throws -> [String: Double] {
        func round(_ each: Int) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<atOnce { group.addTask { for _ in 0..<each { try await call() } } }
                try await group.waitForAll()
            }
        }
        // What stays open and what threads there are after the first is what there may be after the last.
        try await round(1)
        let before = own()
        let began = ContinuousClock.now
        try await round(count / atOnce)
        let took = seconds(since: began)
        let after = own()
        return [
            "calls_per_second": Double(count / atOnce * atOnce) / took,
            "descriptors_before": before.descriptors, "descriptors_after": after.descriptors,
            "threads_before": before.threads, "threads_after": after.threads,
        ]
    }

    private static func stream(_ client: AgentKernel, bytes: Int, pause: Duration) async throws -> [String: Double] {
        let command = ["sh", "-c", "yes 'a line of output' | head -c \(bytes)"]
        let options = RunOptions(timeout: .seconds(600), image: "host", network: .off)
        var got = 0
        let began = ContinuousClock.now
        for try await event in try client.stream(command, options) {
            guard case .stdout(let data) = event else { continue }
            got += data.count
            if pause > .zero { try await Task.sleep(for: pause) }
        }
        return ["bytes": Double(got), "seconds": seconds(since: began), "peak_kb": own().peakKB]
    }

    private static func timeout(_ limit: Duration) async -> [String: Double] {
        let client = AgentKernel(requestTimeout: limit, maxRetries: 0)
        let began = ContinuousClock.now
        do {
            _ = try await client.health()
            return ["timed_out": 0, "ms": seconds(since: began) * 1000]
        } catch AgentKernelError.timeout {
            return ["timed_out": 1, "ms": seconds(since: began) * 1000]
        } catch {
            return ["timed_out": -1, "ms": seconds(since: began) * 1000]
        }
    }

    private static func seconds(since began: ContinuousClock.Instant) -> Double {
        let took = ContinuousClock.now - began
        return Double(took.components.seconds) + Double(took.components.attoseconds) / 1e18
    }

    /// Of this program, where /proc tells; -1 elsewhere.
    private static func own() -> (descriptors: Double, threads: Double, peakKB: Double) {
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count ?? -1
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        func field(_ name: String) -> Double {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
            return line.flatMap { Double($0.filter(\.isNumber)) } ?? -1
        }
        return (Double(descriptors), field("Threads"), field("VmHWM"))
    }
}
