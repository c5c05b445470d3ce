// Runs a command, listens to another while it runs, and keeps a sandbox for a while.
import AgentKernel
import Foundation

let client = AgentKernel()
print(try await client.run(["echo", "hello"]).stdout, terminator: "")

for try await event in try client.stream(["sh", "-c", "echo one; echo two"]) {
    if case .stdout(let data) = event { print(String(decoding: data, as: UTF8.self), terminator: "") }
}

var options = CreateOptions()
options.network = .off
try await client.withSession(options) { session in
    _ = try await session.files.write("greeting.txt", Data("kept\n".utf8))
    print(try await session.exec(["cat", "greeting.txt"]).stdout, terminator: "")
    do {
        _ = try await session.files.read("nothing.txt")
    } catch let error as AgentKernelError where error.code == .notFound {
        print("not there")
    }
}
