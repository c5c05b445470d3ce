/// What a sandbox can reach.
public enum Network: Sendable, Encodable {
    /// Everything public.
    case on
    case off
    /// What the allowlist of a policy names.
    case allowlist
    /// Only these; `*.example.com` stands for subdomains.
    case domains([String])

    private enum CodingKeys: String, CodingKey {
        case allowedDomains = "allowed_domains"
    }

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
