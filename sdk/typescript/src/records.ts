/** Written by `npm run sdk:sources` from spec/errors.json and spec/openapi.json; changes belong there. */
import type { Network } from "./network.js";

/** Limits of a sandbox. */
export interface Resources {
  /** Processor cores (2). */
  vcpus?: number | undefined;
  /** Memory, in MiB (half of the machine's, at least 2048). */
  memoryMb?: number | undefined;
  /** Processes and threads at once (4096). */
  pids?: number | undefined;
  /** What may be written, in MiB (4096). */
  diskMb?: number | undefined;
  /** Open files of one process (4096). */
  openFiles?: number | undefined;
  /** Connections to the network at once (2048). */
  maxConnections?: number | undefined;
}

export interface SecretOptions {
  /** The variable. */
  name: string;
  /** The only host that gets it. */
  host: string;
  /** In which (authorization). */
  header?: string | undefined;
}

export interface MountOptions {
  /** Its source. */
  host: string;
  /** Where it appears. */
  guest: string;
  /** false: changes reach the host at once (true). */
  readonly?: boolean | undefined;
}

export interface PublishOptions {
  /** Of the host (127.0.0.1). */
  address?: string | undefined;
  /** 0: any that is free (0). */
  hostPort?: number | undefined;
  /** The port inside. */
  guestPort: number;
}

export interface RunOptions {
  /** The working directory, inside the sandbox (/workspace). */
  cwd?: string | undefined;
  /** What the command reads on its standard input. */
  stdin?: string | Uint8Array | undefined;
  /** After so long the command is ended with all it started (30000). */
  timeoutMs?: number | undefined;
  /** How output is written in the answer; base64 keeps every byte (utf8). */
  encoding?: "utf8" | "base64" | undefined;
  /** With the backend `wasm`: the first word of the command is a program's text. */
  lang?: "js" | "python" | undefined;
  /** With the backend `wasm`: the module itself, in base64; the first word of the command is then only its name. */
  module?: string | undefined;
  /** What isolates it (auto). With `wasm` the command is a WebAssembly module and its arguments. */
  backend?: "auto" | "linux" | "podman" | "docker" | "gvisor" | "microvm" | "wasm" | "apple" | "hyperlight" | undefined;
  /** Where the root filesystem comes from; otherwise it is detected from the command. */
  image?: string | undefined;
  /** How much is allowed (moderate). */
  profile?: "permissive" | "moderate" | "restrictive" | undefined;
  /** Defaults that fit one agent (native). */
  compatibilityMode?: "native" | "claude" | "codex" | "gemini" | undefined;
  /** What can be reached. */
  network?: Network | undefined;
  /** Variables for every command. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Who commands run as: name, uid, name:group or uid:gid. */
  user?: string | undefined;
  /** Limits of the sandbox. */
  resources?: Resources | undefined;
  /** Secrets of the server's environment, each for one host; the sandbox sees a placeholder only. Only for the user of the same machine or an admin key. */
  secrets?: readonly SecretOptions[] | undefined;
  /** Files and folders of the host beside `dir`. Only for the user of the same machine or an admin key. */
  mounts?: readonly MountOptions[] | undefined;
  /** A folder of the host, shown as /workspace. Only for the user of the same machine, an admin key, or a key that was given it. */
  dir?: string | undefined;
  /** How `dir` is shown: as a copy (default), carried over after the end, live, or not at all. */
  workspace?: "copy" | "sync" | "mount" | "none" | undefined;
}

export interface ExecOptions {
  /** The working directory, inside the sandbox (/workspace). */
  cwd?: string | undefined;
  /** What the command reads on its standard input. */
  stdin?: string | Uint8Array | undefined;
  /** After so long the command is ended with all it started (30000). */
  timeoutMs?: number | undefined;
  /** How output is written in the answer; base64 keeps every byte (utf8). */
  encoding?: "utf8" | "base64" | undefined;
  /** Variables for this command. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Who it runs as: name, uid, name:group or uid:gid. */
  user?: string | undefined;
}

export interface CreateOptions {
  /** What isolates it (auto). With `wasm` the command is a WebAssembly module and its arguments. */
  backend?: "auto" | "linux" | "podman" | "docker" | "gvisor" | "microvm" | "wasm" | "apple" | "hyperlight" | undefined;
  /** Where the root filesystem comes from; otherwise it is detected from the command. */
  image?: string | undefined;
  /** How much is allowed (moderate). */
  profile?: "permissive" | "moderate" | "restrictive" | undefined;
  /** Defaults that fit one agent (native). */
  compatibilityMode?: "native" | "claude" | "codex" | "gemini" | undefined;
  /** What can be reached. */
  network?: Network | undefined;
  /** Variables for every command. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Who commands run as: name, uid, name:group or uid:gid. */
  user?: string | undefined;
  /** Limits of the sandbox. */
  resources?: Resources | undefined;
  /** Secrets of the server's environment, each for one host; the sandbox sees a placeholder only. Only for the user of the same machine or an admin key. */
  secrets?: readonly SecretOptions[] | undefined;
  /** Files and folders of the host beside `dir`. Only for the user of the same machine or an admin key. */
  mounts?: readonly MountOptions[] | undefined;
  /** A folder of the host, shown as /workspace. Only for the user of the same machine, an admin key, or a key that was given it. */
  dir?: string | undefined;
  /** How `dir` is shown: as a copy (default), carried over after the end, live, or not at all. */
  workspace?: "copy" | "sync" | "mount" | "none" | undefined;
  /** Ports of the server's machine that lead to ports inside. Only for the user of the same machine or an admin key. */
  publish?: readonly PublishOptions[] | undefined;
  /** It is removed so long after its creation. */
  ttl?: string | undefined;
  /** It is stopped after so long without work. */
  idleTimeout?: string | undefined;
  /** false: it is made and not started (true). */
  start?: boolean | undefined;
}

export interface CopyOptions {
  /** false: it is made and not started (true). */
  start?: boolean | undefined;
  /** false: files alone, also where memory could be had (true). */
  memory?: boolean | undefined;
}

export interface ImageUsed {
  /** As it is called. */
  readonly name: string;
  /** Of its manifest; null for the host's own files. */
  readonly digest: string | null;
  /** What named it. */
  readonly why: string;
}

/** One wall of a sandbox, and whether it stands. */
export interface Layer {
  /** Which wall. */
  readonly name: string;
  /** Whether it stands. */
  readonly state: "applied" | "partial" | "absent";
  /** What is missing. */
  readonly detail: string | null;
}

/** Something that the sandbox was not let through to. */
export interface Blocked {
  /** Name or address that was asked for. */
  readonly host: string;
  /** Null where a name was only looked up. */
  readonly port: number | null;
  /** The rule that refused it. */
  readonly rule: string;
  /** How often. */
  readonly times: number;
}

export interface Usage {
  /** Processor time. */
  readonly cpuUs: number | null;
  /** The most memory at once. */
  readonly memoryPeakBytes: number | null;
  /** Processes killed at the memory limit. */
  readonly oomKills: number;
  /** Processes refused at the limit of processes. */
  readonly processesDenied: number;
}

/** What was carried over to the project on the host. */
export interface Changes {
  /** Written to the folder on the host. */
  readonly written: readonly string[];
  /** Deleted there. */
  readonly deleted: readonly string[];
  /** Changed on the host meanwhile, and left. The sandbox's version is kept. */
  readonly conflicts: readonly string[];
  /** Hidden or protected, and left. */
  readonly refused: readonly string[];
  /** Waits for the user's review, since it steers what the user runs later, and left. */
  readonly held: readonly string[];
  /** The name under which `agentkernel diff` and `apply` find what is held or in conflict, where it is not in a sandbox. */
  readonly heldAs: string | null;
  /** Paths that are not listed. */
  readonly omitted: number;
  /** Why git repositories were left as they were. */
  readonly repositories: readonly string[];
}

/** Its way out. */
export interface RunResultNetwork {
  /** What could be reached. */
  readonly mode: "off" | "on" | "allowlist";
  /** What was refused. */
  readonly blocked: readonly Blocked[];
}

export interface RunResult {
  /** Both streams in order of arrival. */
  readonly output: string;
  /** Standard output. */
  readonly stdout: string;
  /** Standard error. */
  readonly stderr: string;
  /** The command's own; 124 timed out, 126 not executable, 127 not found, 128+n killed by signal n. */
  readonly exitCode: number;
  /** From the request to the end. */
  readonly durationMs: number;
  /** The time limit ended it. */
  readonly timedOut: boolean;
  /** The sandbox that it ran in. */
  readonly sandbox: string;
  /** How output, stdout and stderr are written. */
  readonly encoding: "utf8" | "base64";
  /** Output beyond the limit, which is not here. */
  readonly droppedBytes: number;
  /** What isolated it. */
  readonly backend: "linux" | "docker" | "podman" | "gvisor" | "microvm" | "wasm" | "apple" | "kubernetes";
  /** Its root filesystem. */
  readonly image: ImageUsed;
  /** How much is allowed. */
  readonly profile: "permissive" | "moderate" | "restrictive";
  /** The agent whose defaults hold. */
  readonly compatibilityMode: "native" | "claude" | "codex" | "gemini";
  /** Its walls. */
  readonly layers: readonly Layer[];
  /** What it used. */
  readonly usage: Usage;
  /** Its way out. */
  readonly network: RunResultNetwork;
  /** What was carried over, where `workspace` is `sync`. */
  readonly changes: Changes | null;
  /** What the caller should know besides. */
  readonly notes: readonly string[];
}

export interface ExecResult {
  /** Both streams in order of arrival. */
  readonly output: string;
  /** Standard output. */
  readonly stdout: string;
  /** Standard error. */
  readonly stderr: string;
  /** The command's own; 124 timed out, 126 not executable, 127 not found, 128+n killed by signal n. */
  readonly exitCode: number;
  /** From the request to the end. */
  readonly durationMs: number;
  /** The time limit ended it. */
  readonly timedOut: boolean;
  /** The sandbox that it ran in. */
  readonly sandbox: string;
  /** How output, stdout and stderr are written. */
  readonly encoding: "utf8" | "base64";
  /** Output beyond the limit, which is not here. */
  readonly droppedBytes: number;
  /** The command, among all of this sandbox. */
  readonly exec: string;
}

export interface DetachedExec {
  /** By which its output and end are found. */
  readonly exec: string;
  /** The sandbox that it runs in. */
  readonly sandbox: string;
}

export interface ExecLog {
  /** The command, among all of this sandbox. */
  readonly exec: string;
  /** Its words. */
  readonly command: readonly string[];
  /** `failed`: it never ran; `lost`: nobody saw how it ended. */
  readonly state: "running" | "ended" | "failed" | "lost";
  /** When it was started. */
  readonly startedAt: string;
  /** When it ended. */
  readonly endedAt: string | null;
  /** How it ended. */
  readonly exitCode: number | null;
  /** The newest of its standard output. */
  readonly stdout: string;
  /** The newest of its standard error. */
  readonly stderr: string;
  /** How stdout and stderr are written. */
  readonly encoding: "utf8" | "base64";
  /** Older output, which is not kept. */
  readonly droppedBytes: number;
}

export interface PublishedPort {
  /** Of the host. */
  readonly address: string;
  /** The port of the host. */
  readonly hostPort: number;
  /** The port inside that it leads to. */
  readonly guestPort: number;
}

/** Its limits. */
export interface SandboxInfoResources {
  /** Processor cores. */
  readonly vcpus: number;
  /** Memory, in MiB. */
  readonly memoryMb: number;
  /** Processes and threads at once. */
  readonly pids: number;
  /** What may be written, in MiB. */
  readonly diskMb: number;
  /** Open files of one process. */
  readonly openFiles: number;
  /** Connections to the network at once. */
  readonly maxConnections: number;
}

export interface SandboxInfo {
  /** How it is called. */
  readonly name: string;
  /** What it does now. */
  readonly state: "created" | "running" | "paused" | "stopped";
  /** What isolates it. */
  readonly backend: "linux" | "docker" | "podman" | "gvisor" | "microvm" | "wasm" | "apple" | "kubernetes";
  /** Its root filesystem; null where that is not known yet. */
  readonly image: ImageUsed | null;
  /** How much is allowed. */
  readonly profile: "permissive" | "moderate" | "restrictive";
  /** The agent whose defaults hold. */
  readonly compatibilityMode: "native" | "claude" | "codex" | "gemini";
  /** What can be reached. */
  readonly network: "off" | "on" | "allowlist";
  /** Its limits. */
  readonly resources: SandboxInfoResources;
  /** The folder of the host that it shows as /workspace. */
  readonly dir: string | null;
  /** When it was made. */
  readonly createdAt: string;
  /** When it was last started; null where it does not run. */
  readonly startedAt: string | null;
  /** When it will be removed. */
  readonly expiresAt: string | null;
  /** How long after its creation it is removed. */
  readonly ttlMs: number | null;
  /** After so long without work it is stopped. */
  readonly idleTimeoutMs: number | null;
  /** Its published ports; empty where it does not run. */
  readonly ports: readonly PublishedPort[];
  /** Its walls; empty where it does not run. */
  readonly layers: readonly Layer[];
  /** What its user should know. */
  readonly notes: readonly string[];
}

/** Files are kept as they are at one moment; processes and memory only of a machine (microvm) that runs. */
export interface Snapshot {
  /** How it is called. */
  readonly name: string;
  /** The sandbox that it was made of, which may be gone. */
  readonly sandbox: string;
  /** What isolates a sandbox that is made of it. */
  readonly backend: "linux" | "docker" | "podman" | "gvisor" | "microvm" | "wasm" | "apple" | "kubernetes";
  /** What the files lie on. */
  readonly image: ImageUsed;
  /** The folder of the host that the sandbox showed as /workspace. */
  readonly dir: string | null;
  /** When it was made. */
  readonly createdAt: string;
  /** What ran goes on in a sandbox that is made of it. */
  readonly memory: boolean;
  /** Of its files' contents; null where nothing can tell. */
  readonly sizeBytes: number | null;
}

/** What a sandbox uses; null where nothing can tell, or where it does not run. */
export interface Stats {
  /** Of the sandbox. */
  readonly name: string;
  /** What it does now. */
  readonly state: "created" | "running" | "paused" | "stopped";
  /** Memory in use. */
  readonly memoryBytes: number | null;
  /** The most since it was started. */
  readonly memoryPeakBytes: number | null;
  /** Processor time since it was started. */
  readonly cpuUs: number | null;
  /** Processes and threads. */
  readonly processes: number | null;
  /** Processes killed at the memory limit. */
  readonly oomKills: number | null;
  /** Processes refused at the limit of processes. */
  readonly processesDenied: number | null;
  /** What it has written and kept. */
  readonly diskBytes: number | null;
  /** Bytes that came in through the gateway. */
  readonly networkReceivedBytes: number | null;
  /** Bytes that went out through it. */
  readonly networkSentBytes: number | null;
}

export interface Change {
  /** Relative to the project. */
  readonly path: string;
  /** What was done to it. */
  readonly change: "added" | "modified" | "deleted" | "renamed";
  /** Its name before, where it was renamed. */
  readonly renamedFrom: string | null;
  /** What it is; of what was deleted, what it was. */
  readonly type: "file" | "symlink" | "dir" | "other";
  /** Of its content now; null where it was deleted. */
  readonly sizeBytes: number | null;
  /** What the host did to it meanwhile, for which it is not applied. */
  readonly conflict: string | null;
  /** Why it is never applied. */
  readonly refused: string | null;
  /** It steers what the user runs later, and is applied only after a yes to it. */
  readonly review: boolean;
}

export interface Diff {
  /** Sorted by path. */
  readonly changes: readonly Change[];
  /** There are more than are listed. */
  readonly truncated: boolean;
}

export interface FileEntry {
  /** In its folder. */
  readonly name: string;
  /** What it is. */
  readonly type: "file" | "dir" | "symlink" | "other";
  /** Of its content. */
  readonly sizeBytes: number;
  /** Permission bits. */
  readonly mode: number;
  /** When it was changed, since 1970. */
  readonly modifiedMs: number;
}

export interface FolderListing {
  /** Absolute, inside the sandbox. */
  readonly path: string;
  /** A folder. */
  readonly type: "dir";
  /** Sorted by name. */
  readonly entries: readonly FileEntry[];
  /** There are more than are listed. */
  readonly truncated: boolean;
}

export interface Written {
  /** Absolute, inside the sandbox. */
  readonly path: string;
  /** Of the file; null for a folder. */
  readonly sizeBytes: number | null;
}

export interface Health {
  /** `stopping`: it takes no new work. */
  readonly status: "ok" | "stopping";
}

export interface Version {
  /** Of agentkernel. */
  readonly version: string;
  /** Tells builds of one version apart. */
  readonly build: string;
  /** Of the runtime below. */
  readonly node: string;
}
