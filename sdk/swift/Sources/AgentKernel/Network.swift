/// What a sandbox can reach.
public enum Network: Sendable, Hashable, Codable {
    /// Everything public.
    case on
    /// Nothing.
    case off
    /// What the allowlist of a policy names.
    case allowlist
    /// Only these; `*.example.com` stands for subdomains.
    case domains([String])

    private enum CodingKeys: String, CodingKey {
        case allowedDomains = "allowed_domains"
    }

    /// Reads it as the API writes it: a flag, a word, or an object with domains.
    public init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: CodingKeys.self) {
            self = .domains(try container.decode([String].self, forKey: .allowedDomains))
            return
        }
        let container = try decoder.singleValueContainer()
        if let isOn = try? container.decode(Bool.self) {
            self = isOn ? .on : .off
            return
        }
        switch try container.decode(String.self) {
        case "on": self = .on
        case "off": self = .off
        case "allowlist": self = .allowlist
        case let word:
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(word) is no kind of network")
        }
    }

    /// Writes it as the API reads it.
    public func encode(to encoder: any Encoder) throws {
        if case .domains(let domains) = self {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(domains, forKey: .allowedDomains)
            return
        }
        var container = encoder.singleValueContainer()
        switch self {
        case .on: try container.encode("on")
        case .off: try container.encode("off")
        default: try container.encode("allowlist")
        }
    }
}
