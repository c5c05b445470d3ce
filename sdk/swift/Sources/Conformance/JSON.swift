import Foundation

/// Any JSON.
enum JSON: Sendable, Codable, Equatable {
    case null
    case flag(Bool)
    case number(Double)
    case text(String)
    case list([JSON])
    case object([String: JSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let list = try? container.decode([JSON].self) {
            self = .list(list)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .flag(let flag): try container.encode(flag)
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .list(let list): try container.encode(list)
        case .object(let fields): try container.encode(fields)
        }
    }

    /// What an SDK's value looks like as JSON.
    init(of value: some Encodable) throws {
        self = try JSONDecoder().decode(JSON.self, from: JSONEncoder().encode(value))
    }

    var text: String? {
        if case .text(let text) = self { return text }
        return nil
    }

    var number: Double? {
        if case .number(let number) = self { return number }
        return nil
    }

    var flag: Bool? {
        if case .flag(let flag) = self { return flag }
        return nil
    }

    var words: [String]? {
        if case .list(let list) = self { return list.compactMap(\.text) }
        return nil
    }

    var fields: [String: JSON]? {
        if case .object(let fields) = self { return fields }
        return nil
    }

    /// The first path that this has and the other lacks.
    func missing(in other: JSON, at path: String = "") -> String? {
        guard case .object(let fields) = self, case .object(let others) = other else { return nil }
        for (name, value) in fields {
            guard let there = others[name] else { return path + name }
            if let inner = value.missing(in: there, at: "\(path)\(name).") { return inner }
        }
        return nil
    }
}

/// Something of a scenario that this runner does not know: it ends the runner.
struct Unknown: Error, CustomStringConvertible {
    let description: String
}
