/**
 * src/daemon owns the long-lived process: it listens on a private socket and serves the command lines of its user, with
 * the same code that serves them without it. It decides nothing that the command line would not decide, and it is never
 * needed: whatever it does not serve, the client does alone.
 */

import { rmSync } from "node:fs";
import type { Server } from "node:http";
import { constants } from "node:os";
import { buildId } from "../core/build-id.js";
import { AgentKernelError } from "../core/errors.js";
import { sandboxesFolder } from "../core/state-folders.js";
import type { Surroundings } from "../core/surroundings.js";
import { version } from "../core/version.js";
import { openBackend } from "../runtime/open-backend.js";
import { Sandboxes } from "../runtime/sandboxes/index.js";
import { DaemonApi, type ServeOptions } from "./api.js";
import type { ClientSession } from "./client/session.js";
import { ResidentJails } from "./jails.js";
import type { Log } from "./log.js";
import { type Ownership, takeOwnership } from "./ownership.js";
import { ownedByAnother, takeSandboxes } from "./sandbox-ownership.js";
import { listen } from "./server.js";
import { preparePrivateFolder } from "./socket-folder.js";
import type { DaemonPlace } from "./socket-place.js";
import type { DaemonStatus } from "./status.js";

/** How long running commands may take to end when the daemon does. */
const STOP_GRACE_MS = 10_000;
/** How long the last answers may take to be read. */
const ANSWER_GRACE_MS = 1000;

export interface DaemonOptions {
  readonly place: DaemonPlace;
  /** Of its own process: where its state lies. */
  readonly own: Pick<Surroundings, "env" | "homeDir">;
  readonly log: Log;
  /** Null where the log goes to stderr. */
  readonly logPath: string | null;
  /** After so long with nothing to do it ends by itself; null: never. */
  readonly idleTimeoutMs: number | null;
  /** The HTTP interface on TCP as well; null: on the daemon's own socket only. */
  readonly serve?: ServeOptions | null;
}

export class Daemon {
  /** Settles when it has ended in good order. */
  readonly ended: Promise<void>;
  readonly #options: DaemonOptions;
  readonly #ownership: Ownership;
  readonly #jails: ResidentJails;
  readonly #sessions = new Set<ClientSession>();
  readonly #startedAtMs = Date.now();
  #served = 0;
  #requests = 0;
  #server: Server | null = null;
  #sandboxes: Sandboxes | null = null;
  #api: DaemonApi | null = null;
  #sandboxOwnership: Ownership | null = null;
  #idle: NodeJS.Timeout | undefined;
  #stopping: Promise<void> | null = null;
  #settleEnded: () => void = () => {};

  private constructor(options: DaemonOptions, ownership: Ownership) {
    this.#options = options;
    this.#ownership = ownership;
    this.#jails = new ResidentJails(options.place.folder);
    this.ended = new Promise((resolve) => {
      this.#settleEnded = resolve;
    });
  }

  /** Listens when it resolves. */
  static async start(options: DaemonOptions): Promise<Daemon> {
    preparePrivateFolder(options.place.folder);
    const ownership = takeOwnership(options.place.folder);
    if (ownership === null) {
      throw new AgentKernelError("conflict", "a daemon of yours is running already", {
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
      daemon.#jails.close();
      ownership.release();
      throw error;
    }
    return daemon;
  }

  get status(): DaemonStatus {
    return {
      up: true,
      stopping: this.#stopping !== null,
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
      memory_bytes: process.memoryUsage.rss(),
      pool: null,
    };
  }

  /** No new command lines; those at work end as by SIGTERM. Settles when all have. */
  stop(why: string): Promise<void> {
    this.#stopping ??= this.#stop(why);
    return this.#stopping;
  }

  async #listen(): Promise<void> {
    const { own, place, log } = this.#options;
    await this.#jails.open();
    const folder = sandboxesFolder(own.env, own.homeDir);
    this.#sandboxOwnership = takeSandboxes(folder);
    const sandboxes = await Sandboxes.open({
      backend: openBackend({ ...own, resident: { jails: this.#jails } }),
      folder,
      ...own,
      say: (line) => log.say(line),
      unavailable: this.#sandboxOwnership === null ? ownedByAnother() : null,
    });
    this.#sandboxes = sandboxes;
    sandboxes.onEvent(() => this.#restIfIdle());
    const api = new DaemonApi({ own, log, serve: this.#options.serve ?? null }, { jails: this.#jails, sandboxes });
    this.#api = api;
    await api.open();
    this.#server = await listen(place, {
      build: buildId(),
      resident: { jails: this.#jails, sandboxes, meter: api.meter },
      answer: (method, path) => this.#answer(method, path),
      serve: (request, response, isWaiting) => this.#serveRequest(api.serve(request, response, isWaiting)),
      upgrade: (request, socket, head) => this.#serveRequest(api.upgrade(request, socket, head)),
      isClosed: () => (this.#stopping ? "the daemon is stopping" : null),
      onSession: (session) => this.#serve(session),
      onFault: (error) => log.say(`a connection was cut off: ${describe(error)}`),
    });
    log.say(`process ${process.pid} listens, version ${version}, build ${buildId()}`);
    this.#restIfIdle();
  }

  #serve(session: ClientSession): void {
    clearTimeout(this.#idle);
    this.#sessions.add(session);
    this.#served++;
    void session.over.then(() => {
      this.#sessions.delete(session);
      this.#restIfIdle();
    });
  }

  /** One that is being answered keeps it from resting. */
  async #serveRequest(request: Promise<void>): Promise<void> {
    this.#requests++;
    clearTimeout(this.#idle);
    await request;
    this.#requests--;
    this.#restIfIdle();
  }

  /** Where the HTTP interface listens on TCP; null where it does not. */
  get url(): string | null {
    return this.#api?.url ?? null;
  }

  #restIfIdle(): void {
    const { idleTimeoutMs } = this.#options;
    clearTimeout(this.#idle);
    const isAtWork = this.#sessions.size > 0 || this.#requests > 0 || (this.#sandboxes?.owned ?? 0) > 0;
    if (idleTimeoutMs === null || isAtWork || this.#stopping) return;
    this.#idle = setTimeout(() => void this.stop("nothing was asked of it for a while"), idleTimeoutMs);
  }

  #answer(method: string, path: string): Promise<object> | null {
    const key = `${method} ${path}`;
    if (key === "GET /daemon") return Promise.resolve(this.status);
    if (key === "POST /daemon/stop") return this.stop("it was asked to").then(() => ({ stopped: true }));
    return null;
  }

  async #stop(why: string): Promise<void> {
    const { log, place } = this.#options;
    clearTimeout(this.#idle);
    log.say(`stopping: ${why}; ${this.#sessions.size} at work`);
    for (const session of this.#sessions) session.signal(constants.signals.SIGTERM);
    const sessions = [...this.#sessions].map(({ over }) => over);
    await within(STOP_GRACE_MS, Promise.all([...sessions, this.#api?.close()]));
    // They run on, and the next daemon takes them over.
    await this.#sandboxes?.close();
    this.#sandboxOwnership?.release();
    this.#jails.close();
    // While it is ours, no other daemon's socket can be there.
    rmSync(place.socketPath, { force: true });
    this.#ownership.release();
    log.say(this.#sessions.size === 0 ? "stopped" : `stopped; ${this.#sessions.size} did not end in time`);
    void within(ANSWER_GRACE_MS, this.#closed()).then(() => this.#settleEnded());
  }

  /** Those who asked something have their answer. */
  #closed(): Promise<unknown> {
    const server = this.#server;
    return server === null ? Promise.resolve() : new Promise((resolve) => server.close(resolve));
  }
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message).replaceAll("\n", " | ") : String(error);
}
