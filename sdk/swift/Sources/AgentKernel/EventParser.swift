import Foundation

/// Server-Sent Events out of bytes, however these are cut.
struct EventParser {
    private var line: [UInt8] = []
    /// The last line ended with a carriage return; a line feed right after it belongs to that end.
    private var isAfterReturn = false
    private var event = ""
    private var data: [String] = []

    /// The events, each with its data, that are complete with these bytes.
    mutating func push(_ chunk: Data) -> [(event: String, data: String)] {
        var complete: [(event: String, data: String)] = []
        for byte in chunk {
            let isRest = isAfterReturn && byte == 0x0A
            isAfterReturn = byte == 0x0D
            if isRest { continue }
            guard byte == 0x0A || byte == 0x0D else {
                line.append(byte)
                continue
            }
            if let one = take(String(decoding: line, as: UTF8.self)) { complete.append(one) }
            line.removeAll(keepingCapacity: true)
        }
        return complete
    }

    private mutating func take(_ text: String) -> (event: String, data: String)? {
        if text.isEmpty {
            defer {
                event = ""
                data = []
            }
            return data.isEmpty ? nil : (event, data.joined(separator: "\n"))
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var value = parts.count > 1 ? String(parts[1]) : ""
        if value.hasPrefix(" ") { value.removeFirst() }
        if parts[0] == "event" { event = value }
        if parts[0] == "data" { data.append(value) }
        return nil
    }
}
