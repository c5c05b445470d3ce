/** The records of one sandbox's life, from whoever takes part in it: the runtime, the gateway, the file interface. */
import type { AppliedPaths } from "../core/applied-paths.js";
import type { BackendName, Layer, SandboxEnd } from "../core/backend.js";
import { isAgentKernelError } from "../core/errors.js";
import type { ExecExit, ExecRequest } from "../core/exec.js";
import type { Policy } from "../core/policy.js";
import { secretValues } from "../core/secret-names.js";
import type {
  Approval,
  AuditedDecision,
  CopyOrigin,
  FileAccess,
  LimitName,
  ProjectWrite,
  SandboxStart,
  ToolCall,
} from "./events.js";
import type { AuditTrail } from "./trail.js";

interface SandboxFacts {
  readonly backend: BackendName;
  readonly image: SandboxStart["image"];
  readonly policy: Policy;
  readonly project: string | null;
}

interface ExecResult {
  readonly exit: ExecExit;
  readonly timedOut: boolean;
}

/** In one record: no list is cut there, and paths of the usual length are not either. */
const PATHS_EACH = 100;

/** An event as its maker knows it: the type and the sandbox are added here. */
type Bare<T> = Omit<T, "type" | "sandbox">;

/** What their names call secret in these environments: the host's and the command's. */
export function secretsIn(environments: readonly Readonly<Record<string, string | undefined>>[]): readonly string[] {
  return environments.flatMap(secretValues);
}

export class SandboxAudit {
  readonly #trail: AuditTrail | null;
  readonly #sandbox: string;
  readonly #secrets: readonly string[];
  #execs = 0;
  #timedOut = false;

  /** Without a trail nothing is recorded. `secrets`, for example those of `secretsIn`, never are. */
  constructor(trail: AuditTrail | null, sandbox: string, secrets: readonly string[]) {
    this.#trail = trail;
    this.#sandbox = sandbox;
    this.#secrets = secrets;
  }

  created(facts: Omit<SandboxFacts, "backend">, owner: string | null, from?: CopyOrigin): void {
    const origin = from === undefined ? {} : { from };
    this.#trail?.record({ type: "sandbox.create", sandbox: this.#sandbox, ...facts, owner, ...origin }, this.#secrets);
  }

  snapshot(what: "start" | "create" | "remove", snapshot: string): void {
    this.#trail?.record({ type: `snapshot.${what}`, sandbox: this.#sandbox, snapshot }, this.#secrets);
  }

  snapshotFailed(snapshot: string, error: unknown): void {
    const why = { code: codeOf(error), message: messageOf(error) };
    this.#trail?.record({ type: "snapshot.failed", sandbox: this.#sandbox, snapshot, ...why }, this.#secrets);
  }

  removed(): void {
    this.#trail?.record({ type: "sandbox.remove", sandbox: this.#sandbox }, this.#secrets);
  }

  starting(facts: SandboxFacts): void {
    this.#trail?.record({ type: "sandbox.start", sandbox: this.#sandbox, ...facts }, this.#secrets);
  }

  ready(layers: readonly Layer[]): void {
    this.#trail?.record({ type: "sandbox.ready", sandbox: this.#sandbox, layers }, this.#secrets);
  }

  failed(error: unknown): void {
    const why = { code: codeOf(error), message: messageOf(error) };
    this.#trail?.record({ type: "sandbox.failed", sandbox: this.#sandbox, ...why }, this.#secrets);
  }

  /**
   * Returns what is to be called when the command ended, with its end or with why it never had one. `environments`:
   * those of whoever asked for this command, where it is not the one who asked for the sandbox.
   */
  execStarting(
    request: ExecRequest,
    environments: readonly Readonly<Record<string, string | undefined>>[] = [],
  ): (result: ExecResult | { readonly error: unknown }) => void {
    const exec = ++this.#execs;
    const others = environments.flatMap(secretValues).filter((value) => !this.#secrets.includes(value));
    // The same list for the same secrets: what hides them is made once for each list.
    const secrets = others.length === 0 ? this.#secrets : [...this.#secrets, ...others];
    const startedAt = performance.now();
    const { argv, cwd, user = null, tty, env } = request;
    const start = { sandbox: this.#sandbox, exec, argv, cwd, user, tty: tty !== undefined, env: Object.keys(env) };
    this.#trail?.record({ type: "exec.start", ...start }, secrets);
    return (result) => {
      const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000;
      const how =
        "error" in result
          ? { code: null, signal: null, timedOut: false, error: messageOf(result.error) }
          : { code: result.exit.code, signal: result.exit.signal, timedOut: result.timedOut };
      this.#timedOut ||= how.timedOut;
      this.#trail?.record({ type: "exec.end", sandbox: this.#sandbox, exec, ...how, durationMs }, secrets);
    };
  }

  /** Null: it is gone, and nobody could say how. */
  ended(end: SandboxEnd | null): void {
    const limits: LimitName[] = [
      ...(end !== null && end.oomKills > 0 ? ["memory" as const] : []),
      ...(end !== null && end.pidsDenied > 0 ? ["pids" as const] : []),
      ...(this.#timedOut ? ["timeout" as const] : []),
    ];
    if (end?.carried) this.wrote("sync", end.carried.written, end.carried.deleted);
    this.#trail?.record({ type: "sandbox.end", sandbox: this.#sandbox, end, limits }, this.#secrets);
  }

  egress(decision: AuditedDecision): void {
    this.#trail?.record({ type: "egress", sandbox: this.#sandbox, ...decision }, this.#secrets);
  }

  /** One operation, or what an `apply` changed. */
  file(access: Bare<FileAccess> | AppliedPaths): void {
    if ("written" in access) this.wrote("apply", access.written, access.deleted);
    else this.#trail?.record({ type: "file", sandbox: this.#sandbox, ...access }, this.#secrets);
  }

  /** All of it, in as many records as that takes. */
  wrote(by: ProjectWrite["by"], written: readonly string[], deleted: readonly string[]): void {
    const most = Math.max(written.length, deleted.length);
    for (let at = 0; at < most; at += PATHS_EACH) {
      const part = (paths: readonly string[]) => paths.slice(at, at + PATHS_EACH);
      const parts = { by, written: part(written), deleted: part(deleted) };
      this.#trail?.record({ type: "project.write", sandbox: this.#sandbox, ...parts }, this.#secrets);
    }
  }

  tool(call: Bare<ToolCall>): void {
    this.#trail?.record({ type: "tool", sandbox: this.#sandbox, ...call }, this.#secrets);
  }

  approval(approval: Bare<Approval>): void {
    this.#trail?.record({ type: "approval", sandbox: this.#sandbox, ...approval }, this.#secrets);
  }

  policyChanged(policy: Policy, by: string, change: string): void {
    this.#trail?.record({ type: "policy.change", sandbox: this.#sandbox, policy, by, change }, this.#secrets);
  }
}

function codeOf(error: unknown): string {
  return isAgentKernelError(error) ? error.code : "internal";
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
