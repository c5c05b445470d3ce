/**
 * src/runtime/sandboxes owns the named sandboxes that stay: their records on disk, their runs, their commands and their
 * time to live, for one user and in one process at a time. It serves whoever holds it (the command line's verbs, the
 * HTTP interface), who checks what a caller may see. It never ends a sandbox because it ends itself.
 */
import { randomBytes } from "node:crypto";
import type { Backend, BackendName, PersistentBackend } from "../../core/backend.js";
import type { BackendRequest } from "../../core/backend-request.js";
import { AgentKernelError, isAgentKernelError } from "../../core/errors.js";
import { within } from "../../core/within.js";
import { holdForSandbox, releaseForSandbox } from "../../images/store/kept-hold.js";
import { policyOn } from "../allotted-memory.js";
import { type Choice, forImage } from "../backends/choice.js";
import type { MachineRequest } from "../backends/machine-fit.js";
import { resolveRoot } from "../root-image.js";
import { type Clock, systemClock } from "./clock.js";
import type { Named, SandboxContext } from "./context.js";
import type { SandboxListener } from "./events.js";
import { type CopyFolders, type SandboxFolder, SandboxFolders } from "./folder.js";
import { Lives, REBOOT_GRACE_MS } from "./life.js";
import { checkSandboxName } from "./name.js";
import { parseRecord, type SandboxRecord } from "./record.js";
import { RECORD_VERSION } from "./record-versions.js";
import { nameTaken, notFound, unreadable } from "./refusals.js";
import { Sandbox } from "./sandbox.js";
import { Snapshots } from "./snapshots/index.js";
import type { CopyRequest, CopySource, CreateRequest, HostEnv } from "./types.js";

export type { SandboxEvent } from "./events.js";
export type { LogPiece } from "./execs/log-reader.js";
export type { SandboxExec } from "./execs/sandbox-exec.js";
export { Sandbox } from "./sandbox.js";
export type { Snapshot, SnapshotInfo } from "./snapshots/index.js";
export type { Terminal, TerminalEnd } from "./terminals/index.js";
export type {
  CreateRequest,
  ExecInfo,
  ExecOptions,
  SandboxInfo,
  SandboxStats,
  SandboxSummary,
  TerminalInfo,
} from "./types.js";

interface SandboxesOptions {
  readonly backend: Backend;
  /** Opens the backend that a request names. Without it only the usual one can be used. */
  readonly choose?: (request: BackendRequest, asked: MachineRequest | null, signal?: AbortSignal) => Promise<Choice>;
  /** Where their folders lie. */
  readonly folder: string;
  /** Where their snapshots lie. */
  readonly snapshotFolder: string;
  /** Of this process. */
  readonly env: HostEnv;
  readonly homeDir: string;
  /** Rare lines about what went wrong without anybody waiting for it. */
  readonly say: (line: string) => void;
  readonly clock?: Clock;
  /** Why they are not this process's to own: then nothing is touched, and everybody is told. */
  readonly unavailable?: AgentKernelError | null;
}

/** A sandbox whose record this version cannot use. */
interface UnreadableSandbox {
  readonly name: string;
  readonly error: AgentKernelError;
}

/** Whoever finds a sandbox of theirs need not know which it is: the folder says it. */
const keepers: readonly BackendName[] = ["linux", "gvisor", "docker", "podman", "microvm"];

/** How long the first caller may have to wait for sandboxes that do not answer. */
const ADOPTION_MS = 2000;
/** How long the end of this process waits for deletions. */
const CLEARING_MS = 1000;

export class Sandboxes {
  readonly #options: SandboxesOptions;
  readonly #kept: PersistentBackend;
  readonly #folders: SandboxFolders;
  readonly #home: SandboxContext;
  readonly #lives: Lives;
  readonly #sandboxes = new Map<string, Sandbox>();
  readonly #unreadable = new Map<string, AgentKernelError>();
  /** Names that are being made. */
  readonly #coming = new Set<string>();
  readonly #listeners = new Set<SandboxListener>();
  /** What was in removed sandboxes is being deleted. */
  readonly #clearing = new Set<Promise<void>>();
  readonly snapshots: Snapshots;
  #adopted: Promise<void> = Promise.resolve();

  private constructor(options: SandboxesOptions, kept: PersistentBackend) {
    this.#options = options;
    this.#kept = kept;
    this.#folders = new SandboxFolders(options.folder, kept);
    const { backend, env, homeDir, say, clock = systemClock() } = options;
    this.#lives = new Lives({ say, sandboxes: () => this.#all() });
    this.#home = {
      backend,
      kept,
      backendFor: async (name = backend.name) =>
        this.#keeper((await this.#chooseBackend({ name, origin: "the sandbox" })).backend),
      clock,
      env,
      homeDir,
      say,
      knownSince: clock.now(),
      lookAtLives: () => this.#lives.lookSoon(),
      tell: ({ name, id, owner }, details) => {
        if (this.#listeners.size === 0) return;
        const event = { ...details, atMs: Date.now(), sandbox: name, id, owner };
        for (const listener of [...this.#listeners]) listener(event);
      },
      forget: (sandbox) => this.#forget(sandbox),
    };
    this.snapshots = new Snapshots({
      folder: options.snapshotFolder,
      context: this.#home,
      unavailable: options.unavailable,
    });
  }

  /**
   * Knows all that are there when it resolves, and owns those that run. One that does not answer is waited for only so
   * long; whatever is asked of that one waits for it.
   */
  static async open(options: SandboxesOptions): Promise<Sandboxes> {
    const { kept, name } = options.backend;
    if (kept === undefined) {
      throw new AgentKernelError("unsupported", `the backend ${name} has no sandboxes that stay`);
    }
    const all = new Sandboxes(options, kept);
    if (options.unavailable) return all;
    await all.#folders.open();
    await all.snapshots.open();
    await all.#load();
    await within(ADOPTION_MS, all.adopted, () => {});
    return all;
  }

  /** Rejects with `not_found`, or with what is wrong with its record. */
  get(name: string): Sandbox {
    this.#refuseIfUnavailable();
    checkSandboxName(name);
    const found = this.#sandboxes.get(name);
    if (found !== undefined) return found;
    const error = this.#unreadable.get(name);
    if (error !== undefined) throw error;
    throw notFound(name);
  }

  /** By name. */
  list(): readonly Sandbox[] {
    this.#refuseIfUnavailable();
    return this.#all();
  }

  #refuseIfUnavailable(): void {
    if (this.#options.unavailable) throw this.#options.unavailable;
  }

  #all(): readonly Sandbox[] {
    return [...this.#sandboxes.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Also those that are paused. */
  running(): readonly Sandbox[] {
    return this.#all().filter(({ state }) => state === "running" || state === "paused");
  }

  unreadable(): readonly UnreadableSandbox[] {
    return [...this.#unreadable].map(([name, error]) => ({ name, error }));
  }

  /** Those that this process must stay for: they run, or are about to be removed. */
  owned(): readonly Sandbox[] {
    return this.#all().filter((sandbox) => {
      const { state, ttlLeftMs } = sandbox.summary();
      return state === "running" || state === "paused" || (ttlLeftMs !== null && ttlLeftMs <= REBOOT_GRACE_MS);
    });
  }

  /** Returns how to stop listening. A listener must not throw. */
  onEvent(listener: SandboxListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Made, and not started. */
  async create(request: CreateRequest): Promise<Sandbox> {
    return await this.#reserving(request.name, (name) => this.#create(name, request));
  }

  async #reserving(wanted: string, make: (name: string) => Promise<Sandbox>): Promise<Sandbox> {
    this.#refuseIfUnavailable();
    const name = checkSandboxName(wanted);
    if (this.#sandboxes.has(name) || this.#unreadable.has(name) || this.#coming.has(name)) throw nameTaken(name);
    this.#coming.add(name);
    try {
      return await make(name);
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
    await this.#removeFolder(name);
    this.#unreadable.delete(name);
  }

  /** The kill switch. */
  async stopAll(): Promise<readonly string[]> {
    const running = this.running();
    await Promise.all(running.map((sandbox) => sandbox.kill()));
    return running.map(({ name }) => name);
  }

  /** Lets go of all. They run on, and the next process takes them over. */
  async close(): Promise<void> {
    this.#lives.close();
    await Promise.all(this.#all().map((sandbox) => sandbox.release()));
    // What takes longer goes on without this process, or is the next one's.
    await within(CLEARING_MS, Promise.all(this.#clearing), () => {});
  }

  async #load(): Promise<void> {
    this.#clear(await this.#folders.leftovers());
    const adoptions: Promise<void>[] = [];
    for (const name of await this.#folders.names()) {
      const folder = this.#folders.of(name);
      try {
        const record = parseRecord(await folder.readRecord(), name);
        // One that was killed as soon as it had made the folder may not have got so far.
        await holdImage(record, folder).catch((error: unknown) => this.#options.say(`${name}: ${String(error)}`));
        const sandbox = new Sandbox(record, folder, this.#home);
        this.#sandboxes.set(name, sandbox);
        adoptions.push(sandbox.adopt().catch((error: unknown) => this.#options.say(`${name}: ${String(error)}`)));
      } catch (error) {
        this.#unreadable.set(name, isAgentKernelError(error) ? error : unreadable(name, error));
      }
    }
    this.#adopted = Promise.all(adoptions).then(() => this.#lives.look());
  }

  /** Settles when all that ran has been taken over. */
  get adopted(): Promise<void> {
    return this.#adopted;
  }

  async #chooseBackend(
    request: BackendRequest,
    run: CreateRequest["run"] | null = null,
    signal?: AbortSignal,
  ): Promise<Choice> {
    const { backend, choose } = this.#options;
    if (choose === undefined || request.name === backend.name) return { backend, why: request.origin, notes: [] };
    return await choose(request, run, signal);
  }

  #keeper(chosen: Backend): Backend & { readonly kept: PersistentBackend } {
    const { backend } = this.#options;
    if (chosen.name === backend.name) return { ...backend, kept: this.#kept };
    if (chosen.kept === undefined || !keepers.includes(chosen.name)) {
      const message = `the backend ${chosen.name} has no sandboxes that stay in this version`;
      throw new AgentKernelError("unsupported", message, {
        hint: ({ name: spelt }) => `leave ${spelt("backend")} out, or run the command in a temporary sandbox`,
      });
    }
    return { ...chosen, kept: chosen.kept };
  }

  /** A sandbox with another name that begins with what a sandbox or a snapshot has. Made, and not started. */
  async createCopy(origin: CopySource, request: CopyRequest): Promise<Sandbox> {
    return await this.#reserving(request.name, async (name) => {
      const { version, policyVersion: _, from: __, madeIn: ___, ...kept } = origin.record;
      const now = this.#home.clock.now();
      const fresh = { id: newId(name), name, owner: request.owner, created: now, ttlFrom: now, hasRun: false };
      const publish = request.publish ?? kept.publish;
      const record: SandboxRecord = { ...kept, version, ...fresh, publish, policyVersion: 1, from: origin.from };
      return await this.#make(record, request.hostEnv, (into) => origin.fill(into, request));
    });
  }

  async fork(source: Sandbox, request: CopyRequest): Promise<Sandbox> {
    const from = { kind: "sandbox", name: source.name } as const;
    const fill: CopySource["fill"] = (into, options) => source.copyInto(into, options);
    return await this.createCopy({ record: source.record, from, fill }, request);
  }

  async #create(name: string, request: CreateRequest): Promise<Sandbox> {
    const { run, ttlMs, idleTimeoutMs, owner, madeIn, signal, watcher } = request;
    const choice = await this.#chooseBackend(run.backend, run, signal);
    const image = await resolveRoot(run.image, run.imageSettings, { ...watcher, signal }, this.#keeper(choice.backend));
    try {
      const { backend: chosen, why, notes } = await forImage(choice, image.source);
      const backend = this.#keeper(chosen);
      const { origins, projectDir, homeDir, workdir, publish, audit } = run;
      const now = this.#home.clock.now();
      const record: SandboxRecord = {
        version: RECORD_VERSION,
        id: newId(name),
        name,
        owner,
        ...(madeIn === undefined ? {} : { madeIn }),
        ...(backend.name === this.#options.backend.name ? {} : { backend: backend.name }),
        backendWhy: why,
        ...(notes.length === 0 ? {} : { backendNotes: notes }),
        created: now,
        hasRun: false,
        ttlMs,
        ttlFrom: now,
        idleTimeoutMs,
        policy: policyOn(chosen, run),
        policyVersion: 1,
        origins,
        image: {
          name: image.name,
          why: image.why,
          digest: image.digest,
          source: image.source,
          defaults: image.defaults,
          stored: image.stored,
          ...(image.programs === undefined ? {} : { programs: image.programs }),
        },
        projectDir,
        homeDir,
        workdir,
        publish,
        audit,
        auditSetting: run.hostEnv.AGENTKERNEL_AUDIT ?? null,
      };
      return await this.#make(record, run.hostEnv);
    } finally {
      await image.release();
    }
  }

  async #make(
    record: SandboxRecord,
    hostEnv: HostEnv,
    fill?: (into: CopyFolders) => Promise<unknown>,
  ): Promise<Sandbox> {
    const folder = await this.#folders.make(record, fill);
    try {
      await holdImage(record, folder);
      const sandbox = new Sandbox(record, folder, this.#home, hostEnv);
      await sandbox.announce();
      this.#sandboxes.set(record.name, sandbox);
      return sandbox;
    } catch (error) {
      await this.#removeFolder(record.name);
      throw error;
    }
  }

  async #forget({ name, id }: Named): Promise<void> {
    const { stored } = this.get(name).record.image;
    await this.#removeFolder(name);
    this.#sandboxes.delete(name);
    // Where this fails, whoever looks at the hold next finds that the sandbox is gone.
    if (stored !== null) await releaseForSandbox(stored.storeRoot, id).catch(() => {});
  }

  async #removeFolder(name: string): Promise<void> {
    this.#clear([await this.#folders.remove(name)]);
  }

  /** Nobody waits for it: there may be a great deal. */
  #clear(leftovers: readonly string[]): void {
    const work = this.#folders.clear(leftovers).then((failures) => {
      for (const { message } of failures) this.#options.say(message);
    });
    this.#clearing.add(work);
    void work.finally(() => this.#clearing.delete(work));
  }
}

/** Unique for ever. */
function newId(name: string): string {
  return `${name}.${randomBytes(3).toString("hex")}`;
}

/** Its layers stay for as long as it does. */
async function holdImage({ id, image: { stored } }: SandboxRecord, { path }: SandboxFolder): Promise<void> {
  if (stored !== null) await holdForSandbox(stored.storeRoot, stored, id, path);
}
