/** Waits for a command, and makes sure that the wait has an end: a time limit, or a signal that was passed on. */
import type { ExecExit } from "../core/exec.js";
import type { GuestExec } from "../guest/index.js";

/** How long a command whose time is up may take to end before it is killed with everything around it. */
const TIMEOUT_GRACE_MS = 1000;

const SIGTERM = 15;
const SIGKILL = 9;

export interface CommandEnd {
  readonly exit: ExecExit;
  readonly timedOut: boolean;
}

/** The wait for one command. */
export class CommandWait {
  readonly end: Promise<CommandEnd>;
  readonly #exec: GuestExec;
  #resolve: (end: CommandEnd) => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  #timedOut = false;

  constructor(exec: GuestExec, timeoutMs: number | null) {
    this.#exec = exec;
    this.end = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      exec.exited.then((exit) => this.#settle(exit), reject);
    });
    this.end.catch(() => {}).finally(() => this.#clear());
    if (timeoutMs !== null) this.#timer = setTimeout(() => this.#timeOut(), timeoutMs);
  }

  /** Passes a signal of the user's on. If the command does not end within the grace time, or at a second one, the wait does. */
  interrupt(signal: number, graceMs: number): void {
    if (this.#grace) {
      this.#giveUp(signal);
    } else {
      this.#exec.signal(signal, "group");
      this.#grace = setTimeout(() => this.#giveUp(signal), graceMs);
    }
  }

  #timeOut(): void {
    this.#timedOut = true;
    this.#exec.signal(SIGTERM, "tree", { last: true });
    // A user's signal may have left it more.
    clearTimeout(this.#grace);
    this.#grace = setTimeout(() => this.#giveUp(SIGKILL), TIMEOUT_GRACE_MS);
  }

  /** Whoever waits ends the sandbox next, and with it whatever did not listen. */
  #giveUp(signal: number): void {
    this.#settle({ code: null, signal, usage: { userUs: 0, systemUs: 0, maxRssKiB: 0 } });
  }

  #settle(exit: ExecExit): void {
    this.#resolve({ exit, timedOut: this.#timedOut });
  }

  #clear(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#grace);
  }
}

export function exitStatus({ exit, timedOut }: CommandEnd): number {
  if (timedOut) return 124;
  return exit.code ?? 128 + (exit.signal ?? SIGKILL);
}
