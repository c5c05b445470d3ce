/**
 * A temporary sandbox that serves many commands, for as long as whoever asked for it holds it. Like every temporary one
 * it dies with this process, and nothing of it is left but what its policy carries over to the project at its end.
 */
import type { Layer, SandboxEnd } from "../core/backend.js";
import { AgentKernelError } from "../core/errors.js";
import type { ExecRequest } from "../core/exec.js";
import type { Policy } from "../core/policy.js";
import type { Callee, GuestExec, GuestFiles } from "../guest/index.js";
import { AttachedApprovers } from "./attached-approvers.js";
import { CommandWait } from "./command-end.js";
import type { RuntimeHost } from "./open-backend.js";
import { type OpenSandbox, openSandbox } from "./open-run.js";
import { openRunAudit, type RunAudit } from "./run-audit.js";
import type { RunRequest } from "./run-request.js";
import { execRequest } from "./sandboxes/execs/exec-request.js";
import type { ExecOptions } from "./sandboxes/types.js";
import { temporaryId } from "./temporary-sandbox.js";

/** A command in it, whose streams the caller connects. */
export interface SessionExec {
  readonly guest: GuestExec;
  readonly wait: CommandWait;
  /** Ends it, with all that it has started, where it has not ended. */
  abandon(): void;
}

/** A command that waits for a word on its stdin before it does anything. */
export interface HeldExec {
  readonly guest: GuestExec;
  readonly hasExited: boolean;
  /** On record, and with its time limit, from here on. Where the log is required, it is in it before this resolves. */
  begin(timeoutMs: number | null): Promise<SessionExec>;
  abandon(): void;
}

export class SessionSandbox {
  readonly request: RunRequest;
  readonly approvers: AttachedApprovers;
  readonly startedAtMs = Date.now();
  /** Settles when nothing of it is left. Never rejects. */
  readonly over: Promise<void>;
  readonly #opened: OpenSandbox;
  readonly #audit: RunAudit;
  #end: Promise<SandboxEnd> | null = null;
  #isOver = false;

  private constructor(request: RunRequest, opened: OpenSandbox, audit: RunAudit, approvers: AttachedApprovers) {
    this.request = request;
    this.#opened = opened;
    this.#audit = audit;
    this.approvers = approvers;
    this.over = opened.sandbox.ended.then(
      () => this.#died(),
      () => this.#died(),
    );
  }

  static async open(
    request: RunRequest,
    { host, signal }: { readonly host: RuntimeHost; readonly signal: AbortSignal },
  ): Promise<SessionSandbox> {
    const audit = openRunAudit(temporaryId(), request, host);
    const approvers = new AttachedApprovers();
    try {
      const opened = await openSandbox(request, { host, audit, signal, asker: approvers });
      const session = new SessionSandbox({ ...request, policy: opened.policy }, opened, audit, approvers);
      audit.writeSoon();
      if (signal.aborted) {
        await session.close();
        signal.throwIfAborted();
      }
      return session;
    } catch (error) {
      await audit.settle();
      throw error;
    }
  }

  get id(): string {
    return this.#opened.sandbox.id;
  }

  get policy(): Policy {
    return this.request.policy;
  }

  get layers(): readonly Layer[] {
    return this.#opened.sandbox.layers;
  }

  get image(): OpenSandbox["image"] {
    return this.#opened.image;
  }

  /** A file operation from outside. Where the audit log is required, nothing may happen before this resolves. */
  async recordFile(access: Parameters<RunAudit["records"]["file"]>[0]): Promise<void> {
    this.#audit.records.file(access);
    await this.#audit.insist();
    this.#audit.writeSoon();
  }

  /** A call that a command in it made through its callee. Where the log is required, it is in it before this resolves. */
  async recordTool(call: Parameters<RunAudit["records"]["tool"]>[0]): Promise<void> {
    this.#audit.records.tool(call);
    await this.#audit.insist();
  }

  /** It has ended, or is about to. */
  get isOver(): boolean {
    return this.#isOver || this.#end !== null;
  }

  get files(): GuestFiles {
    this.#refuseIfOver();
    return this.#opened.sandbox.files;
  }

  /** With a `callee` the command can call out of the sandbox, by the descriptor that AGENTKERNEL_CALLS_FD names. */
  async exec(options: ExecOptions, callee?: Callee): Promise<SessionExec> {
    const request = this.#requestOf(options);
    const recordEnd = this.#audit.records.execStarting(request, [options.hostEnv, options.env ?? {}]);
    try {
      await this.#audit.insist();
      const held = heldBy(await this.#opened.sandbox.exec(request, callee));
      const timeoutMs = options.timeoutMs === undefined ? this.policy.resources.timeoutMs : options.timeoutMs;
      return this.#waitFor(held, timeoutMs, recordEnd);
    } catch (error) {
      recordEnd({ error });
      throw error;
    }
  }

  /** For a command that does nothing of anybody's until it is told what. */
  async hold(options: ExecOptions, callee?: Callee): Promise<HeldExec> {
    const request = this.#requestOf(options);
    const held = heldBy(await this.#opened.sandbox.exec(request, callee));
    held.guest.exited.catch(() => {});
    return {
      guest: held.guest,
      get hasExited() {
        return held.hasExited;
      },
      begin: async (timeoutMs) => {
        const recordEnd = this.#audit.records.execStarting(request, [options.hostEnv, options.env ?? {}]);
        try {
          await this.#audit.insist();
          return this.#waitFor(held, timeoutMs, recordEnd);
        } catch (error) {
          recordEnd({ error });
          throw error;
        }
      },
      abandon: () => abandon(held),
    };
  }

  #requestOf(options: ExecOptions): ExecRequest {
    this.#refuseIfOver();
    const { egress, image } = this.#opened;
    return execRequest(options, { ...this.request, image, name: null }, egress?.env ?? {});
  }

  #waitFor(held: Held, timeoutMs: number | null, recordEnd: RecordEnd): SessionExec {
    const wait = new CommandWait(held.guest, timeoutMs);
    wait.end.then(recordEnd, (error: unknown) => recordEnd({ error }));
    this.#audit.writeSoon();
    return { guest: held.guest, wait, abandon: () => abandon(held) };
  }

  /** Ends all that runs in it; what its policy says is carried over. Idempotent. */
  close(): Promise<SandboxEnd> {
    this.#end ??= this.#close();
    return this.#end;
  }

  async #close(): Promise<SandboxEnd> {
    try {
      const end = await this.#opened.sandbox.finish();
      this.#audit.records.ended(end);
      return end;
    } finally {
      await this.#opened.close();
      await this.#audit.settle();
    }
  }

  /** Closes what was opened for it, whatever ended it. */
  async #died(): Promise<void> {
    this.#isOver = true;
    await this.close().catch(() => {});
  }

  #refuseIfOver(): void {
    if (!this.isOver) return;
    throw new AgentKernelError("sandbox_died", "the sandbox has ended, with all that was in it", {
      hint: "make a new one",
    });
  }
}

interface Held {
  readonly guest: GuestExec;
  hasExited: boolean;
}

type RecordEnd = ReturnType<RunAudit["records"]["execStarting"]>;

function heldBy(guest: GuestExec): Held {
  const held: Held = { guest, hasExited: false };
  const exited = () => {
    held.hasExited = true;
  };
  guest.opened.catch(() => {});
  guest.exited.then(exited, exited);
  return held;
}

function abandon({ guest, hasExited }: Held): void {
  if (!hasExited) guest.close();
}
