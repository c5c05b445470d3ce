/**
 * src/runtime/sandboxes/terminals owns the terminals of one kept sandbox: commands on a PTY that outlive whoever looks at
 * them, and this process. It decides nothing about what may be run, and never ends a terminal because nobody looks.
 */
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { AgentKernelError } from "../../../core/errors.js";
import type { ExecRequest, TerminalSize } from "../../../core/exec.js";
import type { GuestSession, KeptExec } from "../../../guest/index.js";
import type { Clock } from "../clock.js";
import type { SandboxEventDetails } from "../events.js";
import { notOver } from "../execs/detached-exec.js";
import { type ExecRecord, ExecRecords } from "../execs/exec-records.js";
import { type ExecFacts, SandboxExec } from "../execs/sandbox-exec.js";
import { isCode } from "../folder.js";
import type { TerminalInfo } from "../types.js";
import { Terminal } from "./terminal.js";

export { usualShell } from "./shell.js";
export { Terminal } from "./terminal.js";
export type { TerminalEnd } from "./viewer.js";

/** Each holds its scrollback, and a sandbox has at most 128 commands that outlive a connection. */
const MOST_TERMINALS = 32;

interface TerminalsParts {
  readonly folder: string;
  readonly clock: Clock;
  /** The sandbox does not count as idle until what is returned is called. */
  readonly use: () => () => void;
  readonly tell: (details: SandboxEventDetails) => void;
  /** Something went wrong that nobody waits for. */
  readonly say: (line: string) => void;
}

/** Whether a command of the guest's is a terminal of ours. */
export function isTerminalId(key: string): boolean {
  return /^t[0-9a-f]{8}$/.test(key);
}

export class Terminals {
  readonly #parts: TerminalsParts;
  readonly #records: ExecRecords;
  readonly #running = new Map<string, Terminal>();
  /** Ends that are being written down. */
  readonly #endings = new Set<Promise<void>>();
  #found: Promise<void> = Promise.resolve();
  #isReleased = false;

  constructor(parts: TerminalsParts) {
    this.#parts = parts;
    this.#records = new ExecRecords(parts.folder);
  }

  get count(): number {
    return this.#running.size;
  }

  /** Oldest first. */
  list(): readonly TerminalInfo[] {
    return [...this.#running.values()].map(({ info }) => info).sort((a, b) => a.startedAtMs - b.startedAtMs);
  }

  /** Settles when those are known that an earlier process had opened. */
  get found(): Promise<void> {
    return this.#found;
  }

  get(id: string): Terminal {
    const found = this.#running.get(id);
    if (found !== undefined) return found;
    throw new AgentKernelError("not_found", `there is no terminal ${id}`, {
      hint: "agentkernel info NAME shows the terminals of a sandbox",
    });
  }

  /** The newest that nobody looks at. */
  unwatched(): Terminal | null {
    const [newest] = [...this.#running.values()]
      .filter(({ isWatched }) => !isWatched)
      .sort((a, b) => b.info.startedAtMs - a.info.startedAtMs);
    return newest ?? null;
  }

  /** On record before it is asked for, so that none can run that nobody knows of. Settles when its command runs. */
  async open(session: GuestSession, request: ExecRequest, size: TerminalSize): Promise<Terminal> {
    if (this.#running.size >= MOST_TERMINALS) {
      throw new AgentKernelError("resource_exhausted", `a sandbox has at most ${MOST_TERMINALS} terminals`, {
        hint: "attach to one of them with --terminal ID and leave its shell",
      });
    }
    const { argv, cwd, user = null } = request;
    const id = `t${randomBytes(4).toString("hex")}`;
    const facts: ExecFacts = { id, argv, cwd, user, tty: true, detached: true, startedAtMs: Date.now() };
    await this.#makeFolder();
    await this.#records.write({ info: { ...facts, ...notOver }, timeoutMs: null, started: this.#parts.clock.now() });
    let terminal: Terminal;
    try {
      const guest = await session.exec({ ...request, tty: size, key: id });
      terminal = new Terminal(new SandboxExec(facts, guest, null), size);
    } catch (error) {
      await this.#records.remove(id);
      throw error;
    }
    this.#watch(session, terminal);
    this.#parts.tell({ type: "exec.started", exec: id, argv });
    await terminal.opened;
    return terminal;
  }

  /** What earlier processes had opened. Without a session none of it runs any more. */
  async load(session: GuestSession | null): Promise<void> {
    if (session === null) return await this.#forgetAll();
    // A guest that is paused, or does not speak, must not hold up whoever would end it.
    this.#found = session.ready.then(({ execs }) => this.#takeUp(session, execs)).catch(() => {});
  }

  /** The sandbox has ended. */
  async end(): Promise<void> {
    await Promise.all(this.#endings);
    await this.#forgetAll();
  }

  /** The sandbox runs on without us. */
  release(): void {
    this.#isReleased = true;
    for (const terminal of this.#running.values()) terminal.release();
  }

  async #takeUp(session: GuestSession, execs: readonly KeptExec[]): Promise<void> {
    const records = new Map((await this.#recorded()).map(({ info }) => [info.id, info]));
    for (const kept of execs.filter(({ key }) => isTerminalId(key))) {
      const { key: id, program, failure } = kept;
      const known = records.get(id) ?? { argv: [program], cwd: "/", user: null, startedAtMs: Date.now() };
      records.delete(id);
      try {
        if (failure !== null) {
          await this.#forget(session, id);
          continue;
        }
        const facts: ExecFacts = { ...pick(known), id, tty: true, detached: true };
        this.#watch(session, new Terminal(new SandboxExec(facts, await session.attach(kept), null), null));
      } catch (error) {
        this.#parts.say(`terminal ${id} could not be taken up: ${String(error)}`);
      }
    }
    for (const id of records.keys()) await this.#records.remove(id);
  }

  #watch(session: GuestSession, terminal: Terminal): void {
    this.#running.set(terminal.id, terminal);
    const stopUsing = this.#parts.use();
    const ending = terminal.over
      .then(async ({ id, code, signal, timedOut, state }) => {
        if (this.#isReleased) return;
        this.#running.delete(id);
        stopUsing();
        this.#parts.tell({ type: "exec.ended", exec: id, code, signal, timedOut });
        if (state !== "lost") await this.#forget(session, id);
      })
      .catch((error: unknown) => {
        this.#parts.say(`the end of terminal ${terminal.id} could not be written down: ${String(error)}`);
      });
    this.#endings.add(ending);
    void ending.then(() => this.#endings.delete(ending));
  }

  async #forget(session: GuestSession, id: string): Promise<void> {
    // A guest that has just gone has forgotten it too.
    await session.forget(id).catch(() => {});
    await this.#records.remove(id);
  }

  async #forgetAll(): Promise<void> {
    for (const { info } of await this.#recorded()) await this.#records.remove(info.id);
  }

  async #recorded(): Promise<readonly ExecRecord[]> {
    try {
      return await this.#records.all();
    } catch (error) {
      if (isCode(error, "ENOENT")) return [];
      throw error;
    }
  }

  async #makeFolder(): Promise<void> {
    await mkdir(this.#parts.folder, { mode: 0o700 }).catch((error: unknown) => {
      if (!isCode(error, "EEXIST")) throw error;
    });
  }
}

type KnownFacts = Pick<ExecFacts, "argv" | "cwd" | "user" | "startedAtMs">;

function pick({ argv, cwd, user, startedAtMs }: KnownFacts): KnownFacts {
  return { argv, cwd, user, startedAtMs };
}
