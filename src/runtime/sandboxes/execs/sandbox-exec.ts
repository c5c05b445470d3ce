/** One command in a kept sandbox, from its start to its end. */
import type { ExecExit } from "../../../core/exec.js";
import type { GuestExec } from "../../../guest/index.js";
import { type CommandEnd, CommandWait } from "../../command-end.js";
import type { ExecInfo } from "../types.js";

/** What is known of it before it runs. */
export type ExecFacts = Pick<ExecInfo, "id" | "argv" | "cwd" | "user" | "tty" | "detached" | "startedAtMs">;

export class SandboxExec {
  readonly facts: ExecFacts;
  /** Whoever asked for it connects its streams, unless it is detached: then its output is taken already. */
  readonly guest: GuestExec;
  /** With the time limit; signals of the user's go through it. */
  readonly wait: CommandWait;
  /** Everything is known and noted. Never rejects. */
  readonly over: Promise<ExecInfo>;
  #info: ExecInfo;
  #hasExited = false;

  constructor(facts: ExecFacts, guest: GuestExec, timeoutMs: number | null) {
    this.facts = facts;
    this.guest = guest;
    this.wait = new CommandWait(guest, timeoutMs);
    this.#info = {
      ...facts,
      state: "running",
      endedAtMs: null,
      code: null,
      signal: null,
      timedOut: false,
      error: null,
    };
    guest.opened.catch(() => {});
    guest.exited.then(
      () => {
        this.#hasExited = true;
      },
      () => {
        this.#hasExited = true;
      },
    );
    this.over = this.wait.end.then(
      (end) => this.#ended(end),
      (error: unknown) => this.#failed(error),
    );
  }

  get id(): string {
    return this.facts.id;
  }

  get info(): ExecInfo {
    return this.#info;
  }

  /** Kills it with everything that descends from it. */
  abandon(): void {
    if (!this.#hasExited) this.guest.close();
  }

  #ended({ exit, timedOut }: CommandEnd): ExecInfo {
    // The wait may have been given up before the command ended.
    this.abandon();
    this.#info = { ...this.#info, state: "ended", endedAtMs: Date.now(), ...codeAndSignal(exit), timedOut };
    return this.#info;
  }

  async #failed(error: unknown): Promise<ExecInfo> {
    const ran = await this.guest.opened.then(
      () => true,
      () => false,
    );
    const reason = error instanceof Error ? error.message : String(error);
    this.#info = { ...this.#info, state: ran ? "lost" : "failed", endedAtMs: Date.now(), error: reason };
    return this.#info;
  }
}

function codeAndSignal({ code, signal }: ExecExit): Pick<ExecInfo, "code" | "signal"> {
  return { code, signal };
}
