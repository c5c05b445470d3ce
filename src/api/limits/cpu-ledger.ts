/** How much processor time each caller's commands have used within the last hour, as far as they have ended. */
import { AgentKernelError } from "../../core/errors.js";

const WINDOW_MS = 3_600_000;
/** Use is kept by the minute, so that a caller's account has at most sixty entries. */
const STEP_MS = 60_000;

export class CpuLedger {
  readonly #accounts = new Map<string, Map<number, number>>();
  readonly #now: () => number;

  constructor(now: () => number = () => Date.now()) {
    this.#now = now;
  }

  add(caller: string, cpuUs: number): void {
    const step = Math.floor(this.#now() / STEP_MS);
    const account = this.#accounts.get(caller) ?? new Map<number, number>();
    account.set(step, (account.get(step) ?? 0) + cpuUs);
    this.#accounts.set(caller, account);
  }

  usedSeconds(caller: string): number {
    const account = this.#accounts.get(caller);
    if (account === undefined) return 0;
    const oldest = Math.floor((this.#now() - WINDOW_MS) / STEP_MS);
    let sum = 0;
    for (const [step, used] of account) {
      if (step <= oldest) account.delete(step);
      else sum += used;
    }
    if (account.size === 0) this.#accounts.delete(caller);
    return sum / 1_000_000;
  }

  refuseBeyond(caller: string, seconds: number | null): void {
    if (seconds === null || this.usedSeconds(caller) < seconds) return;
    throw new AgentKernelError("too_many_requests", `this key's ${seconds} s of processor time an hour are used up`, {
      hint: "wait, or use a key with a larger share",
      details: { retry_after_s: STEP_MS / 1000 },
    });
  }
}
