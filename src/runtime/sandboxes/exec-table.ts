/** The commands of one kept sandbox: those that run, and the last ones that are over. */
import { randomBytes } from "node:crypto";
import type { ExecRequest } from "../../core/exec.js";
import type { GuestSession } from "../../guest/index.js";
import type { SandboxHappening } from "./events.js";
import { SandboxExec } from "./sandbox-exec.js";
import type { ExecInfo } from "./types.js";

/** How many that are over are remembered. */
const MOST_ENDED = 64;

export interface ExecPlan {
  readonly request: ExecRequest;
  readonly detached: boolean;
  readonly timeoutMs: number | null;
}

export class ExecTable {
  readonly #folder: string;
  readonly #tell: (happening: SandboxHappening) => void;
  readonly #running = new Map<string, SandboxExec>();
  #ended: ExecInfo[] = [];

  constructor(folder: string, tell: (happening: SandboxHappening) => void) {
    this.#folder = folder;
    this.#tell = tell;
  }

  get running(): number {
    return this.#running.size;
  }

  find(id: string): SandboxExec | null {
    return this.#running.get(id) ?? null;
  }

  list(): readonly ExecInfo[] {
    const running = [...this.#running.values()].map(({ info }) => info);
    return [...this.#ended, ...running].sort((a, b) => a.startedAtMs - b.startedAtMs);
  }

  async start(session: GuestSession, { request, detached, timeoutMs }: ExecPlan): Promise<SandboxExec> {
    const id = `x${randomBytes(4).toString("hex")}`;
    const guest = await session.exec(detached ? { ...request, key: id } : request);
    const { argv, cwd, user = null, tty } = request;
    const facts = { id, argv, cwd, user, tty: tty !== undefined, detached, startedAtMs: Date.now() };
    const exec = new SandboxExec(facts, guest, timeoutMs);
    this.#running.set(id, exec);
    this.#tell({ type: "exec.started", exec: id, argv });
    void exec.over.then((info) => this.#take(info));
    return exec;
  }

  /** What an earlier process knew: with a session, those that go on in it. */
  async load(_session: GuestSession | null): Promise<void> {
    void this.#folder;
  }

  #take(info: ExecInfo): void {
    this.#running.delete(info.id);
    this.#ended = [...this.#ended, info].slice(-MOST_ENDED);
    const { id, code, signal, timedOut } = info;
    this.#tell({ type: "exec.ended", exec: id, code, signal, timedOut });
  }
}
