/** The commands of one kept sandbox: those that run, and the last ones that are over. */
import { randomUUID } from "node:crypto";
import { AgentKernelError } from "../../../core/errors.js";
import type { ExecRequest } from "../../../core/exec.js";
import type { GuestSession, KeptExec } from "../../../guest/index.js";
import type { SandboxEventDetails } from "../events.js";
import type { ExecInfo } from "../types.js";
import { DetachedExec, type DetachedParts } from "./detached-exec.js";
import { followLog, type LogOptions } from "./follow-log.js";
import type { LogPiece } from "./log-reader.js";
import { SandboxExec } from "./sandbox-exec.js";

/** How many that are over are remembered, of each kind. Those that were detached have logs. */
const MOST_ENDED = 64;
const MOST_ENDED_DETACHED = 16;

interface ExecPlan {
  readonly request: ExecRequest;
  readonly detached: boolean;
  readonly timeoutMs: number | null;
}

interface ExecTableParts extends DetachedParts {
  readonly tell: (details: SandboxEventDetails) => void;
  /** Whether a command of the guest's is none of this table's. */
  readonly isOthers: (key: string) => boolean;
  /** Something went wrong that nobody waits for. */
  readonly say: (line: string) => void;
}

export class ExecTable {
  readonly #parts: ExecTableParts;
  readonly #attached = new Map<string, SandboxExec>();
  readonly #detached = new Map<string, DetachedExec>();
  /** Ends that are being written down. */
  readonly #endings = new Set<Promise<void>>();
  #ended: ExecInfo[] = [];
  #isReleased = false;

  constructor(parts: ExecTableParts) {
    this.#parts = parts;
  }

  /** How many go on. */
  get running(): number {
    return this.#attached.size + this.#detached.size;
  }

  /** Null where it is over, or not heard of. */
  find(id: string): SandboxExec | null {
    return this.#attached.get(id) ?? this.#detached.get(id)?.exec ?? null;
  }

  list(): readonly ExecInfo[] {
    const running = [...this.#attached.values(), ...this.#detached.values()].map(({ info }) => info);
    return [...this.#ended, ...running].sort((a, b) => a.startedAtMs - b.startedAtMs);
  }

  async start(session: GuestSession, { request, detached, timeoutMs }: ExecPlan): Promise<SandboxExec> {
    const { argv, cwd, user = null, tty } = request;
    // Eight digits of one: Node makes these ahead, many at once.
    const id = `x${randomUUID().slice(0, 8)}`;
    const facts = { id, argv, cwd, user, tty: tty !== undefined, detached, startedAtMs: Date.now() };
    let exec: SandboxExec;
    if (detached) {
      const started = await DetachedExec.start(this.#parts, session, { facts, request, timeoutMs });
      this.#detached.set(id, started);
      exec = started.exec;
      this.#watch(session, started);
    } else {
      exec = new SandboxExec(facts, await session.exec(request), timeoutMs);
      this.#attached.set(id, exec);
      // After whoever waits for it has heard.
      void exec.over.then((info) => setImmediate(() => this.#note(info)));
    }
    this.#parts.tell({ type: "exec.started", exec: id, argv });
    return exec;
  }

  /** What earlier processes had started. Without a session none of it runs any more. */
  async load(session: GuestSession | null): Promise<void> {
    const known = new Set(this.#ended.map(({ id }) => id));
    for (const record of await this.#parts.records.all()) {
      const { id, state } = record.info;
      if (known.has(id) || this.#detached.has(id)) continue;
      if (state !== "running") this.#ended.push(record.info);
      else this.#detached.set(id, await DetachedExec.known(this.#parts, record));
    }
    if (session === null) await this.end();
    // A guest that is paused, or does not speak, must not hold up whoever would end it.
    else void session.ready.then(({ execs }) => this.#resumeAll(session, execs)).catch(() => {});
    await this.#prune();
  }

  /** The sandbox has ended: so has everything in it, and when it resolves that is on record. */
  async end(): Promise<void> {
    await Promise.all(this.#endings);
    await this.#loseAll("the sandbox has ended");
  }

  /** From here on endings are none: the sandbox runs on without us. */
  release(): void {
    this.#isReleased = true;
  }

  /** Rejects with `not_found` where there is none of this id, or nothing was kept of its output. */
  logs(id: string, options: LogOptions): AsyncGenerator<LogPiece, void> {
    const info = this.list().find((exec) => exec.id === id);
    if (info === undefined) {
      throw new AgentKernelError("not_found", `there is no command ${id} in this sandbox`, {
        hint: ({ commandIds }) => `${commandIds}; of those that are over, the last ones`,
      });
    }
    if (!info.detached) {
      throw new AgentKernelError("not_found", `the output of ${id} went to whoever ran it, and was not kept`, {
        hint: "run it with exec --detach to read its output later",
      });
    }
    return followLog(this.#parts.records.folder, id, this.#detached.get(id)?.log ?? null, options);
  }

  async #resumeAll(session: GuestSession, kept: readonly KeptExec[]): Promise<void> {
    for (const exec of kept.filter(({ key }) => !this.#parts.isOthers(key))) {
      const known = this.#detached.get(exec.key);
      try {
        if (known === undefined) await this.#dismiss(session, exec);
        else if (exec.failure !== null) this.#note(await known.fail(exec.failure.message));
        else {
          await known.resume(session, exec);
          this.#watch(session, known);
          await this.#noteGoingOn(known);
        }
      } catch (error) {
        this.#parts.say(`command ${exec.key} could not be taken up: ${String(error)}`);
      }
    }
    await this.#loseAll("it was not found again", (detached) => detached.exec === null);
  }

  /** A disk that is full costs it what is known of its time limit, not the command. */
  async #noteGoingOn(known: DetachedExec): Promise<void> {
    await known.noteGoingOn().catch((error: unknown) => {
      this.#parts.say(`that command ${known.info.id} goes on could not be written down: ${String(error)}`);
    });
  }

  /** Nobody knows of it, so nobody could ever read or end it. */
  async #dismiss(session: GuestSession, kept: KeptExec): Promise<void> {
    if (kept.failure === null) {
      const exec = await session.attach(kept);
      for (const stream of [1, 2] as const) exec.onOutput(stream, { write: (_, taken) => taken(), end: () => {} });
      exec.close();
      await exec.exited;
    }
    await session.forget(kept.key);
  }

  async #loseAll(why: string, which: (exec: DetachedExec) => boolean = () => true): Promise<void> {
    for (const detached of [...this.#detached.values()].filter(which)) this.#note(await detached.lose(why));
  }

  #watch(session: GuestSession, detached: DetachedExec): void {
    const ending = this.#awaitEnd(session, detached).catch((error: unknown) => {
      this.#parts.say(`the end of command ${detached.info.id} could not be written down: ${String(error)}`);
    });
    this.#endings.add(ending);
    void ending.then(() => this.#endings.delete(ending));
  }

  async #awaitEnd(session: GuestSession, detached: DetachedExec): Promise<void> {
    await detached.exec?.over;
    if (this.#isReleased) return;
    try {
      await detached.finished(session);
    } finally {
      this.#note(detached.info);
    }
    await this.#prune();
  }

  #note(info: ExecInfo): void {
    if (this.#isReleased) return;
    this.#attached.delete(info.id);
    this.#detached.delete(info.id);
    const others = this.#ended.filter(({ detached }) => detached !== info.detached);
    const alike = this.#ended.filter(({ detached }) => detached === info.detached);
    this.#ended = [...others, ...(info.detached ? alike : alike.slice(1 - MOST_ENDED)), info];
    const { id, code, signal, timedOut } = info;
    this.#parts.tell({ type: "exec.ended", exec: id, code, signal, timedOut });
  }

  async #prune(): Promise<void> {
    const old = this.#ended.filter(({ detached }) => detached).slice(0, -MOST_ENDED_DETACHED);
    this.#ended = this.#ended.filter((info) => !old.includes(info));
    for (const { id } of old) await this.#parts.records.remove(id);
  }
}
