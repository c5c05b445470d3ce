/** What is asked of kept sandboxes, and what they tell. */
import type { CopyOrigin } from "../../audit/index.js";
import type { BackendName, LastEnd, Layer, SandboxUsage } from "../../core/backend.js";
import type { TerminalSize } from "../../core/exec.js";
import type { Policy } from "../../core/policy.js";
import type { PublishedPort } from "../published-ports.js";
import type { ImageWatcher } from "../root-image.js";
import type { RunRequest } from "../run-request.js";
import type { Blocked } from "../sandbox-egress.js";
import type { CopyFolders } from "./folder.js";
import type { SandboxRecord } from "./record.js";

export type SandboxState = "created" | "running" | "paused" | "stopped";

export type HostEnv = Readonly<Record<string, string | undefined>>;

export interface CreateRequest {
  readonly name: string;
  /** Policy, image, project and all else, as for a run; its command is of no concern. */
  readonly run: RunRequest;
  /** After so long it is removed, whatever it does. */
  readonly ttlMs: number | null;
  /** After so long without a command, a terminal or a published connection it is stopped. */
  readonly idleTimeoutMs: number | null;
  /** Null: the user's own. */
  readonly owner: string | null;
  /** The project of the MCP session that makes it, null where that has none. */
  readonly madeIn?: string | null;
  readonly signal?: AbortSignal | undefined;
  readonly watcher?: Omit<ImageWatcher, "signal">;
}

/** What a new sandbox begins as a copy of. */
export interface CopySource {
  readonly record: SandboxRecord;
  readonly from: CopyOrigin;
  /** Gives its folders what it begins with. */
  readonly fill: (into: CopyFolders, options: CopyOptions) => Promise<unknown>;
}

export interface CopyOptions {
  /** False: files alone, also where there is memory. */
  readonly memory?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface CopyRequest extends CopyOptions {
  /** Of the new one. */
  readonly name: string;
  /** Null: the user's own. */
  readonly owner: string | null;
  /** Of whoever asks: values of secrets are looked for here. */
  readonly hostEnv: HostEnv;
  /** In place of the ports that the original publishes. */
  readonly publish?: readonly PublishedPort[] | undefined;
}

export interface StartOptions {
  /** Where values of secrets and the way through a proxy are looked for; by default, in this process's. */
  readonly hostEnv?: HostEnv;
  readonly signal?: AbortSignal;
}

export interface StopOptions {
  /** How long commands may take to end in order. */
  readonly graceMs: number;
}

export interface ExecOptions {
  readonly argv: readonly string[];
  /** Of whoever asks: what a policy passes on comes from here. */
  readonly hostEnv: HostEnv;
  /** Absolute, inside; by default as the sandbox was made. */
  readonly cwd?: string | null;
  /** Beside and before what the policy sets. */
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: string | null;
  readonly stdin: boolean;
  readonly tty?: TerminalSize | null;
  /** Undefined: the policy's. Null: none. */
  readonly timeoutMs?: number | null | undefined;
  /**
   * It goes on without whoever asked, also when this process dies, and its output is kept for later. One that is not
   * detached belongs to whoever asked, who takes its output and ends it when nobody wants it any more.
   */
  readonly detached: boolean;
  /** Given before the command starts: what the sandbox was not let through to since then. */
  readonly onNetwork?: (blocked: () => readonly Blocked[]) => void;
}

/** A new terminal. */
export interface TerminalRequest {
  /** Null: a shell. */
  readonly argv: readonly string[] | null;
  readonly size: TerminalSize;
  /** As for a command. */
  readonly hostEnv: HostEnv;
  readonly cwd?: string | null;
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: string | null;
}

export interface TerminalInfo {
  readonly id: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly user: string | null;
  readonly startedAtMs: number;
  readonly size: TerminalSize;
  /** How many look at it now. */
  readonly viewers: number;
}

/** `lost`: it is over, and nobody saw how. `failed`: it never ran. */
type ExecState = "running" | "ended" | "failed" | "lost";

export interface ExecInfo {
  readonly id: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly user: string | null;
  readonly tty: boolean;
  readonly detached: boolean;
  readonly state: ExecState;
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
  readonly code: number | null;
  readonly signal: number | null;
  readonly timedOut: boolean;
  /** Why it failed or was lost. */
  readonly error: string | null;
}

export interface SandboxSummary {
  readonly id: string;
  readonly name: string;
  readonly state: SandboxState;
  readonly owner: string | null;
  readonly image: { readonly name: string; readonly digest: string | null };
  readonly projectDir: string | null;
  readonly createdAtMs: number;
  /** Null while it does not run. */
  readonly startedAtMs: number | null;
  readonly ttlMs: number | null;
  /** How much is left of it. */
  readonly ttlLeftMs: number | null;
  readonly idleTimeoutMs: number | null;
  readonly runningExecs: number;
  readonly runningTerminals: number;
}

export interface SandboxInfo extends SandboxSummary {
  readonly backend: BackendName;
  /** Why it is on that one; null where that was not written down. */
  readonly backendWhy: string | null;
  readonly imageWhy: string;
  readonly policy: Policy;
  readonly policyVersion: number;
  /** Of the running sandbox; empty while it does not run. */
  readonly layers: readonly Layer[];
  /** What leads to it now. */
  readonly ports: readonly PublishedPort[];
  readonly usage: SandboxUsage | null;
  readonly execs: readonly ExecInfo[];
  readonly terminals: readonly TerminalInfo[];
  /** How it ended the last time; null while it runs, or where it never has. */
  readonly lastEnd: LastEnd | null;
  /** What its user should know, one line each. */
  readonly notes: readonly string[];
}

export interface SandboxStats {
  readonly name: string;
  readonly state: SandboxState;
  readonly atMs: number;
  readonly usage: SandboxUsage | null;
  /** What it has written to its root and its copy of the project; null where that cannot be told. */
  readonly diskBytes: number | null;
  readonly network: { readonly receivedBytes: number; readonly sentBytes: number; readonly connections: number };
  readonly limits: { readonly memoryBytes: number; readonly vcpus: number; readonly processes: number };
}
