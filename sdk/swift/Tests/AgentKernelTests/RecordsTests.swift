import Foundation
import XCTest

@testable import AgentKernel

final class RecordsTests: XCTestCase {
    func testOptionsAreWrittenAsTheApiReadsThem() throws {
        let options = RunOptions(
            stdin: Input(Data([0, 0xFF])), timeout: .milliseconds(1500), profile: .restrictive, network: .domains(["a.b"]),
            resources: Resources(memoryMb: 64), workspace: .nothing)
        let written = try JSONSerialization.jsonObject(with: JSONEncoder().encode(options)) as? NSDictionary
        XCTAssertEqual(
            written,
            [
                "stdin": "AP8=", "stdin_encoding": "base64", "timeout_ms": 1500, "profile": "restrictive",
                "network": ["allowed_domains": ["a.b"]], "resources": ["memory_mb": 64], "workspace": "none",
            ])
    }

    func testAWordOfTomorrowIsKept() throws {
        XCTAssertEqual(try JSONDecoder().decode([Backend].self, from: Data(#"["linux","cloud"]"#.utf8)), [.linux, .unknown("cloud")])
        XCTAssertEqual(Backend.unknown("cloud").rawValue, "cloud")
        for backend in Backend.allCases { XCTAssertEqual(Backend(rawValue: backend.rawValue), backend) }
    }

    func testRetries() {
        func pause(_ error: AgentKernelError, _ method: String, _ attempt: Int = 0) -> Duration? {
            Retry.pause(after: error, method: method, attempt: attempt)
        }
        func refused(_ code: ErrorCode, _ status: Int, after: Duration? = nil) -> AgentKernelError {
            var error = ApiError(rawCode: code.rawValue, message: "m", hint: nil)
            error.status = status
            error.retryAfter = after
            return .api(error)
        }
        XCTAssertNotNil(pause(.transport("", unsent: true), "POST"))
        XCTAssertNil(pause(.transport("", unsent: false), "POST"))
        XCTAssertNotNil(pause(.transport("", unsent: false), "GET"))
        XCTAssertEqual(pause(refused(.tooManyRequests, 429, after: .seconds(2)), "POST"), .seconds(2))
        XCTAssertNil(pause(refused(.tooManyRequests, 429, after: .seconds(31)), "POST"))
        XCTAssertNil(pause(refused(.resourceExhausted, 429), "POST"))
        XCTAssertNotNil(pause(refused(.stopping, 503), "GET"))
        XCTAssertNil(pause(refused(.stopping, 503), "POST"))
        XCTAssertNil(pause(refused(.invalidArgument, 400), "GET"))
        XCTAssertNil(pause(.timeout, "GET"))
        XCTAssertNil(pause(.badAnswer(""), "GET"))
        for attempt in 0..<3 {
            let most = Duration.milliseconds(100 * (1 << attempt))
            let own = pause(.transport("", unsent: true), "GET", attempt) ?? .zero
            XCTAssertTrue((most / 2...most).contains(own), "\(own)")
        }
    }

    func testPlaces() throws {
        XCTAssertEqual(try Place.parse("unix:///run/a%20b/daemon.sock"), .unix(path: "/run/a b/daemon.sock"))
        XCTAssertEqual(
            try Place.parse("http://[::1]:80/base/"), .tcp(host: "::1", port: 80, authority: "[::1]:80", prefix: "/base"))
        XCTAssertEqual(try Place.parse("https://a.b"), .tls(host: "a.b", port: 443, base: "https://a.b"))
        for wrong in ["localhost:8080", "ftp://a", "unix:relative", "unix://host/path", "http://", "http://a:99999", ""] {
            XCTAssertThrowsError(try Place.parse(wrong), wrong)
        }
    }

    func testTheDaemonIsFoundWithoutBeingTold() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ak-\(UUID().uuidString.prefix(8))").path
        try FileManager.default.createDirectory(atPath: folder + "/agentkernel", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let folders = LocalFolders(["XDG_RUNTIME_DIR": folder, "XDG_STATE_HOME": folder, "AGENTKERNEL_BASE_URL": ""])
        XCTAssertEqual(try Place.find(nil, folders), try Place.parse(Place.usualURL))
        let socket = try XCTUnwrap(SystemCalls.openSocket(family: Int32(AF_UNIX)))
        defer { SystemCalls.hangUp(socket) }
        let path = folder + "/agentkernel/daemon.sock"
        XCTAssertEqual(try Address(unixPath: path).with { bind(socket, $0, $1) }, 0)
        XCTAssertEqual(try Place.find(nil, folders), .unix(path: path))
        XCTAssertEqual(try Place.find("http://a:1", folders), try Place.parse("http://a:1"))

        try FileManager.default.createDirectory(atPath: folder + "/agentkernel/api-tokens", withIntermediateDirectories: true)
        try "token\n".write(toFile: folder + "/agentkernel/api-tokens/8080", atomically: true, encoding: .utf8)
        XCTAssertEqual(try Place.parse(Place.usualURL).localToken(folders), "token")
        XCTAssertNil(try Place.parse("http://example.com:8080").localToken(folders))
    }
}
