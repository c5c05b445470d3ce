/** What is worth a line of the audit log. Everybody who takes part in a sandbox's life hands in values of these types. */
import type { BackendName, Layer, SandboxEnd } from "../core/backend.js";
import type { Policy } from "../core/policy.js";

const limitNames = ["memory", "pids", "timeout", "disk"] as const;
export type LimitName = (typeof limitNames)[number];

/** Before anything of it exists: whatever happens later, that it was asked for is on record. */
export interface SandboxStart {
  readonly type: "sandbox.start";
  readonly sandbox: string;
  readonly backend: BackendName;
  /** The digest is null for an image that has none: the host's own files. */
  readonly image: { readonly name: string; readonly digest: string | null };
  /** Recorded as its digest and a few of its fields; values of variables never. */
  readonly policy: Policy;
  readonly project: string | null;
}

/** One that stays was made, by whom (null: the user). It is started later, and any number of times. */
interface SandboxCreated extends Omit<SandboxStart, "type" | "backend"> {
  readonly type: "sandbox.create";
  readonly owner: string | null;
  /** The snapshot or the sandbox that it began as a copy of. */
  readonly from?: CopyOrigin;
}

export interface CopyOrigin {
  readonly kind: "snapshot" | "sandbox";
  readonly name: string;
}

/** A snapshot of it is asked for, then there (`create`) or not (`failed`); or one is removed. */
interface SnapshotEvent {
  readonly type: "snapshot.start" | "snapshot.create" | "snapshot.remove";
  readonly sandbox: string;
  readonly snapshot: string;
}

interface SnapshotFailed {
  readonly type: "snapshot.failed";
  readonly sandbox: string;
  readonly snapshot: string;
  readonly code: string;
  readonly message: string;
}

/** With everything that it had written. */
interface SandboxRemoved {
  readonly type: "sandbox.remove";
  readonly sandbox: string;
}

/** It stands, with these walls. */
interface SandboxReady {
  readonly type: "sandbox.ready";
  readonly sandbox: string;
  readonly layers: readonly Layer[];
}

interface SandboxFailed {
  readonly type: "sandbox.failed";
  readonly sandbox: string;
  readonly code: string;
  readonly message: string;
}

export interface SandboxEnded {
  readonly type: "sandbox.end";
  readonly sandbox: string;
  /** Null where its own end could not be learned. */
  readonly end: SandboxEnd | null;
  readonly limits: readonly LimitName[];
}

interface ExecStart {
  readonly type: "exec.start";
  readonly sandbox: string;
  /** Counts the commands of one sandbox from 1. */
  readonly exec: number;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly user: string | null;
  readonly tty: boolean;
  /** Names only. */
  readonly env: readonly string[];
}

interface ExecEnd {
  readonly type: "exec.end";
  readonly sandbox: string;
  readonly exec: number;
  /** One of the two, or neither where it never ran. */
  readonly code: number | null;
  readonly signal: number | null;
  readonly timedOut: boolean;
  readonly durationMs: number;
  /** Why it could not be run, or was not waited for. */
  readonly error?: string;
}

/** A host-side file operation: `cp`, HTTP files, MCP file tools. */
export interface FileAccess {
  readonly type: "file";
  readonly sandbox: string;
  readonly operation: "read" | "write" | "delete" | "list";
  readonly path: string;
  readonly bytes: number | null;
  readonly verdict: "allowed" | "denied";
  readonly reason?: string;
}

/** What reached the user's project from a sandbox: carried over by `sync`, or applied by the user's order. */
export interface ProjectWrite {
  readonly type: "project.write";
  readonly sandbox: string;
  readonly by: "sync" | "apply";
  readonly written: readonly string[];
  readonly deleted: readonly string[];
}

/** One decision of the gateway, as it gives it. */
export interface AuditedDecision {
  /** Decided, or over: only then the bytes are known. */
  readonly phase: "decided" | "ended";
  readonly via: "capture" | "proxy" | "listener";
  /** The name or address that was asked for. */
  readonly asked: string;
  readonly port: number;
  readonly verdict: "allowed" | "denied";
  /** The rule that decided, in words. */
  readonly rule: string | null;
  /** Every address that the name resolved to; empty where it was not resolved. */
  readonly addresses: readonly string[];
  readonly dialled: string | null;
  /** The name that TLS or HTTP spoke of on the connection. */
  readonly seen: string | null;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Names of secrets that were put in for their placeholders, or left as such, and where. Never a value. */
  readonly secrets?: readonly { readonly name: string; readonly use: "replaced" | "left"; readonly where: string }[];
}

interface Egress extends AuditedDecision {
  readonly type: "egress";
  readonly sandbox: string;
}

/** A call of a tool that code in the sandbox asked for and the host made, or refused. */
export interface ToolCall {
  readonly type: "tool";
  readonly sandbox: string;
  readonly server: string;
  readonly tool: string;
  readonly verdict: "allowed" | "denied";
  /** The rule that decided, in words. */
  readonly rule: string;
  /** Whether the call, where it was made, had a result. */
  readonly outcome: "result" | "error" | null;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly durationMs: number;
  /** The policy calls its results untrusted. */
  readonly untrusted: boolean;
  readonly error?: string;
}

interface PolicyChange {
  readonly type: "policy.change";
  readonly sandbox: string;
  readonly policy: Policy;
  readonly by: string;
  readonly change: string;
}

/** A destination was put to the user. */
export interface Approval {
  readonly type: "approval";
  readonly sandbox: string;
  readonly asked: string;
  readonly port: number;
  readonly verdict: "allowed" | "denied";
  /** For how long it holds. `none`: nobody answered. */
  readonly answer: "once" | "sandbox" | "never" | "none";
  /** How it was put: on the terminal, or through the client of an agent. */
  readonly by: "terminal" | "mcp";
}

/** What a project's own settings ask for was allowed or refused by the user, or their answer was forgotten. */
interface TrustDecided {
  readonly type: "trust";
  readonly project: string;
  readonly verdict: "allowed" | "refused" | "forgotten";
  /** Digests of what it was about, by what that was. */
  readonly about: Readonly<Record<string, string>>;
  readonly lines: readonly string[];
}

/** A key to the HTTP interface is made, or is valid no more. */
interface KeyEvent {
  readonly type: "key.create" | "key.revoke";
  readonly name: string;
  readonly scopes: readonly string[];
  /** The most that it may ask for, in words; null where it acts as the user. */
  readonly ceiling: string | null;
}

export type AuditEvent =
  | SandboxCreated
  | SandboxRemoved
  | SnapshotEvent
  | SnapshotFailed
  | SandboxStart
  | SandboxReady
  | SandboxFailed
  | SandboxEnded
  | ExecStart
  | ExecEnd
  | FileAccess
  | ProjectWrite
  | Egress
  | ToolCall
  | PolicyChange
  | TrustDecided
  | KeyEvent
  | Approval;

/** Types of lines, those that the log writes about itself included. */
export const recordTypes = [
  "sandbox.create",
  "sandbox.remove",
  "sandbox.start",
  "sandbox.ready",
  "sandbox.failed",
  "sandbox.end",
  "snapshot.start",
  "snapshot.create",
  "snapshot.failed",
  "snapshot.remove",
  "exec.start",
  "exec.end",
  "file",
  "project.write",
  "egress",
  "tool",
  "policy.change",
  "approval",
  "trust",
  "key.create",
  "key.revoke",
  "audit.file",
  "audit.torn",
  "audit.recovered",
  "audit.pruned",
] as const;

/** Must survive a power cut: what was refused, and what changed the rules. Everything else waits for the kernel. */
export function isUrgent(event: AuditEvent): boolean {
  const rules: readonly string[] = ["approval", "policy.change", "trust", "key.create", "key.revoke"];
  return rules.includes(event.type) || ("verdict" in event && event.verdict === "denied");
}
