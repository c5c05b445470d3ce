import XCTest

@testable import AgentKernel

final class EventParserTests: XCTestCase {
    private let text = """
        : agentkernel\r\n\r\nevent: started\r\ndata: {"sandbox":"run-1"}\r\n\r\nid: 7\nevent:stdout\ndata: {"text":\ndata: \
        "é€😀\\n"}\n\nevent: stderr\rdata: err\r\rdata: alone\n\nevent: nothing\n\n
        """
    private let expected = [
        "started|{\"sandbox\":\"run-1\"}", "stdout|{\"text\":\n\"é€😀\\n\"}", "stderr|err", "|alone",
    ]

    private func parse(_ pieces: [[UInt8]]) -> [String] {
        var parser = EventParser()
        return pieces.flatMap { parser.push($0) }.map { "\($0.event)|\(String(decoding: $0.data, as: UTF8.self))" }
    }

    func testAllAtOnce() {
        XCTAssertEqual(parse([Array(text.utf8)]), expected)
    }

    func testByteByByte() {
        XCTAssertEqual(parse(text.utf8.map { [$0] }), expected)
    }

    func testCutsAnywhere() {
        for _ in 0..<500 {
            var pieces: [[UInt8]] = [[]]
            for byte in text.utf8 {
                if Int.random(in: 0..<4) == 0 { pieces.append([]) }
                pieces[pieces.count - 1].append(byte)
            }
            XCTAssertEqual(parse(pieces), expected, "\(pieces)")
        }
    }

    func testAnEventWithoutItsEmptyLineIsNotComplete() {
        XCTAssertEqual(parse([Array("event: exit\ndata: {}\n".utf8)]), [])
    }
}
