"""Written by `npm run sdk:sources` from spec/errors.json and spec/openapi.json; changes belong there."""

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "Blocked",
    "Change",
    "Changes",
    "DetachedExec",
    "Diff",
    "ExecLog",
    "ExecResult",
    "FileEntry",
    "FolderListing",
    "Health",
    "ImageUsed",
    "Layer",
    "PublishedPort",
    "RunResult",
    "RunResultNetwork",
    "SandboxInfo",
    "SandboxInfoResources",
    "Snapshot",
    "Stats",
    "Usage",
    "Version",
    "Written",
]


@dataclass(frozen=True, slots=True)
class ImageUsed:
    name: str
    """As it is called."""
    digest: str | None
    """Of its manifest; null for the host's own files."""
    why: str
    """What named it."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One wall of a sandbox, and whether it stands."""

    name: str
    """Which wall."""
    state: Literal["applied", "partial", "absent"]
    """Whether it stands."""
    detail: str | None
    """What is missing."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """Something that the sandbox was not let through to."""

    host: str
    """Name or address that was asked for."""
    port: int | None
    """Null where a name was only looked up."""
    rule: str
    """The rule that refused it."""
    times: int
    """How often."""


@dataclass(frozen=True, slots=True)
class Usage:
    cpu_us: int | None
    """Processor time."""
    memory_peak_bytes: int | None
    """The most memory at once."""
    oom_kills: int
    """Processes killed at the memory limit."""
    processes_denied: int
    """Processes refused at the limit of processes."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What was carried over to the project on the host."""

    written: list[str]
    """Written to the folder on the host."""
    deleted: list[str]
    """Deleted there."""
    conflicts: list[str]
    """Changed on the host meanwhile, and left. The sandbox's version is kept."""
    refused: list[str]
    """Hidden or protected, and left."""
    held: list[str]
    """Waits for the user's review, since it steers what the user runs later, and left."""
    held_as: str | None
    """The name under which `agentkernel diff` and `apply` find what is held or in conflict, where it is not in a sandbox."""
    omitted: int
    """Paths that are not listed."""
    repositories: list[str]
    """Why git repositories were left as they were."""


@dataclass(frozen=True, slots=True)
class RunResultNetwork:
    """Its way out."""

    mode: Literal["off", "on", "allowlist"]
    """What could be reached."""
    blocked: list[Blocked]
    """What was refused."""


@dataclass(frozen=True, slots=True)
class RunResult:
    output: str
    """Both streams in order of arrival."""
    stdout: str
    """Standard output."""
    stderr: str
    """Standard error."""
    exit_code: int
    """The command's own; 124 timed out, 126 not executable, 127 not found, 128+n killed by signal n."""
    duration_ms: float
    """From the request to the end."""
    timed_out: bool
    """The time limit ended it."""
    sandbox: str
    """The sandbox that it ran in."""
    encoding: Literal["utf8", "base64"]
    """How output, stdout and stderr are written."""
    dropped_bytes: int
    """Output beyond the limit, which is not here."""
    backend: Literal["linux", "docker", "podman", "gvisor", "microvm", "wasm", "apple", "kubernetes"]
    """What isolated it."""
    image: ImageUsed
    """Its root filesystem."""
    profile: Literal["permissive", "moderate", "restrictive"]
    """How much is allowed."""
    compatibility_mode: Literal["native", "claude", "codex", "gemini"]
    """The agent whose defaults hold."""
    layers: list[Layer]
    """Its walls."""
    usage: Usage
    """What it used."""
    network: RunResultNetwork
    """Its way out."""
    changes: Changes | None
    """What was carried over, where `workspace` is `sync`."""
    notes: list[str]
    """What the caller should know besides."""


@dataclass(frozen=True, slots=True)
class ExecResult:
    output: str
    """Both streams in order of arrival."""
    stdout: str
    """Standard output."""
    stderr: str
    """Standard error."""
    exit_code: int
    """The command's own; 124 timed out, 126 not executable, 127 not found, 128+n killed by signal n."""
    duration_ms: float
    """From the request to the end."""
    timed_out: bool
    """The time limit ended it."""
    sandbox: str
    """The sandbox that it ran in."""
    encoding: Literal["utf8", "base64"]
    """How output, stdout and stderr are written."""
    dropped_bytes: int
    """Output beyond the limit, which is not here."""
    exec: str
    """The command, among all of this sandbox."""


@dataclass(frozen=True, slots=True)
class DetachedExec:
    exec: str
    """By which its output and end are found."""
    sandbox: str
    """The sandbox that it runs in."""


@dataclass(frozen=True, slots=True)
class ExecLog:
    exec: str
    """The command, among all of this sandbox."""
    command: list[str]
    """Its words."""
    state: Literal["running", "ended", "failed", "lost"]
    """`failed`: it never ran; `lost`: nobody saw how it ended."""
    started_at: str
    """When it was started."""
    ended_at: str | None
    """When it ended."""
    exit_code: int | None
    """How it ended."""
    stdout: str
    """The newest of its standard output."""
    stderr: str
    """The newest of its standard error."""
    encoding: Literal["utf8", "base64"]
    """How stdout and stderr are written."""
    dropped_bytes: int
    """Older output, which is not kept."""


@dataclass(frozen=True, slots=True)
class PublishedPort:
    address: str
    """Of the host."""
    host_port: int
    """The port of the host."""
    guest_port: int
    """The port inside that it leads to."""


@dataclass(frozen=True, slots=True)
class SandboxInfoResources:
    """Its limits."""

    vcpus: float
    """Processor cores."""
    memory_mb: int
    """Memory, in MiB."""
    pids: int
    """Processes and threads at once."""
    disk_mb: int
    """What may be written, in MiB."""
    open_files: int
    """Open files of one process."""
    max_connections: int
    """Connections to the network at once."""


@dataclass(frozen=True, slots=True)
class SandboxInfo:
    name: str
    """How it is called."""
    state: Literal["created", "running", "paused", "stopped"]
    """What it does now."""
    backend: Literal["linux", "docker", "podman", "gvisor", "microvm", "wasm", "apple", "kubernetes"]
    """What isolates it."""
    image: ImageUsed | None
    """Its root filesystem; null where that is not known yet."""
    profile: Literal["permissive", "moderate", "restrictive"]
    """How much is allowed."""
    compatibility_mode: Literal["native", "claude", "codex", "gemini"]
    """The agent whose defaults hold."""
    network: Literal["off", "on", "allowlist"]
    """What can be reached."""
    resources: SandboxInfoResources
    """Its limits."""
    dir: str | None
    """The folder of the host that it shows as /workspace."""
    created_at: str
    """When it was made."""
    started_at: str | None
    """When it was last started; null where it does not run."""
    expires_at: str | None
    """When it will be removed."""
    ttl_ms: int | None
    """How long after its creation it is removed."""
    idle_timeout_ms: int | None
    """After so long without work it is stopped."""
    ports: list[PublishedPort]
    """Its published ports; empty where it does not run."""
    layers: list[Layer]
    """Its walls; empty where it does not run."""
    notes: list[str]
    """What its user should know."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Files are kept as they are at one moment; processes and memory only of a machine (microvm) that runs."""

    name: str
    """How it is called."""
    sandbox: str
    """The sandbox that it was made of, which may be gone."""
    backend: Literal["linux", "docker", "podman", "gvisor", "microvm", "wasm", "apple", "kubernetes"]
    """What isolates a sandbox that is made of it."""
    image: ImageUsed
    """What the files lie on."""
    dir: str | None
    """The folder of the host that the sandbox showed as /workspace."""
    created_at: str
    """When it was made."""
    memory: bool
    """What ran goes on in a sandbox that is made of it."""
    size_bytes: int | None
    """Of its files' contents; null where nothing can tell."""


@dataclass(frozen=True, slots=True)
class Stats:
    """What a sandbox uses; null where nothing can tell, or where it does not run."""

    name: str
    """Of the sandbox."""
    state: Literal["created", "running", "paused", "stopped"]
    """What it does now."""
    memory_bytes: int | None
    """Memory in use."""
    memory_peak_bytes: int | None
    """The most since it was started."""
    cpu_us: int | None
    """Processor time since it was started."""
    processes: int | None
    """Processes and threads."""
    oom_kills: int | None
    """Processes killed at the memory limit."""
    processes_denied: int | None
    """Processes refused at the limit of processes."""
    disk_bytes: int | None
    """What it has written and kept."""
    network_received_bytes: int | None
    """Bytes that came in through the gateway."""
    network_sent_bytes: int | None
    """Bytes that went out through it."""


@dataclass(frozen=True, slots=True)
class Change:
    path: str
    """Relative to the project."""
    change: Literal["added", "modified", "deleted", "renamed"]
    """What was done to it."""
    renamed_from: str | None
    """Its name before, where it was renamed."""
    type: Literal["file", "symlink", "dir", "other"]
    """What it is; of what was deleted, what it was."""
    size_bytes: int | None
    """Of its content now; null where it was deleted."""
    conflict: str | None
    """What the host did to it meanwhile, for which it is not applied."""
    refused: str | None
    """Why it is never applied."""
    review: bool
    """It steers what the user runs later, and is applied only after a yes to it."""


@dataclass(frozen=True, slots=True)
class Diff:
    changes: list[Change]
    """Sorted by path."""
    truncated: bool
    """There are more than are listed."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    name: str
    """In its folder."""
    type: Literal["file", "dir", "symlink", "other"]
    """What it is."""
    size_bytes: int
    """Of its content."""
    mode: int
    """Permission bits."""
    modified_ms: float
    """When it was changed, since 1970."""


@dataclass(frozen=True, slots=True)
class FolderListing:
    path: str
    """Absolute, inside the sandbox."""
    type: Literal["dir"]
    """A folder."""
    entries: list[FileEntry]
    """Sorted by name."""
    truncated: bool
    """There are more than are listed."""


@dataclass(frozen=True, slots=True)
class Written:
    path: str
    """Absolute, inside the sandbox."""
    size_bytes: int | None
    """Of the file; null for a folder."""


@dataclass(frozen=True, slots=True)
class Health:
    status: Literal["ok", "stopping"]
    """`stopping`: it takes no new work."""


@dataclass(frozen=True, slots=True)
class Version:
    version: str
    """Of agentkernel."""
    build: str
    """Tells builds of one version apart."""
    node: str
    """Of the runtime below."""
