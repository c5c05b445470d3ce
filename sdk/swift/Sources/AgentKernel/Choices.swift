// Written by `npm run sdk:sources` from spec/errors.json and spec/openapi.json; changes belong there.

/// How output is written in an answer.
public enum OutputEncoding: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
    /// `utf8`
    case utf8
    /// `base64`
    case base64
    /// A word that this version does not know.
    case unknown(String)

    /// Those that this version knows.
    public static let allCases: [OutputEncoding] = [.utf8, .base64]

    /// From the API's word.
    public init(rawValue: String) {
        switch rawValue {
        case "utf8": self = .utf8
        case "base64": self = .base64
        default: self = .unknown(rawValue)
        }
    }

    /// The API's word.
    public var rawValue: String {
        switch self {
        case .utf8: return "utf8"
        case .base64: return "base64"
        case .unknown(let word): return word
        }
    }
}

/// The language of a program's text.
public enum WasmLanguage: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
    /// `js`
    case js
    /// `python`
    case python
    /// A word that this version does not know.
    case unknown(String)

    /// Those that this version knows.
    public static let allCases: [WasmLanguage] = [.js, .python]

    /// From the API's word.
    public init(rawValue: String) {
        switch rawValue {
        case "js": self = .js
        case "python": self = .python
        default: self = .unknown(rawValue)
        }
    }

    /// The API's word.
    public var rawValue: String {
        switch self {
        case .js: return "js"
        case .python: return "python"
        case .unknown(let word): return word
        }
    }
}

/// What isolates a sandbox.
public enum Backend: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
    /// `auto`
    case auto
    /// `linux`
    case linux
    /// `podman`
    case podman
    /// `docker`
    case docker
    /// `gvisor`
    case gvisor
    /// `microvm`
    case microvm
    /// `wasm`
    case wasm
    /// `apple`
    case apple
    /// `hyperlight`
    case hyperlight
    /// `kubernetes`
    case kubernetes
    /// A word that this version does not know.
    case unknown(String)

    /// Those that this version knows.
    public static let allCases: [Backend] = [.auto, .linux, .podman, .docker, .gvisor, .microvm, .wasm, .apple, .hyperlight, .kubernetes]

    /// From the API's word.
    public init(rawValue: String) {
        switch rawValue {
        case "auto": self = .auto
        case "linux": self = .linux
        case "podman": self = .podman
        case "docker": self = .docker
        case "gvisor": self = .gvisor
        case "microvm": self = .microvm
        case "wasm": self = .wasm
        case "apple": self = .apple
        case "hyperlight": self = .hyperlight
        case "kubernetes": self = .kubernetes
        default: self = .unknown(rawValue)
        }
    }

    /// The API's word.
    public var rawValue: String {
        switch self {
        case .auto: return "auto"
        case .linux: return "linux"
        case .podman: return "podman"
        case .docker: return "docker"
        case .gvisor: return "gvisor"
        case .microvm: return "microvm"
        case .wasm: return "wasm"
        case .apple: return "apple"
        case .hyperlight: return "hyperlight"
        case .kubernetes: return "kubernetes"
        case .unknown(let word): return word
        }
    }
}

/// How much a sandbox is allowed.
public enum Profile: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
    /// `permissive`
    case permissive
    /// `moderate`
    case moderate
    /// `restrictive`
    case restrictive
    /// A word that this version does not know.
    case unknown(String)

    /// Those that this version knows.
    public static let allCases: [Profile] = [.permissive, .moderate, .restrictive]

    /// From the API's word.
    public init(rawValue: String) {
        switch rawValue {
        case "permissive": self = .permissive
        case "moderate": self = .moderate
        case "restrictive": self = .restrictive
        default: self = .unknown(rawValue)
        }
    }

    /// The API's word.
    public var rawValue: String {
        switch self {
        case .permissive: return "permissive"
        case .moderate: return "moderate"
        case .restrictive: return "restrictive"
        case .unknown(let word): return word
        }
    }
}

/// The agent whose defaults hold.
public enum CompatibilityMode: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
    /// `native`
    case native
    /// `claude`
    case claude
    /// `codex`
    case codex
    /// `gemini`
    case gemini
    /// A word that this version does not know.
    case unknown(String)

    /// Those that this version knows.
    public static let allCases: [CompatibilityMode] = [.native, .claude, .codex, .gemini]

    /// From the API's word.
    public init(rawValue: String) {
        switch rawValue {
        case "native": self = .native
        case "claude": self = .claude
        case "codex": self = .codex
        case "gemini": self = .gemini
        default: self = .unknown(rawValue)
        }
    }

    /// The API's word.
    public var rawValue: String {
        switch self {
        case .native: return "native"
        case .claude: return "claude"
        case .codex: return "codex"
        case .gemini: return "gemini"
        case .unknown(let word): return word
        }
    }
}

/// How a folder of the host is shown inside.
public enum Workspace: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
    /// `copy`
    case copy
    /// `sync`
    case sync
    /// `mount`
    case mount
    /// `none`
    case nothing
    /// A word that this version does not know.
    case unknown(String)

    /// Those that this version knows.
    public static let allCases: [Workspace] = [.copy, .sync, .mount, .nothing]

    /// From the API's word.
    public init(rawValue: String) {
        switch rawValue {
        case "copy": self = .copy
        case "sync": self = .sync
        case "mount": self = .mount
        case "none": self = .nothing
        default: self = .unknown(rawValue)
        }
    }

    /// The API's word.
    public var rawValue: String {
        switch self {
        case .copy: return "copy"
        case .sync: return "sync"
        case .mount: return "mount"
        case .nothing: return "none"
        case .unknown(let word): return word
        }
    }
}

/// Whether a wall of a sandbox stands.
public enum LayerState: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
    /// `applied`
    case applied
    /// `partial`
    case partial
    /// `absent`
    case absent
    /// A word that this version does not know.
    case unknown(String)

    /// Those that this version knows.
    public static let allCases: [LayerState] = [.applied, .partial, .absent]

    /// From the API's word.
    public init(rawValue: String) {
        switch rawValue {
        case "applied": self = .applied
        case "partial": self = .partial
        case "absent": self = .absent
        default: self = .unknown(rawValue)
        }
    }

    /// The API's word.
    public var rawValue: String {
        switch self {
        case .applied: return "applied"
        case .partial: return "partial"
        case .absent: return "absent"
        case .unknown(let word): return word
        }
    }
}

/// What a sandbox can reach.
public enum NetworkMode: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
    /// `off`
    case off
    /// `on`
    case on
    /// `allowlist`
    case allowlist
    /// A word that this version does not know.
    case unknown(String)

    /// Those that this version knows.
    public static let allCases: [NetworkMode] = [.off, .on, .allowlist]

    /// From the API's word.
    public init(rawValue: String) {
        switch rawValue {
        case "off": self = .off
        case "on": self = .on
        case "allowlist": self = .allowlist
        default: self = .unknown(rawValue)
        }
    }

    /// The API's word.
    public var rawValue: String {
        switch self {
        case .off: return "off"
        case .on: return "on"
        case .allowlist: return "allowlist"
        case .unknown(let word): return word
        }
    }
}

/// What became of a detached command.
public enum ExecState: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
    /// `running`
    case running
    /// `ended`
    case ended
    /// `failed`
    case failed
    /// `lost`
    case lost
    /// A word that this version does not know.
    case unknown(String)

    /// Those that this version knows.
    public static let allCases: [ExecState] = [.running, .ended, .failed, .lost]

    /// From the API's word.
    public init(rawValue: String) {
        switch rawValue {
        case "running": self = .running
        case "ended": self = .ended
        case "failed": self = .failed
        case "lost": self = .lost
        default: self = .unknown(rawValue)
        }
    }

    /// The API's word.
    public var rawValue: String {
        switch self {
        case .running: return "running"
        case .ended: return "ended"
        case .failed: return "failed"
        case .lost: return "lost"
        case .unknown(let word): return word
        }
    }
}

/// What a sandbox does now.
public enum SandboxState: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
    /// `created`
    case created
    /// `running`
    case running
    /// `paused`
    case paused
    /// `stopped`
    case stopped
    /// A word that this version does not know.
    case unknown(String)

    /// Those that this version knows.
    public static let allCases: [SandboxState] = [.created, .running, .paused, .stopped]

    /// From the API's word.
    public init(rawValue: String) {
        switch rawValue {
        case "created": self = .created
        case "running": self = .running
        case "paused": self = .paused
        case "stopped": self = .stopped
        default: self = .unknown(rawValue)
        }
    }

    /// The API's word.
    public var rawValue: String {
        switch self {
        case .created: return "created"
        case .running: return "running"
        case .paused: return "paused"
        case .stopped: return "stopped"
        case .unknown(let word): return word
        }
    }
}

/// What happened to a file.
public enum ChangeKind: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
    /// `added`
    case added
    /// `modified`
    case modified
    /// `deleted`
    case deleted
    /// `renamed`
    case renamed
    /// A word that this version does not know.
    case unknown(String)

    /// Those that this version knows.
    public static let allCases: [ChangeKind] = [.added, .modified, .deleted, .renamed]

    /// From the API's word.
    public init(rawValue: String) {
        switch rawValue {
        case "added": self = .added
        case "modified": self = .modified
        case "deleted": self = .deleted
        case "renamed": self = .renamed
        default: self = .unknown(rawValue)
        }
    }

    /// The API's word.
    public var rawValue: String {
        switch self {
        case .added: return "added"
        case .modified: return "modified"
        case .deleted: return "deleted"
        case .renamed: return "renamed"
        case .unknown(let word): return word
        }
    }
}

/// What lies at a path.
public enum FileType: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
    /// `file`
    case file
    /// `symlink`
    case symlink
    /// `dir`
    case dir
    /// `other`
    case other
    /// A word that this version does not know.
    case unknown(String)

    /// Those that this version knows.
    public static let allCases: [FileType] = [.file, .symlink, .dir, .other]

    /// From the API's word.
    public init(rawValue: String) {
        switch rawValue {
        case "file": self = .file
        case "symlink": self = .symlink
        case "dir": self = .dir
        case "other": self = .other
        default: self = .unknown(rawValue)
        }
    }

    /// The API's word.
    public var rawValue: String {
        switch self {
        case .file: return "file"
        case .symlink: return "symlink"
        case .dir: return "dir"
        case .other: return "other"
        case .unknown(let word): return word
        }
    }
}

/// Whether the server takes requests.
public enum HealthStatus: RawRepresentable, Sendable, Hashable, Codable, CaseIterable {
    /// `ok`
    case ok
    /// `stopping`
    case stopping
    /// A word that this version does not know.
    case unknown(String)

    /// Those that this version knows.
    public static let allCases: [HealthStatus] = [.ok, .stopping]

    /// From the API's word.
    public init(rawValue: String) {
        switch rawValue {
        case "ok": self = .ok
        case "stopping": self = .stopping
        default: self = .unknown(rawValue)
        }
    }

    /// The API's word.
    public var rawValue: String {
        switch self {
        case .ok: return "ok"
        case .stopping: return "stopping"
        case .unknown(let word): return word
        }
    }
}
