/**
 * src/runtime/sandboxes owns the named sandboxes that stay: their records on disk, their runs, their commands and their
 * time to live, for one user and in one process at a time. It serves whoever holds it (the command line's verbs, the
 * HTTP interface), who checks what a caller may see. It never ends a sandbox because it ends itself.
 */
import { randomBytes } from "node:crypto";
import type { Backend, KeptBackend } from "../../core/backend.js";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { rootImage } from "../root-image.js";
import { type Clock, systemClock } from "./clock.js";
import type { SandboxListener } from "./events.js";
import { nameTaken, SandboxFolders } from "./folder.js";
import { checkSandboxName } from "./name.js";
import { parseRecord, type SandboxRecord } from "./record.js";
import { RECORD_VERSION } from "./record-versions.js";
import { Sandbox, type SandboxHome } from "./sandbox.js";
import type { CreateRequest, HostEnv } from "./types.js";

export type { SandboxEvent, SandboxListener, StopReason } from "./events.js";
export { checkSandboxName, isSandboxName } from "./name.js";
export { Sandbox } from "./sandbox.js";
export type { SandboxExec } from "./sandbox-exec.js";
export type {
  CreateRequest,
  ExecInfo,
  ExecState,
  ExecWish,
  SandboxInfo,
  SandboxState,
  SandboxStats,
  SandboxSummary,
  StartOptions,
  StopOptions,
} from "./types.js";

export interface SandboxesOptions {
  readonly backend: Backend;
  /** Where their folders lie. */
  readonly folder: string;
  /** Of this process. */
  readonly env: HostEnv;
  readonly homeDir: string;
  /** Rare lines about what went wrong without anybody waiting for it. */
  readonly say: (line: string) => void;
  readonly clock?: Clock;
}

/** A sandbox whose record this version cannot use. */
export interface UnreadableSandbox {
  readonly name: string;
  readonly error: AgentKernelError;
}

export class Sandboxes {
  readonly #options: SandboxesOptions;
  readonly #kept: KeptBackend;
  readonly #folders: SandboxFolders;
  readonly #home: SandboxHome;
  readonly #sandboxes = new Map<string, Sandbox>();
  readonly #unreadable = new Map<string, AgentKernelError>();
  /** Names that are being made. */
  readonly #coming = new Set<string>();
  readonly #listeners = new Set<SandboxListener>();

  private constructor(options: SandboxesOptions, kept: KeptBackend) {
    this.#options = options;
    this.#kept = kept;
    this.#folders = new SandboxFolders(options.folder, kept);
    const { backend, env, homeDir, say, clock = systemClock() } = options;
    this.#home = {
      backend,
      kept,
      clock,
      env,
      homeDir,
      say,
      tell: ({ name, id, owner }, happening) => {
        const event = { ...happening, atMs: Date.now(), sandbox: name, id, owner };
        for (const listener of [...this.#listeners]) listener(event);
      },
      forget: (sandbox) => this.#forget(sandbox),
    };
  }

  /**
   * Knows all that are there when it resolves; running ones are taken over meanwhile, and whatever is asked of one waits
   * for that.
   */
  static async open(options: SandboxesOptions): Promise<Sandboxes> {
    const { kept, name } = options.backend;
    if (kept === undefined) {
      throw new AgentKernelError("unsupported", `the backend ${name} has no sandboxes that stay`);
    }
    const all = new Sandboxes(options, kept);
    await all.#folders.open();
    await all.#load();
    return all;
  }

  /** Rejects with `not_found`, or with what is wrong with its record. */
  get(name: string): Sandbox {
    checkSandboxName(name);
    const found = this.#sandboxes.get(name);
    if (found !== undefined) return found;
    const error = this.#unreadable.get(name);
    if (error !== undefined) throw error;
    throw new AgentKernelError("not_found", `there is no sandbox ${name}`, {
      hint: "agentkernel list shows those that there are",
    });
  }

  /** By name. */
  list(): readonly Sandbox[] {
    return [...this.#sandboxes.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  unreadable(): readonly UnreadableSandbox[] {
    return [...this.#unreadable].map(([name, error]) => ({ name, error }));
  }

  /** How many this process must stay for: those that run, and those that are being made. */
  get owned(): number {
    const running = this.list().filter(({ state }) => state === "running" || state === "paused");
    return running.length + this.#coming.size;
  }

  /** Returns how to stop listening. A listener must not throw. */
  onEvent(listener: SandboxListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Made, and not started. */
  async create(request: CreateRequest): Promise<Sandbox> {
    const name = checkSandboxName(request.name);
    if (this.#sandboxes.has(name) || this.#unreadable.has(name) || this.#coming.has(name)) throw nameTaken(name);
    this.#coming.add(name);
    try {
      return await this.#create(name, request);
    } finally {
      this.#coming.delete(name);
    }
  }

  /** Also one whose record cannot be used, with `force`. */
  async remove(name: string, options: { readonly force: boolean }): Promise<void> {
    checkSandboxName(name);
    if (!this.#unreadable.has(name) || !options.force) return await this.get(name).remove(options);
    const kept = await this.#kept.adopt(this.#folders.of(name).jail);
    await kept?.kill();
    await this.#folders.remove(name);
    this.#unreadable.delete(name);
  }

  /** The kill switch. */
  async stopAll(): Promise<readonly string[]> {
    const running = this.list().filter(({ state }) => state === "running" || state === "paused");
    await Promise.all(running.map((sandbox) => sandbox.kill()));
    return running.map(({ name }) => name);
  }

  /** Lets go of all. They run on, and the next process takes them over. */
  async close(): Promise<void> {
    await Promise.all(this.list().map((sandbox) => sandbox.release()));
  }

  async #load(): Promise<void> {
    for (const failure of await this.#folders.sweep()) this.#options.say(failure.message);
    for (const name of await this.#folders.names()) {
      const folder = this.#folders.of(name);
      try {
        const sandbox = new Sandbox(parseRecord(await folder.readRecord(), name), folder, this.#home);
        this.#sandboxes.set(name, sandbox);
        void sandbox.adopt().catch((error: unknown) => this.#options.say(`${name}: ${String(error)}`));
      } catch (error) {
        this.#unreadable.set(name, isAgentKernelError(error) ? error : unreadable(name, error));
      }
    }
  }

  async #create(name: string, request: CreateRequest): Promise<Sandbox> {
    const { run, ttlMs, idleTimeoutMs, owner, signal, watcher } = request;
    const image = await rootImage(run.image, run.imageSettings, { ...watcher, signal });
    try {
      const { policy, origins, projectDir, homeDir, workdir, publish, audit } = run;
      const record: SandboxRecord = {
        version: RECORD_VERSION,
        id: `${name}.${randomBytes(3).toString("hex")}`,
        name,
        owner,
        created: this.#home.clock.now(),
        hasRun: false,
        ttlMs,
        idleTimeoutMs,
        policy,
        policyVersion: 1,
        origins,
        image: {
          name: image.name,
          why: image.why,
          digest: image.digest,
          source: image.source,
          defaults: image.defaults,
        },
        projectDir,
        homeDir,
        workdir,
        publish,
        audit,
        auditSetting: run.hostEnv.AGENTKERNEL_AUDIT ?? null,
      };
      const sandbox = new Sandbox(record, await this.#folders.make(record), this.#home, run.hostEnv);
      this.#sandboxes.set(name, sandbox);
      this.#home.tell(sandbox, { type: "created" });
      return sandbox;
    } finally {
      await image.release();
    }
  }

  async #forget({ name }: Sandbox): Promise<void> {
    await this.#folders.remove(name);
    this.#sandboxes.delete(name);
  }
}

function unreadable(name: string, cause: unknown): AgentKernelError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AgentKernelError("conflict", `the record of the sandbox ${name} cannot be read: ${reason}`, {
    hint: "agentkernel remove --force removes the sandbox; the others are not concerned",
    cause,
  });
}
