/**
 * src/daemon owns the long-lived process: it listens on a private socket and serves the command lines of its user, with
 * the same code that serves them without it, and owns what outlives them. It decides nothing that the command line would
 * not decide, and is needed only for what it owns: whatever else it does not serve, the client does alone.
 */

import { rmSync } from "node:fs";
import type { Server } from "node:net";
import type { Templates } from "../backends/microvm/templates.js";
import type { WasmBackend } from "../backends/wasm/index.js";
import { buildId, distFolder } from "../core/build-id.js";
import { AgentKernelError } from "../core/errors.js";
import { sandboxesFolder, snapshotsFolder } from "../core/state-folders.js";
import type { Surroundings } from "../core/surroundings.js";
import { version } from "../core/version.js";
import { within } from "../core/within.js";
import { chooseForKeeping } from "../runtime/backends/choose.js";
import { openKeeper } from "../runtime/open-engine.js";
import { openWasm } from "../runtime/open-wasm.js";
import { WarmPool } from "../runtime/pool/index.js";
import { Sandboxes } from "../runtime/sandboxes/index.js";
import { SharedAudit } from "../runtime/shared-audit.js";
import { DaemonApi, type ServeOptions } from "./api.js";
import type { Commands } from "./client/commands.js";
import type { ClientSession } from "./client/session.js";
import { ownPlace, StartReader } from "./client/start.js";
import { endSessions, STOP_GRACE_MS } from "./end-sessions.js";
import { holdOwned } from "./held-sandboxes.js";
import { Holdings } from "./holdings.js";
import { ResidentJails } from "./jails.js";
import { Lifetime, type Stay } from "./lifetime.js";
import type { Log } from "./log.js";
import { type Ownership, takeOwnership } from "./ownership.js";
import { ownedByAnother, takeSandboxes } from "./sandbox-ownership.js";
import { listen } from "./server.js";
import { clearSockets, preparePrivateFolder } from "./socket-folder.js";
import type { DaemonPlace } from "./socket-place.js";
import { count, type DaemonStatus } from "./status.js";
import { WatchedSources } from "./watched-sources.js";

/** How long a record of a call, and of a run, may wait to be written together with others. */
const CALL_LINGER_MS = 100;
const RUN_LINGER_MS = 10;
/** How long the last answers may take to be read. */
const ANSWER_GRACE_MS = 1000;

/** How a daemon says that another owns the place. */
export const ANOTHER_IS_UP = "a daemon of yours is running already";

export interface DaemonOptions {
  readonly place: DaemonPlace;
  /** Of its own process: where its state lies. */
  readonly own: Pick<Surroundings, "env" | "homeDir">;
  readonly commands: Commands;
  readonly log: Log;
  /** Null where the log goes to stderr. */
  readonly logPath: string | null;
  readonly stay: Stay;
  /** It was started to outlive whoever started it, and can be replaced by another such. */
  readonly isBackground: boolean;
  /** The service of the machine's own that runs it, and would start it again; null where there is none. */
  readonly service: string | null;
  /** The HTTP interface on TCP as well; null: on the daemon's own socket only. */
  readonly serve?: ServeOptions | null;
}

/** Reports what a daemon released when it made room for another. */
export interface HandOver {
  readonly pid: number;
  /** How many it let go of, which go on. */
  readonly released: number;
  /** Command lines that it still serves to their end. */
  readonly at_work: number;
}

export class Daemon {
  /** Settles when it has ended in good order. */
  readonly ended: Promise<void>;
  readonly #options: DaemonOptions;
  readonly #ownership: Ownership;
  readonly #jails: ResidentJails;
  readonly #pool: WarmPool;
  #wasm: WasmBackend | null = null;
  #templates: Promise<Templates> | null = null;
  #sources: WatchedSources | null = null;
  readonly #sessions = new Set<ClientSession>();
  readonly #runAudit = new SharedAudit(RUN_LINGER_MS);
  readonly #startedAtMs = Date.now();
  readonly #lifetime: Lifetime;
  readonly #holdings: Holdings;
  #served = 0;
  #requests = 0;
  #server: Server | null = null;
  #sandboxes: Sandboxes | null = null;
  #api: DaemonApi | null = null;
  #sandboxOwnership: Ownership | null = null;
  #stopping: Promise<void> | null = null;
  #handingOver: Promise<HandOver> | null = null;
  #hasLeft = false;
  #settleEnded: () => void = () => {};

  private constructor(options: DaemonOptions, ownership: Ownership) {
    this.#options = options;
    this.#ownership = ownership;
    this.#jails = new ResidentJails(options.place.folder);
    this.#pool = new WarmPool({
      freeBytes: () => process.availableMemory(),
      onFault: (error) => options.log.say(`no sandbox could be built ahead: ${describe(error)}`),
    });
    this.#holdings = new Holdings(options.log, () => this.#lifetime.look());
    this.#lifetime = new Lifetime(options.stay, {
      heldBy: () => this.#heldBy(),
      end: (why) => void this.stop(why),
    });
    this.ended = new Promise((resolve) => {
      this.#settleEnded = resolve;
    });
  }

  /** Listens when it resolves. */
  static async start(options: DaemonOptions): Promise<Daemon> {
    preparePrivateFolder(options.place.folder);
    const ownership = takeOwnership(options.place.folder);
    if (ownership === null) {
      throw new AgentKernelError("conflict", ANOTHER_IS_UP, {
        hint: "agentkernel daemon status tells of it, agentkernel daemon stop ends it",
      });
    }
    const daemon = new Daemon(options, ownership);
    try {
      await daemon.#listen();
    } catch (error) {
      await daemon.#api?.close();
      await daemon.#sandboxes?.close();
      daemon.#sandboxOwnership?.release();
      daemon.#sources?.close();
      daemon.#jails.close();
      ownership.release();
      throw error;
    }
    return daemon;
  }

  get status(): DaemonStatus {
    return {
      up: true,
      stopping: this.#isClosing,
      pid: process.pid,
      version,
      build: buildId(),
      node: process.versions.node,
      started_at: new Date(this.#startedAtMs).toISOString(),
      uptime_ms: Date.now() - this.#startedAtMs,
      socket: this.#options.place.socketPath,
      log: this.#options.logPath,
      lost_log_lines: this.#options.log.lost,
      at_work: this.#sessions.size,
      served: this.#served,
      on_demand: this.#lifetime.stay.onDemand,
      idle_timeout_ms: this.#lifetime.stay.idleTimeoutMs,
      held_by: this.#heldBy(),
      background: this.#options.isBackground,
      service: this.#options.service,
      url: this.url,
      memory_bytes: process.memoryUsage.rss(),
      pool: this.#pool.status,
    };
  }

  /** No new command lines; those at work end as by SIGTERM, what it owns goes on. Settles when all is done. */
  stop(why: string): Promise<void> {
    this.#stopping ??= this.#stop(why);
    return this.#stopping;
  }

  /** Another daemon takes its place at once: what it owns goes on, and so do the command lines at work, to their end. */
  handOver(): Promise<HandOver> {
    this.#handingOver ??= this.#handOver();
    return this.#handingOver;
  }

  stayAs(stay: Stay): void {
    this.#lifetime.change(stay);
  }

  get stay(): Stay {
    return this.#lifetime.stay;
  }

  get #isClosing(): boolean {
    return this.#stopping !== null || this.#handingOver !== null;
  }

  #heldBy(): readonly string[] {
    const { size } = this.#sessions;
    return [
      ...(size > 0 ? [count(size, "command line")] : []),
      ...(this.#requests > 0 ? [count(this.#requests, "request")] : []),
      ...this.#holdings.names,
    ];
  }

  async #listen(): Promise<void> {
    const { own, place, log } = this.#options;
    clearSockets(place);
    await this.#jails.open();
    const folder = sandboxesFolder(own.env, own.homeDir);
    this.#sandboxOwnership = takeSandboxes(folder);
    const made = {
      jails: this.#jails,
      pool: this.#pool,
      wasm: () => this.#openWasm(),
      templates: () => this.#openTemplates(),
      moduleAudit: new SharedAudit(CALL_LINGER_MS),
      runAudit: this.#runAudit,
    };
    const host = { ...own, resident: made };
    const sandboxes = await Sandboxes.open({
      backend: openKeeper(host),
      choose: (request, asked, signal) => chooseForKeeping(host, request, asked, signal),
      folder,
      snapshotFolder: snapshotsFolder(own.env, own.homeDir),
      ...own,
      say: (line) => log.say(line),
      unavailable: this.#sandboxOwnership === null ? ownedByAnother() : null,
    });
    this.#sandboxes = sandboxes;
    holdOwned(sandboxes, this.#holdings);
    const resident = {
      ...made,
      holdings: this.#holdings,
      sandboxes,
      remark: (line: string) => log.say(line),
      afterAnswers: () => this.#answeredOver(),
    };
    const api = new DaemonApi({ own, log, serve: this.#options.serve ?? null }, resident);
    this.#api = api;
    await api.open();
    this.#server = await listen(place, {
      build: buildId(),
      place: ownPlace(),
      starts: new StartReader(),
      commands: this.#options.commands,
      resident: { ...resident, meter: api.meter },
      answer: (method, path) => this.#answer(method, path),
      serve: (request, response, isWaiting) => this.#serveRequest(api.serve(request, response, isWaiting)),
      upgrade: (request, socket, head) => this.#serveRequest(api.upgrade(request, socket, head)),
      isClosed: () => this.#whyClosed(),
      onSession: (session) => this.#serve(session),
      onFault: (error) => log.say(`a connection was cut off: ${describe(error)}`),
    });
    // After it listens: those who try to start one at the same moment look for this one.
    this.#sources = WatchedSources.open(distFolder(), place.folder);
    log.say(`process ${process.pid} listens, version ${version}, build ${buildId()}`);
    this.#lifetime.look();
  }

  #openWasm(): WasmBackend {
    this.#wasm ??= openWasm({ ...this.#options.own, resident: { jails: this.#jails, pool: this.#pool } });
    return this.#wasm;
  }

  #openTemplates(): Promise<Templates> {
    const host = { ...this.#options.own, resident: { jails: this.#jails, pool: this.#pool } };
    this.#templates ??= import("../runtime/open-microvm.js").then(({ openTemplates }) => openTemplates(host));
    return this.#templates;
  }

  #whyClosed(): string | null {
    if (this.#isClosing) return "the daemon is stopping";
    return this.#sources?.haveChanged() ? "the sources of this build have changed" : null;
  }

  #serve(session: ClientSession): void {
    this.#sessions.add(session);
    this.#served++;
    if (!session.isStanding) void session.answered.then(this.#pool.serve());
    this.#lifetime.look();
    void session.over.then(() => {
      this.#sessions.delete(session);
      this.#lifetime.look();
    });
  }

  /** One that is being answered keeps it from ending by itself. */
  async #serveRequest(request: Promise<void>): Promise<void> {
    this.#requests++;
    this.#lifetime.look();
    await request;
    this.#requests--;
    this.#lifetime.look();
  }

  /** Where the HTTP interface listens on TCP; null where it does not. */
  get url(): string | null {
    return this.#api?.url ?? null;
  }

  #answer(method: string, path: string): Promise<object> | null {
    const key = `${method} ${path}`;
    if (key === "GET /daemon") return Promise.resolve(this.status);
    if (key === "POST /daemon/stop") return this.stop("it was asked to").then(() => ({ stopped: true }));
    if (key === "POST /daemon/stop-all") return this.#stopAll();
    if (key === "POST /daemon/hand-over") return this.handOver();
    if (key === "POST /daemon/stay") return this.#stayForGood();
    return null;
  }

  async #stayForGood(): Promise<DaemonStatus> {
    if (this.#lifetime.stay.onDemand) this.#lifetime.change({ onDemand: false, idleTimeoutMs: null });
    return this.status;
  }

  async #stopAll(): Promise<object> {
    const ended = this.#isClosing ? 0 : await this.#holdings.endAll();
    await this.stop("it was asked to, with all that it owns");
    return { stopped: true, ended };
  }

  async #stop(why: string): Promise<void> {
    const { log } = this.#options;
    this.#lifetime.over();
    log.say(`stopping: ${why}; ${this.#sessions.size} at work`);
    const sessions = endSessions(this.#sessions, Promise.all([this.#sessionsOver(), this.#api?.close()]));
    await Promise.all([sessions, this.#holdings.releaseAll()]);
    // They run on, and the next daemon takes them over.
    await this.#sandboxes?.close();
    this.#sandboxOwnership?.release();
    this.#sources?.close();
    await Promise.all([this.#closePool(), this.#wasm?.close()]);
    this.#leave();
    log.say(this.#sessions.size === 0 ? "stopped" : `stopped; ${this.#sessions.size} did not end in time`);
    this.#end();
  }

  async #handOver(): Promise<HandOver> {
    const { log } = this.#options;
    if (this.#stopping !== null) {
      await this.#stopping;
      return { pid: process.pid, released: 0, at_work: 0 };
    }
    this.#lifetime.over();
    const released = await this.#holdings.releaseAll();
    await this.#api?.close();
    await this.#sandboxes?.close();
    this.#sandboxOwnership?.release();
    this.#sources?.close();
    await this.#closePool();
    this.#leave();
    // Those at work give theirs back when they are done.
    void this.#wasm?.close();
    log.say(`another daemon takes over: ${released} released, ${this.#sessions.size} still at work`);
    void this.#sessionsOver().then(async () => {
      // What they had may still be removed by its engine.
      await this.#closePool();
      if (this.#stopping === null) log.say("ended after the last command line");
      this.#end();
    });
    return { pid: process.pid, released, at_work: this.#sessions.size };
  }

  /** An engine that does not answer keeps nobody for ever: what it has of ours is swept when it does again. */
  async #closePool(): Promise<void> {
    const late = () => this.#options.log.say("an engine does not end in time what was started ahead; it will be swept");
    await within(STOP_GRACE_MS, this.#pool.close(), late);
  }

  #sessionsOver(): Promise<unknown> {
    return Promise.all([...this.#sessions].map(({ over }) => over));
  }

  #answeredOver(): Promise<unknown> {
    this.#runAudit.writeSoon();
    return Promise.all([...this.#sessions].filter(({ isAnswered }) => isAnswered).map(({ over }) => over));
  }

  /** The place is free for another daemon. */
  #leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    // While it is ours, no other daemon's socket can be there.
    rmSync(this.#options.place.socketPath, { force: true });
    this.#ownership.release();
  }

  #end(): void {
    this.#jails.close();
    void within(ANSWER_GRACE_MS, this.#closed(), () => {}).then(() => this.#settleEnded());
  }

  /** Those who asked something have their answer. */
  #closed(): Promise<unknown> {
    const server = this.#server;
    return server === null ? Promise.resolve() : new Promise((resolve) => server.close(resolve));
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message).replaceAll("\n", " | ") : String(error);
}
