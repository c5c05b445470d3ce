import XCTest

@testable import AgentKernel

final class TransportTests: XCTestCase {
    private func failure(_ body: () async throws -> Void) async -> (any Error)? {
        do {
            try await body()
            return nil
        } catch { return error }
    }

    private func healthOf(_ serve: @escaping @Sendable (LocalServer.Peer) -> Void) async -> (any Error)? {
        do {
            let server = try LocalServer(serve)
            defer { server.stop() }
            return await failure { _ = try await server.client().health() }
        } catch { return error }
    }

    func testOneConnectionServesManyRequests() async throws {
        let server = try LocalServer { peer in while peer.request() != nil { peer.send(LocalServer.healthy) } }
        defer { server.stop() }
        let client = server.client()
        for _ in 0..<200 { _ = try await client.health() }
        XCTAssertEqual(server.connections, 1)
    }

    func testAConnectionIsUsedAgainAfterAnAnswerInChunks() async throws {
        let server = try LocalServer { peer in
            while peer.request() != nil {
                peer.send(LocalServer.streamHead + LocalServer.chunk(#"{"success":true,"#))
                peer.send(LocalServer.chunk(#""data":{"status":"ok"}}"#) + "0\r\nTrailer: x\r\n\r\n")
            }
        }
        defer { server.stop() }
        let client = server.client()
        for _ in 0..<20 { _ = try await client.health() }
        XCTAssertEqual(server.connections, 1)
    }

    func testSixtyFourCallsAtOnceShareTheirConnectionsAfterwards() async throws {
        let server = try LocalServer { peer in while peer.request() != nil { peer.send(LocalServer.healthy) } }
        defer { server.stop() }
        let client = server.client()
        for _ in 0..<5 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<64 { group.addTask { _ = try await client.health() } }
                try await group.waitForAll()
            }
        }
        XCTAssertLessThanOrEqual(server.connections, 64)
    }

    func testAConnectionThatTheServerClosedCostsNoCall() async throws {
        let server = try LocalServer { peer in
            _ = peer.request()
            peer.send(LocalServer.healthy)
        }
        defer { server.stop() }
        let client = server.client(maxRetries: 1)
        for _ in 0..<20 { _ = try await client.health() }
        XCTAssertGreaterThanOrEqual(server.connections, 20)
    }

    func testBytesThatDrip() async throws {
        let server = try LocalServer { peer in
            _ = peer.request()
            for byte in LocalServer.healthy.utf8 { peer.send([byte]) }
        }
        defer { server.stop() }
        let status = try await server.client().health().status
        XCTAssertEqual(status, .ok)
    }

    func testInterimAnswersArePassedOver() async throws {
        let server = try LocalServer { peer in
            _ = peer.request()
            peer.send("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + LocalServer.healthy)
        }
        defer { server.stop() }
        _ = try await server.client().health()
    }

    func testAnAnswerWithoutLengthEndsWithItsConnection() async throws {
        let server = try LocalServer { peer in
            _ = peer.request()
            peer.send("HTTP/1.1 200 OK\r\n\r\n{\"success\":true,\"data\":{\"status\":\"ok\"}}")
        }
        defer { server.stop() }
        _ = try await server.client().health()
    }

    func testALengthThatIsTooLongIsABrokenConnection() async {
        let error = await healthOf { peer in
            _ = peer.request()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"success\"")
        }
        guard case .transport(_, unsent: false)? = error as? AgentKernelError else { return XCTFail("\(String(describing: error))") }
    }

    func testAnswersThatAreNoHTTP() async {
        for text in [
            "SSH-2.0-server\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\n",
            "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 200_000) + "\r\n\r\n",
        ] {
            let error = await healthOf { peer in
                _ = peer.request()
                peer.send(text)
            }
            guard case .badAnswer? = error as? AgentKernelError else {
                XCTFail("\(text.prefix(60)): \(String(describing: error))")
                continue
            }
        }
    }

    func testAServerThatAnswersBeforeItHasReadEverything() async throws {
        let server = try LocalServer { peer in
            peer.send(LocalServer.answer(
                #"{"success":false,"error":{"code":"payload_too_large","message":"m","hint":"h"}}"#, status: "413 No"))
            peer.waitForEnd()
        }
        defer { server.stop() }
        let error = await failure {
            _ = try await server.client().run(["cat"], RunOptions(stdin: Input(Data(count: 6_000_000))))
        }
        XCTAssertEqual((error as? AgentKernelError)?.code, .payloadTooLarge)
        XCTAssertEqual((error as? AgentKernelError)?.recoverySuggestion, "h")
        XCTAssertEqual(error?.localizedDescription, "m")
    }

    func testNoServerIsAnUnsentRequest() async throws {
        let server = try LocalServer { _ in }
        server.stop()
        let error = await failure { _ = try await server.client().health() }
        guard case .transport(_, unsent: true)? = error as? AgentKernelError else { return XCTFail("\(String(describing: error))") }
    }

    func testATimeOutComesInItsMilliseconds() async throws {
        let server = try LocalServer { $0.waitForEnd() }
        defer { server.stop() }
        let client = server.client(requestTimeout: .milliseconds(250))
        var fastest = Double.infinity
        for _ in 0..<5 {
            let began = ContinuousClock.now
            let error = await failure { _ = try await client.health() }
            let took = (ContinuousClock.now - began).inMilliseconds
            guard case .timeout? = error as? AgentKernelError else { return XCTFail("\(String(describing: error))") }
            XCTAssertGreaterThanOrEqual(took, 250)
            fastest = min(fastest, took)
        }
        // A busy machine may be late once; whole seconds would be late each time.
        XCTAssertLessThan(fastest, 900)
    }

    func testAnAnswerThatDripsForEverIsNotWaitedFor() async {
        let error = await failure {
            let server = try LocalServer { peer in
                _ = peer.request()
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                while peer.send("x") { Thread.sleep(forTimeInterval: 0.01) }
            }
            defer { server.stop() }
            _ = try await server.client(requestTimeout: .milliseconds(300)).health()
        }
        guard case .timeout? = error as? AgentKernelError else { return XCTFail("\(String(describing: error))") }
    }

    func testCancellingHangsUpAtOnce() async throws {
        let over = expectation(description: "the server sees the end")
        let under = expectation(description: "the request is under way")
        let server = try LocalServer { peer in
            _ = peer.request()
            under.fulfill()
            peer.waitForEnd()
            over.fulfill()
        }
        defer { server.stop() }
        let client = server.client()
        let call = Task { try await client.run(["sleep", "600"]) }
        await fulfillment(of: [under], timeout: 20)
        call.cancel()
        await fulfillment(of: [over], timeout: 20)
        let error = await failure { _ = try await call.value }
        XCTAssertTrue(error is CancellationError, "\(String(describing: error))")
    }

    func testAKeyWithALineBreakIsNotSent() async throws {
        let server = try LocalServer { _ in }
        defer { server.stop() }
        let client = AgentKernel(baseURL: "http://127.0.0.1:\(server.port)", apiKey: "a\r\nX: b", maxRetries: 0)
        let error = await failure { _ = try await client.health() }
        guard case .request? = error as? AgentKernelError else { return XCTFail("\(String(describing: error))") }
    }
}
