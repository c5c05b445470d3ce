/// Server-Sent Events out of bytes, however these are cut.
struct EventParser {
    private var line: [UInt8] = []
    /// The last line ended with a carriage return; a line feed right after it belongs to that end.
    private var isAfterReturn = false
    private var event = ""
    private var data: [UInt8] = []
    private var hasData = false

    /// The events, each with its data, that are complete with these bytes.
    mutating func push(_ chunk: [UInt8]) -> [(event: String, data: [UInt8])] {
        var complete: [(event: String, data: [UInt8])] = []
        var start = 0
        if isAfterReturn, let first = chunk.first {
            isAfterReturn = false
            if first == 0x0A { start = 1 }
        }
        while let end = chunk[start...].firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) {
            line.append(contentsOf: chunk[start..<end])
            if let one = take() { complete.append(one) }
            line.removeAll(keepingCapacity: true)
            start = end + 1
            guard chunk[end] == 0x0D else { continue }
            if start == chunk.count { isAfterReturn = true } else if chunk[start] == 0x0A { start += 1 }
        }
        line.append(contentsOf: chunk[start...])
        return complete
    }

    private mutating func take() -> (event: String, data: [UInt8])? {
        if line.isEmpty {
            defer {
                event = ""
                data = []
                hasData = false
            }
            return hasData ? (event, data) : nil
        }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.count
        var value = line[min(colon + 1, line.count)...]
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        if line[..<colon].elementsEqual("event".utf8) { event = String(decoding: value, as: UTF8.self) }
        if line[..<colon].elementsEqual("data".utf8) {
            if hasData { data.append(0x0A) }
            data.append(contentsOf: value)
            hasData = true
        }
        return nil
    }
}
