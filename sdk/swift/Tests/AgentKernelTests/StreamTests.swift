import XCTest

@testable import AgentKernel

final class StreamTests: XCTestCase {
    private static let started = LocalServer.chunk("event: started\ndata: {\"sandbox\":\"run-1\"}\n\n")
    private static let exit = LocalServer.chunk(
        "event: exit\ndata: {\"code\":3,\"duration_ms\":1,\"timed_out\":false,\"sandbox\":\"run-1\"}\n\n")

    private static func output(_ bytes: Int) -> String {
        LocalServer.chunk("event: stdout\ndata: {\"text\":\"\(String(repeating: "x", count: bytes))\"}\n\n")
    }

    func testEventsUntilTheExit() async throws {
        let server = try LocalServer { peer in
            _ = peer.request()
            peer.send(LocalServer.streamHead + Self.started + Self.output(5) + Self.exit)
            peer.waitForEnd()
        }
        defer { server.stop() }
        var events: [CommandEvent] = []
        for try await event in try server.client().stream(["x"]) { events.append(event) }
        XCTAssertEqual(events.count, 3)
        XCTAssertEqual(events.first, .started(sandbox: "run-1"))
        XCTAssertEqual(events.dropFirst().first, .stdout(Data("xxxxx".utf8)))
    }

    func testLeavingTheLoopHangsUpThoughTheSequenceIsKept() async throws {
        let over = expectation(description: "the server sees the end")
        let server = try LocalServer { peer in
            _ = peer.request()
            peer.send(LocalServer.streamHead + Self.started)
            peer.waitForEnd()
            over.fulfill()
        }
        defer { server.stop() }
        let events = try server.client().stream(["x"])
        for try await _ in events { break }
        await fulfillment(of: [over], timeout: 20)
        do {
            for try await _ in events { XCTFail("the command ran twice") }
            XCTFail("a second loop was let through")
        } catch AgentKernelError.request {}
    }

    func testASlowReaderHoldsTheServerBack() async throws {
        let sent = Counter()
        let server = try LocalServer { peer in
            _ = peer.request()
            peer.send(LocalServer.streamHead + Self.started)
            let piece = Self.output(64 * 1024)
            while peer.send(piece) { sent.add(piece.utf8.count) }
        }
        defer { server.stop() }
        var iterator = try server.client().stream(["x"]).makeAsyncIterator()
        _ = try await iterator.next()
        // Sent is what the kernel holds, which grows no more once its buffers are full.
        var before = -1
        while before != sent.value {
            before = sent.value
            try await Task.sleep(for: .milliseconds(200))
        }
        XCTAssertLessThan(before, 16 * 1024 * 1024)
        for _ in 0..<50 { _ = try await iterator.next() }
        XCTAssertGreaterThan(before, 0)
    }

    func testSilenceEndsAStreamAndHeartbeatsDoNot() async throws {
        let server = try LocalServer { peer in
            _ = peer.request()
            peer.send(LocalServer.streamHead + Self.started)
            for _ in 0..<4 {
                Thread.sleep(forTimeInterval: 0.6)
                peer.send(LocalServer.chunk(":\n\n"))
            }
            peer.send(Self.output(1))
            peer.waitForEnd()
        }
        defer { server.stop() }
        var events = 0
        do {
            for try await _ in try server.client(requestTimeout: .seconds(2)).stream(["x"]) { events += 1 }
            XCTFail("it ended")
        } catch AgentKernelError.timeout {}
        XCTAssertEqual(events, 2)
    }

    func testCancellingTheTaskEndsTheLoop() async throws {
        let server = try LocalServer { peer in
            _ = peer.request()
            peer.send(LocalServer.streamHead + Self.started)
            peer.waitForEnd()
        }
        defer { server.stop() }
        let first = expectation(description: "the first event")
        let client = server.client()
        let loop = Task {
            for try await _ in try client.stream(["x"]) { first.fulfill() }
        }
        await fulfillment(of: [first], timeout: 20)
        loop.cancel()
        do {
            try await loop.value
            XCTFail("it ended without an error")
        } catch is CancellationError {}
    }
}

final class Counter: @unchecked Sendable {
    private let lock = NSLock()
    private var sum = 0

    var value: Int { lock.withLock { sum } }

    func add(_ count: Int) {
        lock.withLock { sum += count }
    }
}
