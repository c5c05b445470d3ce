import Foundation

/// What a command reads on its standard input: any bytes, though JSON is text.
public struct Input: Sendable, Hashable, ExpressibleByStringLiteral {
    private let content: Data

    /// These bytes.
    public init(_ content: Data) {
        self.content = content
    }

    /// This text, as UTF-8.
    public init(stringLiteral text: String) {
        self.content = Data(text.utf8)
    }

    init?<Key: CodingKey>(from container: KeyedDecodingContainer<Key>, text: Key, encoding: Key) throws {
        guard let written = try container.decodeIfPresent(String.self, forKey: text) else { return nil }
        guard try container.decodeIfPresent(String.self, forKey: encoding) == "base64" else {
            self.init(stringLiteral: written)
            return
        }
        guard let bytes = Data(base64Encoded: written) else {
            throw DecodingError.dataCorruptedError(forKey: text, in: container, debugDescription: "it is not base64")
        }
        self.init(bytes)
    }

    func encode<Key: CodingKey>(
        to container: inout KeyedEncodingContainer<Key>, text: Key, encoding: Key
    ) throws {
        if let plain = String(data: content, encoding: .utf8) {
            try container.encode(plain, forKey: text)
        } else {
            try container.encode(content.base64EncodedString(), forKey: text)
            try container.encode("base64", forKey: encoding)
        }
    }
}
