// Written by `npm run sdk:sources` from spec/errors.json and spec/openapi.json; changes belong there.

/// Where the root filesystem came from.
public struct ImageUsed: Sendable, Codable {
    /// As it is called.
    public let name: String
    /// Of its manifest; null for the host's own files.
    public let digest: String?
    /// What named it.
    public let why: String

    enum CodingKeys: String, CodingKey {
        case name = "name"
        case digest = "digest"
        case why = "why"
    }
}

/// One wall of a sandbox, and whether it stands.
public struct Layer: Sendable, Codable {
    /// Which wall.
    public let name: String
    /// Whether it stands.
    public let state: LayerState
    /// What is missing.
    public let detail: String?

    enum CodingKeys: String, CodingKey {
        case name = "name"
        case state = "state"
        case detail = "detail"
    }
}

/// Something that the sandbox was not let through to.
public struct Blocked: Sendable, Codable {
    /// Name or address that was asked for.
    public let host: String
    /// Null where a name was only looked up.
    public let port: Int?
    /// The rule that refused it.
    public let rule: String
    /// How often.
    public let times: Int

    enum CodingKeys: String, CodingKey {
        case host = "host"
        case port = "port"
        case rule = "rule"
        case times = "times"
    }
}

/// What a command used.
public struct Usage: Sendable, Codable {
    /// Processor time.
    public let cpuUs: Int?
    /// The most memory at once.
    public let memoryPeakBytes: Int?
    /// Processes killed at the memory limit.
    public let oomKills: Int
    /// Processes refused at the limit of processes.
    public let processesDenied: Int

    enum CodingKeys: String, CodingKey {
        case cpuUs = "cpu_us"
        case memoryPeakBytes = "memory_peak_bytes"
        case oomKills = "oom_kills"
        case processesDenied = "processes_denied"
    }
}

/// What was carried over to the project on the host.
public struct Changes: Sendable, Codable {
    /// Written to the folder on the host.
    public let written: [String]
    /// Deleted there.
    public let deleted: [String]
    /// Changed on the host meanwhile, and left. The sandbox's version is kept.
    public let conflicts: [String]
    /// Hidden or protected, and left.
    public let refused: [String]
    /// Waits for the user's review, since it steers what the user runs later, and left.
    public let held: [String]
    /// The name under which `agentkernel diff` and `apply` find what is held or in conflict, where it is not in a sandbox.
    public let heldAs: String?
    /// Paths that are not listed.
    public let omitted: Int
    /// Why git repositories were left as they were.
    public let repositories: [String]

    enum CodingKeys: String, CodingKey {
        case written = "written"
        case deleted = "deleted"
        case conflicts = "conflicts"
        case refused = "refused"
        case held = "held"
        case heldAs = "held_as"
        case omitted = "omitted"
        case repositories = "repositories"
    }
}

/// Its way out.
public struct RunResultNetwork: Sendable, Codable {
    /// What could be reached.
    public let mode: NetworkMode
    /// What was refused.
    public let blocked: [Blocked]

    enum CodingKeys: String, CodingKey {
        case mode = "mode"
        case blocked = "blocked"
    }
}

/// How a command in a sandbox of its own ended.
public struct RunResult: Sendable, Codable {
    /// Both streams in order of arrival.
    public let output: String
    /// Standard output.
    public let stdout: String
    /// Standard error.
    public let stderr: String
    /// The command's own; 124 timed out, 126 not executable, 127 not found, 128+n killed by signal n.
    public let exitCode: Int
    /// From the request to the end.
    public let durationMs: Double
    /// The time limit ended it.
    public let timedOut: Bool
    /// The sandbox that it ran in.
    public let sandbox: String
    /// How output, stdout and stderr are written.
    public let encoding: OutputEncoding
    /// Output beyond the limit, which is not here.
    public let droppedBytes: Int
    /// What isolated it.
    public let backend: Backend
    /// Its root filesystem.
    public let image: ImageUsed
    /// How much is allowed.
    public let profile: Profile
    /// The agent whose defaults hold.
    public let compatibilityMode: CompatibilityMode
    /// Its walls.
    public let layers: [Layer]
    /// What it used.
    public let usage: Usage
    /// Its way out.
    public let network: RunResultNetwork
    /// What was carried over, where `workspace` is `sync`.
    public let changes: Changes?
    /// What the caller should know besides.
    public let notes: [String]

    /// From the request to the end.
    public var duration: Duration { .milliseconds(durationMs) }

    enum CodingKeys: String, CodingKey {
        case output = "output"
        case stdout = "stdout"
        case stderr = "stderr"
        case exitCode = "exit_code"
        case durationMs = "duration_ms"
        case timedOut = "timed_out"
        case sandbox = "sandbox"
        case encoding = "encoding"
        case droppedBytes = "dropped_bytes"
        case backend = "backend"
        case image = "image"
        case profile = "profile"
        case compatibilityMode = "compatibility_mode"
        case layers = "layers"
        case usage = "usage"
        case network = "network"
        case changes = "changes"
        case notes = "notes"
    }
}

/// How a command in a sandbox that stays ended.
public struct ExecResult: Sendable, Codable {
    /// Both streams in order of arrival.
    public let output: String
    /// Standard output.
    public let stdout: String
    /// Standard error.
    public let stderr: String
    /// The command's own; 124 timed out, 126 not executable, 127 not found, 128+n killed by signal n.
    public let exitCode: Int
    /// From the request to the end.
    public let durationMs: Double
    /// The time limit ended it.
    public let timedOut: Bool
    /// The sandbox that it ran in.
    public let sandbox: String
    /// How output, stdout and stderr are written.
    public let encoding: OutputEncoding
    /// Output beyond the limit, which is not here.
    public let droppedBytes: Int
    /// The command, among all of this sandbox.
    public let exec: String

    /// From the request to the end.
    public var duration: Duration { .milliseconds(durationMs) }

    enum CodingKeys: String, CodingKey {
        case output = "output"
        case stdout = "stdout"
        case stderr = "stderr"
        case exitCode = "exit_code"
        case durationMs = "duration_ms"
        case timedOut = "timed_out"
        case sandbox = "sandbox"
        case encoding = "encoding"
        case droppedBytes = "dropped_bytes"
        case exec = "exec"
    }
}

/// A command that runs on.
public struct DetachedExec: Sendable, Codable {
    /// By which its output and end are found.
    public let exec: String
    /// The sandbox that it runs in.
    public let sandbox: String

    enum CodingKeys: String, CodingKey {
        case exec = "exec"
        case sandbox = "sandbox"
    }
}

/// Output and end of a detached command.
public struct ExecLog: Sendable, Codable {
    /// The command, among all of this sandbox.
    public let exec: String
    /// Its words.
    public let command: [String]
    /// `failed`: it never ran; `lost`: nobody saw how it ended.
    public let state: ExecState
    /// When it was started.
    public let startedAt: String
    /// When it ended.
    public let endedAt: String?
    /// How it ended.
    public let exitCode: Int?
    /// The newest of its standard output.
    public let stdout: String
    /// The newest of its standard error.
    public let stderr: String
    /// How stdout and stderr are written.
    public let encoding: OutputEncoding
    /// Older output, which is not kept.
    public let droppedBytes: Int

    enum CodingKeys: String, CodingKey {
        case exec = "exec"
        case command = "command"
        case state = "state"
        case startedAt = "started_at"
        case endedAt = "ended_at"
        case exitCode = "exit_code"
        case stdout = "stdout"
        case stderr = "stderr"
        case encoding = "encoding"
        case droppedBytes = "dropped_bytes"
    }
}

/// A port of the host that leads to one inside.
public struct PublishedPort: Sendable, Codable {
    /// Of the host.
    public let address: String
    /// The port of the host.
    public let hostPort: Int
    /// The port inside that it leads to.
    public let guestPort: Int

    enum CodingKeys: String, CodingKey {
        case address = "address"
        case hostPort = "host_port"
        case guestPort = "guest_port"
    }
}

/// Its limits.
public struct SandboxInfoResources: Sendable, Codable {
    /// Processor cores.
    public let vcpus: Double
    /// Memory, in MiB.
    public let memoryMb: Int
    /// Processes and threads at once.
    public let pids: Int
    /// What may be written, in MiB.
    public let diskMb: Int
    /// Open files of one process.
    public let openFiles: Int
    /// Connections to the network at once.
    public let maxConnections: Int

    enum CodingKeys: String, CodingKey {
        case vcpus = "vcpus"
        case memoryMb = "memory_mb"
        case pids = "pids"
        case diskMb = "disk_mb"
        case openFiles = "open_files"
        case maxConnections = "max_connections"
    }
}

/// A sandbox that stays.
public struct SandboxInfo: Sendable, Codable {
    /// How it is called.
    public let name: String
    /// What it does now.
    public let state: SandboxState
    /// What isolates it.
    public let backend: Backend
    /// Its root filesystem; null where that is not known yet.
    public let image: ImageUsed?
    /// How much is allowed.
    public let profile: Profile
    /// The agent whose defaults hold.
    public let compatibilityMode: CompatibilityMode
    /// What can be reached.
    public let network: NetworkMode
    /// Its limits.
    public let resources: SandboxInfoResources
    /// The folder of the host that it shows as /workspace.
    public let dir: String?
    /// When it was made.
    public let createdAt: String
    /// When it was last started; null where it does not run.
    public let startedAt: String?
    /// When it will be removed.
    public let expiresAt: String?
    /// How long after its creation it is removed.
    public let ttlMs: Int?
    /// After so long without work it is stopped.
    public let idleTimeoutMs: Int?
    /// Its published ports; empty where it does not run.
    public let ports: [PublishedPort]
    /// Its walls; empty where it does not run.
    public let layers: [Layer]
    /// What its user should know.
    public let notes: [String]

    /// How long after its creation it is removed.
    public var ttl: Duration? { ttlMs.map { .milliseconds($0) } }

    /// After so long without work it is stopped.
    public var idleTimeout: Duration? { idleTimeoutMs.map { .milliseconds($0) } }

    enum CodingKeys: String, CodingKey {
        case name = "name"
        case state = "state"
        case backend = "backend"
        case image = "image"
        case profile = "profile"
        case compatibilityMode = "compatibility_mode"
        case network = "network"
        case resources = "resources"
        case dir = "dir"
        case createdAt = "created_at"
        case startedAt = "started_at"
        case expiresAt = "expires_at"
        case ttlMs = "ttl_ms"
        case idleTimeoutMs = "idle_timeout_ms"
        case ports = "ports"
        case layers = "layers"
        case notes = "notes"
    }
}

/// Files are kept as they are at one moment; processes and memory only of a machine (microvm) that runs.
public struct Snapshot: Sendable, Codable {
    /// How it is called.
    public let name: String
    /// The sandbox that it was made of, which may be gone.
    public let sandbox: String
    /// What isolates a sandbox that is made of it.
    public let backend: Backend
    /// What the files lie on.
    public let image: ImageUsed
    /// The folder of the host that the sandbox showed as /workspace.
    public let dir: String?
    /// When it was made.
    public let createdAt: String
    /// What ran goes on in a sandbox that is made of it.
    public let memory: Bool
    /// Of its files' contents; null where nothing can tell.
    public let sizeBytes: Int?

    enum CodingKeys: String, CodingKey {
        case name = "name"
        case sandbox = "sandbox"
        case backend = "backend"
        case image = "image"
        case dir = "dir"
        case createdAt = "created_at"
        case memory = "memory"
        case sizeBytes = "size_bytes"
    }
}

/// What a sandbox uses; null where nothing can tell, or where it does not run.
public struct Stats: Sendable, Codable {
    /// Of the sandbox.
    public let name: String
    /// What it does now.
    public let state: SandboxState
    /// Memory in use.
    public let memoryBytes: Int?
    /// The most since it was started.
    public let memoryPeakBytes: Int?
    /// Processor time since it was started.
    public let cpuUs: Int?
    /// Processes and threads.
    public let processes: Int?
    /// Processes killed at the memory limit.
    public let oomKills: Int?
    /// Processes refused at the limit of processes.
    public let processesDenied: Int?
    /// What it has written and kept.
    public let diskBytes: Int?
    /// Bytes that came in through the gateway.
    public let networkReceivedBytes: Int?
    /// Bytes that went out through it.
    public let networkSentBytes: Int?

    enum CodingKeys: String, CodingKey {
        case name = "name"
        case state = "state"
        case memoryBytes = "memory_bytes"
        case memoryPeakBytes = "memory_peak_bytes"
        case cpuUs = "cpu_us"
        case processes = "processes"
        case oomKills = "oom_kills"
        case processesDenied = "processes_denied"
        case diskBytes = "disk_bytes"
        case networkReceivedBytes = "network_received_bytes"
        case networkSentBytes = "network_sent_bytes"
    }
}

/// One change of a project.
public struct Change: Sendable, Codable {
    /// Relative to the project.
    public let path: String
    /// What was done to it.
    public let change: ChangeKind
    /// Its name before, where it was renamed.
    public let renamedFrom: String?
    /// What it is; of what was deleted, what it was.
    public let type: FileType
    /// Of its content now; null where it was deleted.
    public let sizeBytes: Int?
    /// What the host did to it meanwhile, for which it is not applied.
    public let conflict: String?
    /// Why it is never applied.
    public let refused: String?
    /// It steers what the user runs later, and is applied only after a yes to it.
    public let review: Bool

    enum CodingKeys: String, CodingKey {
        case path = "path"
        case change = "change"
        case renamedFrom = "renamed_from"
        case type = "type"
        case sizeBytes = "size_bytes"
        case conflict = "conflict"
        case refused = "refused"
        case review = "review"
    }
}

/// What a sandbox changed in the project.
public struct Diff: Sendable, Codable {
    /// Sorted by path.
    public let changes: [Change]
    /// There are more than are listed.
    public let truncated: Bool

    enum CodingKeys: String, CodingKey {
        case changes = "changes"
        case truncated = "truncated"
    }
}

/// One file of a folder.
public struct FileEntry: Sendable, Codable {
    /// In its folder.
    public let name: String
    /// What it is.
    public let type: FileType
    /// Of its content.
    public let sizeBytes: Int
    /// Permission bits.
    public let mode: Int
    /// When it was changed, since 1970.
    public let modifiedMs: Double

    /// When it was changed, since 1970.
    public var modified: Duration { .milliseconds(modifiedMs) }

    enum CodingKeys: String, CodingKey {
        case name = "name"
        case type = "type"
        case sizeBytes = "size_bytes"
        case mode = "mode"
        case modifiedMs = "modified_ms"
    }
}

/// What is in a folder.
public struct FolderListing: Sendable, Codable {
    /// Absolute, inside the sandbox.
    public let path: String
    /// A folder.
    public let type: FileType
    /// Sorted by name.
    public let entries: [FileEntry]
    /// There are more than are listed.
    public let truncated: Bool

    enum CodingKeys: String, CodingKey {
        case path = "path"
        case type = "type"
        case entries = "entries"
        case truncated = "truncated"
    }
}

/// What was written.
public struct Written: Sendable, Codable {
    /// Absolute, inside the sandbox.
    public let path: String
    /// Of the file; null for a folder.
    public let sizeBytes: Int?

    enum CodingKeys: String, CodingKey {
        case path = "path"
        case sizeBytes = "size_bytes"
    }
}

/// Whether the server takes requests.
public struct Health: Sendable, Codable {
    /// `stopping`: it takes no new work.
    public let status: HealthStatus

    enum CodingKeys: String, CodingKey {
        case status = "status"
    }
}

/// Which version the server is.
public struct Version: Sendable, Codable {
    /// Of agentkernel.
    public let version: String
    /// Tells builds of one version apart.
    public let build: String
    /// Of the runtime below.
    public let node: String

    enum CodingKeys: String, CodingKey {
        case version = "version"
        case build = "build"
        case node = "node"
    }
}
