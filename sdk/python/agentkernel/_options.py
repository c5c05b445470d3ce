"""Written by `npm run sdk:sources` from spec/errors.json and spec/openapi.json; changes belong there."""

from typing import Literal, TypedDict

from ._network import Network


class Resources(TypedDict, total=False):
    """Limits of a sandbox."""

    vcpus: float
    """Processor cores (2)."""
    memory_mb: int
    """Memory, in MiB (half of the machine's, at least 2048)."""
    pids: int
    """Processes and threads at once (4096)."""
    disk_mb: int
    """What may be written, in MiB (4096)."""
    open_files: int
    """Open files of one process (4096)."""
    max_connections: int
    """Connections to the network at once (2048)."""


class SecretOptions(TypedDict, total=False):
    name: str
    """The variable."""
    host: str
    """The only host that gets it."""
    header: str
    """In which (authorization)."""


class MountOptions(TypedDict, total=False):
    host: str
    """Its source."""
    guest: str
    """Where it appears."""
    readonly: bool
    """false: changes reach the host at once (true)."""


class PublishOptions(TypedDict, total=False):
    address: str
    """Of the host (127.0.0.1)."""
    host_port: int
    """0: any that is free (0)."""
    guest_port: int
    """The port inside."""


class RunOptions(TypedDict, total=False):
    cwd: str
    """The working directory, inside the sandbox (/workspace)."""
    stdin: str | bytes
    """What the command reads on its standard input."""
    timeout_ms: int
    """After so long the command is ended with all it started (30000)."""
    encoding: Literal["utf8", "base64"]
    """How output is written in the answer; base64 keeps every byte (utf8)."""
    lang: Literal["js", "python"]
    """With the backend `wasm`: the first word of the command is a program's text."""
    module: str
    """With the backend `wasm`: the module itself, in base64; the first word of the command is then only its name."""
    backend: Literal["auto", "linux", "podman", "docker", "gvisor", "microvm", "wasm", "apple", "hyperlight"]
    """What isolates it (auto). With `wasm` the command is a WebAssembly module and its arguments."""
    image: str
    """Where the root filesystem comes from; otherwise it is detected from the command."""
    profile: Literal["permissive", "moderate", "restrictive"]
    """How much is allowed (moderate)."""
    compatibility_mode: Literal["native", "claude", "codex", "gemini"]
    """Defaults that fit one agent (native)."""
    network: Network
    """What can be reached."""
    env: dict[str, str]
    """Variables for every command."""
    user: str
    """Who commands run as: name, uid, name:group or uid:gid."""
    resources: Resources
    """Limits of the sandbox."""
    secrets: list[SecretOptions]
    """Secrets of the server's environment, each for one host; the sandbox sees a placeholder only. Only for the user of the same machine or an admin key."""
    mounts: list[MountOptions]
    """Files and folders of the host beside `dir`. Only for the user of the same machine or an admin key."""
    dir: str
    """A folder of the host, shown as /workspace. Only for the user of the same machine, an admin key, or a key that was given it."""
    workspace: Literal["copy", "sync", "mount", "none"]
    """How `dir` is shown: as a copy (default), carried over after the end, live, or not at all."""


class ExecOptions(TypedDict, total=False):
    cwd: str
    """The working directory, inside the sandbox (/workspace)."""
    stdin: str | bytes
    """What the command reads on its standard input."""
    timeout_ms: int
    """After so long the command is ended with all it started (30000)."""
    encoding: Literal["utf8", "base64"]
    """How output is written in the answer; base64 keeps every byte (utf8)."""
    env: dict[str, str]
    """Variables for this command."""
    user: str
    """Who it runs as: name, uid, name:group or uid:gid."""


class CreateOptions(TypedDict, total=False):
    backend: Literal["auto", "linux", "podman", "docker", "gvisor", "microvm", "wasm", "apple", "hyperlight"]
    """What isolates it (auto). With `wasm` the command is a WebAssembly module and its arguments."""
    image: str
    """Where the root filesystem comes from; otherwise it is detected from the command."""
    profile: Literal["permissive", "moderate", "restrictive"]
    """How much is allowed (moderate)."""
    compatibility_mode: Literal["native", "claude", "codex", "gemini"]
    """Defaults that fit one agent (native)."""
    network: Network
    """What can be reached."""
    env: dict[str, str]
    """Variables for every command."""
    user: str
    """Who commands run as: name, uid, name:group or uid:gid."""
    resources: Resources
    """Limits of the sandbox."""
    secrets: list[SecretOptions]
    """Secrets of the server's environment, each for one host; the sandbox sees a placeholder only. Only for the user of the same machine or an admin key."""
    mounts: list[MountOptions]
    """Files and folders of the host beside `dir`. Only for the user of the same machine or an admin key."""
    dir: str
    """A folder of the host, shown as /workspace. Only for the user of the same machine, an admin key, or a key that was given it."""
    workspace: Literal["copy", "sync", "mount", "none"]
    """How `dir` is shown: as a copy (default), carried over after the end, live, or not at all."""
    publish: list[PublishOptions]
    """Ports of the server's machine that lead to ports inside. Only for the user of the same machine or an admin key."""
    ttl: str
    """It is removed so long after its creation."""
    idle_timeout: str
    """It is stopped after so long without work."""
    start: bool
    """false: it is made and not started (true)."""


class CopyOptions(TypedDict, total=False):
    start: bool
    """false: it is made and not started (true)."""
    memory: bool
    """false: files alone, also where memory could be had (true)."""
