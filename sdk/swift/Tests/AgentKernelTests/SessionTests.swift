import XCTest

@testable import AgentKernel

final class SessionTests: XCTestCase {
    func testASessionOfTheMainActor() async throws {
        let server = try LocalServer { peer in
            while peer.request() != nil {
                peer.send(LocalServer.answer(
                    #"{"success":false,"error":{"code":"conflict","message":"taken","hint":null}}"#, status: "409 Conflict"))
            }
        }
        defer { server.stop() }
        let opened = try await Self.openings(server.client())
        XCTAssertEqual(opened, 0)
    }

    /// That it compiles in language mode 6 is most of this test: the closure changes what is of the main actor.
    @MainActor
    private static func openings(_ client: AgentKernel) async throws -> Int {
        var opened = 0
        do {
            try await client.withSession { _ in opened += 1 }
            XCTFail("it was opened")
        } catch let error as AgentKernelError where error.code == .conflict {}
        return opened
    }
}
