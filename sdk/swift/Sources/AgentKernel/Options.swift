// Written by `npm run sdk:sources` from spec/errors.json and spec/openapi.json; changes belong there.

/// Limits of a sandbox.
public struct Resources: Sendable, Codable {
    /// Processor cores (2).
    public var vcpus: Double?
    /// Memory, in MiB (half of the machine's, at least 2048).
    public var memoryMb: Int?
    /// Processes and threads at once (4096).
    public var pids: Int?
    /// What may be written, in MiB (4096).
    public var diskMb: Int?
    /// Open files of one process (4096).
    public var openFiles: Int?
    /// Connections to the network at once (2048).
    public var maxConnections: Int?

    /// What is left out is as the server has it.
    public init(
        vcpus: Double? = nil,
        memoryMb: Int? = nil,
        pids: Int? = nil,
        diskMb: Int? = nil,
        openFiles: Int? = nil,
        maxConnections: Int? = nil
    ) {
        self.vcpus = vcpus
        self.memoryMb = memoryMb
        self.pids = pids
        self.diskMb = diskMb
        self.openFiles = openFiles
        self.maxConnections = maxConnections
    }

    enum CodingKeys: String, CodingKey {
        case vcpus = "vcpus"
        case memoryMb = "memory_mb"
        case pids = "pids"
        case diskMb = "disk_mb"
        case openFiles = "open_files"
        case maxConnections = "max_connections"
    }

    /// Reads it as the API writes it.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        vcpus = try container.decodeIfPresent(Double.self, forKey: .vcpus)
        memoryMb = try container.decodeIfPresent(Int.self, forKey: .memoryMb)
        pids = try container.decodeIfPresent(Int.self, forKey: .pids)
        diskMb = try container.decodeIfPresent(Int.self, forKey: .diskMb)
        openFiles = try container.decodeIfPresent(Int.self, forKey: .openFiles)
        maxConnections = try container.decodeIfPresent(Int.self, forKey: .maxConnections)
    }

    /// Writes it as the API reads it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(vcpus, forKey: .vcpus)
        try container.encodeIfPresent(memoryMb, forKey: .memoryMb)
        try container.encodeIfPresent(pids, forKey: .pids)
        try container.encodeIfPresent(diskMb, forKey: .diskMb)
        try container.encodeIfPresent(openFiles, forKey: .openFiles)
        try container.encodeIfPresent(maxConnections, forKey: .maxConnections)
    }
}

/// A secret that one host gets and the sandbox never sees.
public struct SecretOptions: Sendable, Codable {
    /// The variable.
    public var name: String?
    /// The only host that gets it.
    public var host: String?
    /// In which (authorization).
    public var header: String?

    /// What is left out is as the server has it.
    public init(
        name: String? = nil,
        host: String? = nil,
        header: String? = nil
    ) {
        self.name = name
        self.host = host
        self.header = header
    }

    enum CodingKeys: String, CodingKey {
        case name = "name"
        case host = "host"
        case header = "header"
    }

    /// Reads it as the API writes it.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decodeIfPresent(String.self, forKey: .name)
        host = try container.decodeIfPresent(String.self, forKey: .host)
        header = try container.decodeIfPresent(String.self, forKey: .header)
    }

    /// Writes it as the API reads it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(name, forKey: .name)
        try container.encodeIfPresent(host, forKey: .host)
        try container.encodeIfPresent(header, forKey: .header)
    }
}

/// A file or directory of the host that a sandbox sees.
public struct MountOptions: Sendable, Codable {
    /// Its source.
    public var host: String?
    /// Where it appears.
    public var guest: String?
    /// false: changes reach the host at once (true).
    public var readonly: Bool?

    /// What is left out is as the server has it.
    public init(
        host: String? = nil,
        guest: String? = nil,
        readonly: Bool? = nil
    ) {
        self.host = host
        self.guest = guest
        self.readonly = readonly
    }

    enum CodingKeys: String, CodingKey {
        case host = "host"
        case guest = "guest"
        case readonly = "readonly"
    }

    /// Reads it as the API writes it.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        host = try container.decodeIfPresent(String.self, forKey: .host)
        guest = try container.decodeIfPresent(String.self, forKey: .guest)
        readonly = try container.decodeIfPresent(Bool.self, forKey: .readonly)
    }

    /// Writes it as the API reads it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(host, forKey: .host)
        try container.encodeIfPresent(guest, forKey: .guest)
        try container.encodeIfPresent(readonly, forKey: .readonly)
    }
}

/// A port of the host that leads to one inside.
public struct PublishOptions: Sendable, Codable {
    /// Of the host (127.0.0.1).
    public var address: String?
    /// 0: any that is free (0).
    public var hostPort: Int?
    /// The port inside.
    public var guestPort: Int?

    /// What is left out is as the server has it.
    public init(
        address: String? = nil,
        hostPort: Int? = nil,
        guestPort: Int? = nil
    ) {
        self.address = address
        self.hostPort = hostPort
        self.guestPort = guestPort
    }

    enum CodingKeys: String, CodingKey {
        case address = "address"
        case hostPort = "host_port"
        case guestPort = "guest_port"
    }

    /// Reads it as the API writes it.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        address = try container.decodeIfPresent(String.self, forKey: .address)
        hostPort = try container.decodeIfPresent(Int.self, forKey: .hostPort)
        guestPort = try container.decodeIfPresent(Int.self, forKey: .guestPort)
    }

    /// Writes it as the API reads it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(address, forKey: .address)
        try container.encodeIfPresent(hostPort, forKey: .hostPort)
        try container.encodeIfPresent(guestPort, forKey: .guestPort)
    }
}

/// How a command is run in a sandbox of its own.
public struct RunOptions: Sendable, Codable {
    /// The working directory, inside the sandbox (/workspace).
    public var cwd: String?
    /// What the command reads on its standard input.
    public var stdin: Input?
    /// After so long the command is ended with all it started (30000).
    public var timeout: Duration?
    /// How output is written in the answer; base64 keeps every byte (utf8).
    public var encoding: OutputEncoding?
    /// With the backend `wasm`: the first word of the command is a program's text.
    public var lang: WasmLanguage?
    /// With the backend `wasm`: the module itself, in base64; the first word of the command is then only its name.
    public var module: String?
    /// What isolates it (auto). With `wasm` the command is a WebAssembly module and its arguments.
    public var backend: Backend?
    /// Where the root filesystem comes from; otherwise it is detected from the command.
    public var image: String?
    /// How much is allowed (moderate).
    public var profile: Profile?
    /// Defaults that fit one agent (native).
    public var compatibilityMode: CompatibilityMode?
    /// What can be reached.
    public var network: Network?
    /// Variables for every command.
    public var env: [String: String]?
    /// Who commands run as: name, uid, name:group or uid:gid.
    public var user: String?
    /// Limits of the sandbox.
    public var resources: Resources?
    /// Secrets of the server's environment, each for one host; the sandbox sees a placeholder only. Only for the user of the same machine or an admin key.
    public var secrets: [SecretOptions]?
    /// Files and folders of the host beside `dir`. Only for the user of the same machine or an admin key.
    public var mounts: [MountOptions]?
    /// A folder of the host, shown as /workspace. Only for the user of the same machine, an admin key, or a key that was given it.
    public var dir: String?
    /// How `dir` is shown: as a copy (default), carried over after the end, live, or not at all.
    public var workspace: Workspace?

    /// What is left out is as the server has it.
    public init(
        cwd: String? = nil,
        stdin: Input? = nil,
        timeout: Duration? = nil,
        encoding: OutputEncoding? = nil,
        lang: WasmLanguage? = nil,
        module: String? = nil,
        backend: Backend? = nil,
        image: String? = nil,
        profile: Profile? = nil,
        compatibilityMode: CompatibilityMode? = nil,
        network: Network? = nil,
        env: [String: String]? = nil,
        user: String? = nil,
        resources: Resources? = nil,
        secrets: [SecretOptions]? = nil,
        mounts: [MountOptions]? = nil,
        dir: String? = nil,
        workspace: Workspace? = nil
    ) {
        self.cwd = cwd
        self.stdin = stdin
        self.timeout = timeout
        self.encoding = encoding
        self.lang = lang
        self.module = module
        self.backend = backend
        self.image = image
        self.profile = profile
        self.compatibilityMode = compatibilityMode
        self.network = network
        self.env = env
        self.user = user
        self.resources = resources
        self.secrets = secrets
        self.mounts = mounts
        self.dir = dir
        self.workspace = workspace
    }

    enum CodingKeys: String, CodingKey {
        case cwd = "cwd"
        case stdin = "stdin"
        case timeout = "timeout_ms"
        case encoding = "encoding"
        case lang = "lang"
        case module = "module"
        case backend = "backend"
        case image = "image"
        case profile = "profile"
        case compatibilityMode = "compatibility_mode"
        case network = "network"
        case env = "env"
        case user = "user"
        case resources = "resources"
        case secrets = "secrets"
        case mounts = "mounts"
        case dir = "dir"
        case workspace = "workspace"
        case stdinEncoding = "stdin_encoding"
    }

    /// Reads it as the API writes it.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        cwd = try container.decodeIfPresent(String.self, forKey: .cwd)
        stdin = try Input(from: container, text: .stdin, encoding: .stdinEncoding)
        timeout = try container.decodeIfPresent(Double.self, forKey: .timeout).map { .milliseconds($0) }
        encoding = try container.decodeIfPresent(OutputEncoding.self, forKey: .encoding)
        lang = try container.decodeIfPresent(WasmLanguage.self, forKey: .lang)
        module = try container.decodeIfPresent(String.self, forKey: .module)
        backend = try container.decodeIfPresent(Backend.self, forKey: .backend)
        image = try container.decodeIfPresent(String.self, forKey: .image)
        profile = try container.decodeIfPresent(Profile.self, forKey: .profile)
        compatibilityMode = try container.decodeIfPresent(CompatibilityMode.self, forKey: .compatibilityMode)
        network = try container.decodeIfPresent(Network.self, forKey: .network)
        env = try container.decodeIfPresent([String: String].self, forKey: .env)
        user = try container.decodeIfPresent(String.self, forKey: .user)
        resources = try container.decodeIfPresent(Resources.self, forKey: .resources)
        secrets = try container.decodeIfPresent([SecretOptions].self, forKey: .secrets)
        mounts = try container.decodeIfPresent([MountOptions].self, forKey: .mounts)
        dir = try container.decodeIfPresent(String.self, forKey: .dir)
        workspace = try container.decodeIfPresent(Workspace.self, forKey: .workspace)
    }

    /// Writes it as the API reads it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(cwd, forKey: .cwd)
        try stdin?.encode(to: &container, text: .stdin, encoding: .stdinEncoding)
        try container.encodeIfPresent(timeout.map { Int($0.inMilliseconds.rounded()) }, forKey: .timeout)
        try container.encodeIfPresent(encoding, forKey: .encoding)
        try container.encodeIfPresent(lang, forKey: .lang)
        try container.encodeIfPresent(module, forKey: .module)
        try container.encodeIfPresent(backend, forKey: .backend)
        try container.encodeIfPresent(image, forKey: .image)
        try container.encodeIfPresent(profile, forKey: .profile)
        try container.encodeIfPresent(compatibilityMode, forKey: .compatibilityMode)
        try container.encodeIfPresent(network, forKey: .network)
        try container.encodeIfPresent(env, forKey: .env)
        try container.encodeIfPresent(user, forKey: .user)
        try container.encodeIfPresent(resources, forKey: .resources)
        try container.encodeIfPresent(secrets, forKey: .secrets)
        try container.encodeIfPresent(mounts, forKey: .mounts)
        try container.encodeIfPresent(dir, forKey: .dir)
        try container.encodeIfPresent(workspace, forKey: .workspace)
    }
}

/// How a command is run in a sandbox that stays.
public struct ExecOptions: Sendable, Codable {
    /// The working directory, inside the sandbox (/workspace).
    public var cwd: String?
    /// What the command reads on its standard input.
    public var stdin: Input?
    /// After so long the command is ended with all it started (30000).
    public var timeout: Duration?
    /// How output is written in the answer; base64 keeps every byte (utf8).
    public var encoding: OutputEncoding?
    /// Variables for this command.
    public var env: [String: String]?
    /// Who it runs as: name, uid, name:group or uid:gid.
    public var user: String?

    /// What is left out is as the server has it.
    public init(
        cwd: String? = nil,
        stdin: Input? = nil,
        timeout: Duration? = nil,
        encoding: OutputEncoding? = nil,
        env: [String: String]? = nil,
        user: String? = nil
    ) {
        self.cwd = cwd
        self.stdin = stdin
        self.timeout = timeout
        self.encoding = encoding
        self.env = env
        self.user = user
    }

    enum CodingKeys: String, CodingKey {
        case cwd = "cwd"
        case stdin = "stdin"
        case timeout = "timeout_ms"
        case encoding = "encoding"
        case env = "env"
        case user = "user"
        case stdinEncoding = "stdin_encoding"
    }

    /// Reads it as the API writes it.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        cwd = try container.decodeIfPresent(String.self, forKey: .cwd)
        stdin = try Input(from: container, text: .stdin, encoding: .stdinEncoding)
        timeout = try container.decodeIfPresent(Double.self, forKey: .timeout).map { .milliseconds($0) }
        encoding = try container.decodeIfPresent(OutputEncoding.self, forKey: .encoding)
        env = try container.decodeIfPresent([String: String].self, forKey: .env)
        user = try container.decodeIfPresent(String.self, forKey: .user)
    }

    /// Writes it as the API reads it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(cwd, forKey: .cwd)
        try stdin?.encode(to: &container, text: .stdin, encoding: .stdinEncoding)
        try container.encodeIfPresent(timeout.map { Int($0.inMilliseconds.rounded()) }, forKey: .timeout)
        try container.encodeIfPresent(encoding, forKey: .encoding)
        try container.encodeIfPresent(env, forKey: .env)
        try container.encodeIfPresent(user, forKey: .user)
    }
}

/// What a new sandbox is.
public struct CreateOptions: Sendable, Codable {
    /// What isolates it (auto). With `wasm` the command is a WebAssembly module and its arguments.
    public var backend: Backend?
    /// Where the root filesystem comes from; otherwise it is detected from the command.
    public var image: String?
    /// How much is allowed (moderate).
    public var profile: Profile?
    /// Defaults that fit one agent (native).
    public var compatibilityMode: CompatibilityMode?
    /// What can be reached.
    public var network: Network?
    /// Variables for every command.
    public var env: [String: String]?
    /// Who commands run as: name, uid, name:group or uid:gid.
    public var user: String?
    /// Limits of the sandbox.
    public var resources: Resources?
    /// Secrets of the server's environment, each for one host; the sandbox sees a placeholder only. Only for the user of the same machine or an admin key.
    public var secrets: [SecretOptions]?
    /// Files and folders of the host beside `dir`. Only for the user of the same machine or an admin key.
    public var mounts: [MountOptions]?
    /// A folder of the host, shown as /workspace. Only for the user of the same machine, an admin key, or a key that was given it.
    public var dir: String?
    /// How `dir` is shown: as a copy (default), carried over after the end, live, or not at all.
    public var workspace: Workspace?
    /// Ports of the server's machine that lead to ports inside. Only for the user of the same machine or an admin key.
    public var publish: [PublishOptions]?
    /// It is removed so long after its creation.
    public var ttl: String?
    /// It is stopped after so long without work.
    public var idleTimeout: String?
    /// false: it is made and not started (true).
    public var start: Bool?

    /// What is left out is as the server has it.
    public init(
        backend: Backend? = nil,
        image: String? = nil,
        profile: Profile? = nil,
        compatibilityMode: CompatibilityMode? = nil,
        network: Network? = nil,
        env: [String: String]? = nil,
        user: String? = nil,
        resources: Resources? = nil,
        secrets: [SecretOptions]? = nil,
        mounts: [MountOptions]? = nil,
        dir: String? = nil,
        workspace: Workspace? = nil,
        publish: [PublishOptions]? = nil,
        ttl: String? = nil,
        idleTimeout: String? = nil,
        start: Bool? = nil
    ) {
        self.backend = backend
        self.image = image
        self.profile = profile
        self.compatibilityMode = compatibilityMode
        self.network = network
        self.env = env
        self.user = user
        self.resources = resources
        self.secrets = secrets
        self.mounts = mounts
        self.dir = dir
        self.workspace = workspace
        self.publish = publish
        self.ttl = ttl
        self.idleTimeout = idleTimeout
        self.start = start
    }

    enum CodingKeys: String, CodingKey {
        case backend = "backend"
        case image = "image"
        case profile = "profile"
        case compatibilityMode = "compatibility_mode"
        case network = "network"
        case env = "env"
        case user = "user"
        case resources = "resources"
        case secrets = "secrets"
        case mounts = "mounts"
        case dir = "dir"
        case workspace = "workspace"
        case publish = "publish"
        case ttl = "ttl"
        case idleTimeout = "idle_timeout"
        case start = "start"
    }

    /// Reads it as the API writes it.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        backend = try container.decodeIfPresent(Backend.self, forKey: .backend)
        image = try container.decodeIfPresent(String.self, forKey: .image)
        profile = try container.decodeIfPresent(Profile.self, forKey: .profile)
        compatibilityMode = try container.decodeIfPresent(CompatibilityMode.self, forKey: .compatibilityMode)
        network = try container.decodeIfPresent(Network.self, forKey: .network)
        env = try container.decodeIfPresent([String: String].self, forKey: .env)
        user = try container.decodeIfPresent(String.self, forKey: .user)
        resources = try container.decodeIfPresent(Resources.self, forKey: .resources)
        secrets = try container.decodeIfPresent([SecretOptions].self, forKey: .secrets)
        mounts = try container.decodeIfPresent([MountOptions].self, forKey: .mounts)
        dir = try container.decodeIfPresent(String.self, forKey: .dir)
        workspace = try container.decodeIfPresent(Workspace.self, forKey: .workspace)
        publish = try container.decodeIfPresent([PublishOptions].self, forKey: .publish)
        ttl = try container.decodeIfPresent(String.self, forKey: .ttl)
        idleTimeout = try container.decodeIfPresent(String.self, forKey: .idleTimeout)
        start = try container.decodeIfPresent(Bool.self, forKey: .start)
    }

    /// Writes it as the API reads it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(backend, forKey: .backend)
        try container.encodeIfPresent(image, forKey: .image)
        try container.encodeIfPresent(profile, forKey: .profile)
        try container.encodeIfPresent(compatibilityMode, forKey: .compatibilityMode)
        try container.encodeIfPresent(network, forKey: .network)
        try container.encodeIfPresent(env, forKey: .env)
        try container.encodeIfPresent(user, forKey: .user)
        try container.encodeIfPresent(resources, forKey: .resources)
        try container.encodeIfPresent(secrets, forKey: .secrets)
        try container.encodeIfPresent(mounts, forKey: .mounts)
        try container.encodeIfPresent(dir, forKey: .dir)
        try container.encodeIfPresent(workspace, forKey: .workspace)
        try container.encodeIfPresent(publish, forKey: .publish)
        try container.encodeIfPresent(ttl, forKey: .ttl)
        try container.encodeIfPresent(idleTimeout, forKey: .idleTimeout)
        try container.encodeIfPresent(start, forKey: .start)
    }
}

/// How a copy of a sandbox begins.
public struct CopyOptions: Sendable, Codable {
    /// false: it is made and not started (true).
    public var start: Bool?
    /// false: files alone, also where memory could be had (true).
    public var memory: Bool?

    /// What is left out is as the server has it.
    public init(
        start: Bool? = nil,
        memory: Bool? = nil
    ) {
        self.start = start
        self.memory = memory
    }

    enum CodingKeys: String, CodingKey {
        case start = "start"
        case memory = "memory"
    }

    /// Reads it as the API writes it.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        start = try container.decodeIfPresent(Bool.self, forKey: .start)
        memory = try container.decodeIfPresent(Bool.self, forKey: .memory)
    }

    /// Writes it as the API reads it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(start, forKey: .start)
        try container.encodeIfPresent(memory, forKey: .memory)
    }
}
