//! Written by `npm run sdk:sources` from spec/errors.json and spec/openapi.json; changes belong there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::input::Input;
use crate::network::Network;

/// Limits of a sandbox.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Resources {
    /// Processor cores (2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vcpus: Option<f64>,
    /// Memory, in MiB (half of the machine's, at least 2048).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<i64>,
    /// Processes and threads at once (4096).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids: Option<i64>,
    /// What may be written, in MiB (4096).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_mb: Option<i64>,
    /// Open files of one process (4096).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<i64>,
    /// Connections to the network at once (2048).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_connections: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct SecretOptions {
    /// The variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The only host that gets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// In which (authorization).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct MountOptions {
    /// Its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Where it appears.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest: Option<String>,
    /// false: changes reach the host at once (true).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readonly: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct PublishOptions {
    /// Of the host (127.0.0.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// 0: any that is free (0).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_port: Option<i64>,
    /// The port inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest_port: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct RunOptions {
    /// The working directory, inside the sandbox (/workspace).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What the command reads on its standard input.
    #[serde(flatten)]
    pub stdin: Option<Input>,
    /// After so long the command is ended with all it started (30000).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
    /// How output is written in the answer; base64 keeps every byte (utf8). One of utf8, base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// With the backend `wasm`: the first word of the command is a program's text. One of js, python.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lang: Option<String>,
    /// With the backend `wasm`: the module itself, in base64; the first word of the command is then only its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// What isolates it (auto). With `wasm` the command is a WebAssembly module and its arguments. One of auto, linux, podman, docker, gvisor, microvm, wasm, apple, hyperlight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Where the root filesystem comes from; otherwise it is detected from the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// How much is allowed (moderate). One of permissive, moderate, restrictive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Defaults that fit one agent (native). One of native, claude, codex, gemini.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compatibility_mode: Option<String>,
    /// What can be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Variables for every command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Who commands run as: name, uid, name:group or uid:gid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Limits of the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// Secrets of the server's environment, each for one host; the sandbox sees a placeholder only. Only for the user of the same machine or an admin key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets: Option<Vec<SecretOptions>>,
    /// Files and folders of the host beside `dir`. Only for the user of the same machine or an admin key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mounts: Option<Vec<MountOptions>>,
    /// A folder of the host, shown as /workspace. Only for the user of the same machine, an admin key, or a key that was given it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// How `dir` is shown: as a copy (default), carried over after the end, live, or not at all. One of copy, sync, mount, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct ExecOptions {
    /// The working directory, inside the sandbox (/workspace).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What the command reads on its standard input.
    #[serde(flatten)]
    pub stdin: Option<Input>,
    /// After so long the command is ended with all it started (30000).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
    /// How output is written in the answer; base64 keeps every byte (utf8). One of utf8, base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Variables for this command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Who it runs as: name, uid, name:group or uid:gid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct CreateOptions {
    /// What isolates it (auto). With `wasm` the command is a WebAssembly module and its arguments. One of auto, linux, podman, docker, gvisor, microvm, wasm, apple, hyperlight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Where the root filesystem comes from; otherwise it is detected from the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// How much is allowed (moderate). One of permissive, moderate, restrictive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Defaults that fit one agent (native). One of native, claude, codex, gemini.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compatibility_mode: Option<String>,
    /// What can be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Variables for every command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Who commands run as: name, uid, name:group or uid:gid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Limits of the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// Secrets of the server's environment, each for one host; the sandbox sees a placeholder only. Only for the user of the same machine or an admin key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets: Option<Vec<SecretOptions>>,
    /// Files and folders of the host beside `dir`. Only for the user of the same machine or an admin key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mounts: Option<Vec<MountOptions>>,
    /// A folder of the host, shown as /workspace. Only for the user of the same machine, an admin key, or a key that was given it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// How `dir` is shown: as a copy (default), carried over after the end, live, or not at all. One of copy, sync, mount, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Ports of the server's machine that lead to ports inside. Only for the user of the same machine or an admin key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish: Option<Vec<PublishOptions>>,
    /// It is removed so long after its creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
    /// It is stopped after so long without work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<String>,
    /// false: it is made and not started (true).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct CopyOptions {
    /// false: it is made and not started (true).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<bool>,
    /// false: files alone, also where memory could be had (true).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<bool>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ImageUsed {
    /// As it is called.
    pub name: String,
    /// Of its manifest; null for the host's own files.
    pub digest: Option<String>,
    /// What named it.
    pub why: String,
}

/// One wall of a sandbox, and whether it stands.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Layer {
    /// Which wall.
    pub name: String,
    /// Whether it stands. One of applied, partial, absent.
    pub state: String,
    /// What is missing.
    pub detail: Option<String>,
}

/// Something that the sandbox was not let through to.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Blocked {
    /// Name or address that was asked for.
    pub host: String,
    /// Null where a name was only looked up.
    pub port: Option<i64>,
    /// The rule that refused it.
    pub rule: String,
    /// How often.
    pub times: i64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Usage {
    /// Processor time.
    pub cpu_us: Option<i64>,
    /// The most memory at once.
    pub memory_peak_bytes: Option<i64>,
    /// Processes killed at the memory limit.
    pub oom_kills: i64,
    /// Processes refused at the limit of processes.
    pub processes_denied: i64,
}

/// What was carried over to the project on the host.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Changes {
    /// Written to the folder on the host.
    pub written: Vec<String>,
    /// Deleted there.
    pub deleted: Vec<String>,
    /// Changed on the host meanwhile, and left. The sandbox's version is kept.
    pub conflicts: Vec<String>,
    /// Hidden or protected, and left.
    pub refused: Vec<String>,
    /// Waits for the user's review, since it steers what the user runs later, and left.
    pub held: Vec<String>,
    /// The name under which `agentkernel diff` and `apply` find what is held or in conflict, where it is not in a sandbox.
    pub held_as: Option<String>,
    /// Paths that are not listed.
    pub omitted: i64,
    /// Why git repositories were left as they were.
    pub repositories: Vec<String>,
}

/// Its way out.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct RunResultNetwork {
    /// What could be reached. One of off, on, allowlist.
    pub mode: String,
    /// What was refused.
    pub blocked: Vec<Blocked>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct RunResult {
    /// Both streams in order of arrival.
    pub output: String,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The command's own; 124 timed out, 126 not executable, 127 not found, 128+n killed by signal n.
    pub exit_code: i64,
    /// From the request to the end.
    pub duration_ms: f64,
    /// The time limit ended it.
    pub timed_out: bool,
    /// The sandbox that it ran in.
    pub sandbox: String,
    /// How output, stdout and stderr are written. One of utf8, base64.
    pub encoding: String,
    /// Output beyond the limit, which is not here.
    pub dropped_bytes: i64,
    /// What isolated it. One of linux, docker, podman, gvisor, microvm, wasm, apple, kubernetes.
    pub backend: String,
    /// Its root filesystem.
    pub image: ImageUsed,
    /// How much is allowed. One of permissive, moderate, restrictive.
    pub profile: String,
    /// The agent whose defaults hold. One of native, claude, codex, gemini.
    pub compatibility_mode: String,
    /// Its walls.
    pub layers: Vec<Layer>,
    /// What it used.
    pub usage: Usage,
    /// Its way out.
    pub network: RunResultNetwork,
    /// What was carried over, where `workspace` is `sync`.
    pub changes: Option<Changes>,
    /// What the caller should know besides.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ExecResult {
    /// Both streams in order of arrival.
    pub output: String,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The command's own; 124 timed out, 126 not executable, 127 not found, 128+n killed by signal n.
    pub exit_code: i64,
    /// From the request to the end.
    pub duration_ms: f64,
    /// The time limit ended it.
    pub timed_out: bool,
    /// The sandbox that it ran in.
    pub sandbox: String,
    /// How output, stdout and stderr are written. One of utf8, base64.
    pub encoding: String,
    /// Output beyond the limit, which is not here.
    pub dropped_bytes: i64,
    /// The command, among all of this sandbox.
    pub exec: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct DetachedExec {
    /// By which its output and end are found.
    pub exec: String,
    /// The sandbox that it runs in.
    pub sandbox: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ExecLog {
    /// The command, among all of this sandbox.
    pub exec: String,
    /// Its words.
    pub command: Vec<String>,
    /// `failed`: it never ran; `lost`: nobody saw how it ended. One of running, ended, failed, lost.
    pub state: String,
    /// When it was started.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// How it ended.
    pub exit_code: Option<i64>,
    /// The newest of its standard output.
    pub stdout: String,
    /// The newest of its standard error.
    pub stderr: String,
    /// How stdout and stderr are written. One of utf8, base64.
    pub encoding: String,
    /// Older output, which is not kept.
    pub dropped_bytes: i64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct PublishedPort {
    /// Of the host.
    pub address: String,
    /// The port of the host.
    pub host_port: i64,
    /// The port inside that it leads to.
    pub guest_port: i64,
}

/// Its limits.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct SandboxInfoResources {
    /// Processor cores.
    pub vcpus: f64,
    /// Memory, in MiB.
    pub memory_mb: i64,
    /// Processes and threads at once.
    pub pids: i64,
    /// What may be written, in MiB.
    pub disk_mb: i64,
    /// Open files of one process.
    pub open_files: i64,
    /// Connections to the network at once.
    pub max_connections: i64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct SandboxInfo {
    /// How it is called.
    pub name: String,
    /// What it does now. One of created, running, paused, stopped.
    pub state: String,
    /// What isolates it. One of linux, docker, podman, gvisor, microvm, wasm, apple, kubernetes.
    pub backend: String,
    /// Its root filesystem; null where that is not known yet.
    pub image: Option<ImageUsed>,
    /// How much is allowed. One of permissive, moderate, restrictive.
    pub profile: String,
    /// The agent whose defaults hold. One of native, claude, codex, gemini.
    pub compatibility_mode: String,
    /// What can be reached. One of off, on, allowlist.
    pub network: String,
    /// Its limits.
    pub resources: SandboxInfoResources,
    /// The folder of the host that it shows as /workspace.
    pub dir: Option<String>,
    /// When it was made.
    pub created_at: String,
    /// When it was last started; null where it does not run.
    pub started_at: Option<String>,
    /// When it will be removed.
    pub expires_at: Option<String>,
    /// How long after its creation it is removed.
    pub ttl_ms: Option<i64>,
    /// After so long without work it is stopped.
    pub idle_timeout_ms: Option<i64>,
    /// Its published ports; empty where it does not run.
    pub ports: Vec<PublishedPort>,
    /// Its walls; empty where it does not run.
    pub layers: Vec<Layer>,
    /// What its user should know.
    pub notes: Vec<String>,
}

/// Files are kept as they are at one moment; processes and memory only of a machine (microvm) that runs.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// How it is called.
    pub name: String,
    /// The sandbox that it was made of, which may be gone.
    pub sandbox: String,
    /// What isolates a sandbox that is made of it. One of linux, docker, podman, gvisor, microvm, wasm, apple, kubernetes.
    pub backend: String,
    /// What the files lie on.
    pub image: ImageUsed,
    /// The folder of the host that the sandbox showed as /workspace.
    pub dir: Option<String>,
    /// When it was made.
    pub created_at: String,
    /// What ran goes on in a sandbox that is made of it.
    pub memory: bool,
    /// Of its files' contents; null where nothing can tell.
    pub size_bytes: Option<i64>,
}

/// What a sandbox uses; null where nothing can tell, or where it does not run.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// Of the sandbox.
    pub name: String,
    /// What it does now. One of created, running, paused, stopped.
    pub state: String,
    /// Memory in use.
    pub memory_bytes: Option<i64>,
    /// The most since it was started.
    pub memory_peak_bytes: Option<i64>,
    /// Processor time since it was started.
    pub cpu_us: Option<i64>,
    /// Processes and threads.
    pub processes: Option<i64>,
    /// Processes killed at the memory limit.
    pub oom_kills: Option<i64>,
    /// Processes refused at the limit of processes.
    pub processes_denied: Option<i64>,
    /// What it has written and kept.
    pub disk_bytes: Option<i64>,
    /// Bytes that came in through the gateway.
    pub network_received_bytes: Option<i64>,
    /// Bytes that went out through it.
    pub network_sent_bytes: Option<i64>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// Relative to the project.
    pub path: String,
    /// What was done to it. One of added, modified, deleted, renamed.
    pub change: String,
    /// Its name before, where it was renamed.
    pub renamed_from: Option<String>,
    /// What it is; of what was deleted, what it was. One of file, symlink, dir, other.
    #[serde(rename = "type")]
    pub kind: String,
    /// Of its content now; null where it was deleted.
    pub size_bytes: Option<i64>,
    /// What the host did to it meanwhile, for which it is not applied.
    pub conflict: Option<String>,
    /// Why it is never applied.
    pub refused: Option<String>,
    /// It steers what the user runs later, and is applied only after a yes to it.
    pub review: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Diff {
    /// Sorted by path.
    pub changes: Vec<Change>,
    /// There are more than are listed.
    pub truncated: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct FileEntry {
    /// In its folder.
    pub name: String,
    /// What it is. One of file, dir, symlink, other.
    #[serde(rename = "type")]
    pub kind: String,
    /// Of its content.
    pub size_bytes: i64,
    /// Permission bits.
    pub mode: i64,
    /// When it was changed, since 1970.
    pub modified_ms: f64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct FolderListing {
    /// Absolute, inside the sandbox.
    pub path: String,
    /// A folder. One of dir.
    #[serde(rename = "type")]
    pub kind: String,
    /// Sorted by name.
    pub entries: Vec<FileEntry>,
    /// There are more than are listed.
    pub truncated: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Written {
    /// Absolute, inside the sandbox.
    pub path: String,
    /// Of the file; null for a folder.
    pub size_bytes: Option<i64>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Health {
    /// `stopping`: it takes no new work. One of ok, stopping.
    pub status: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Version {
    /// Of agentkernel.
    pub version: String,
    /// Tells builds of one version apart.
    pub build: String,
    /// Of the runtime below.
    pub node: String,
}
