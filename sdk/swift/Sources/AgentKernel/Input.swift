import Foundation

/// What a command reads on its standard input: any bytes, though JSON is text.
public struct Input: Sendable, ExpressibleByStringLiteral {
    private let content: Data

    public init(_ content: Data) {
        self.content = content
    }

    public init(stringLiteral text: String) {
        self.content = Data(text.utf8)
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
