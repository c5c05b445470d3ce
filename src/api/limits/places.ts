/** A place for a command, and the account of what it used: all that a caller's quota speaks of. */
import type { Caller } from "../auth/caller.js";
import { CpuLedger } from "./cpu-ledger.js";
import { FairQueue, type QueueOptions } from "./fair-queue.js";

export class Places {
  readonly #queue: FairQueue;
  readonly #ledger = new CpuLedger();

  constructor(options: QueueOptions) {
    this.#queue = new FairQueue(options);
  }

  get running(): number {
    return this.#queue.running;
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  /** Does the work once there is a place for it. */
  async at<T>({ id, quotas }: Caller, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    this.#ledger.refuseBeyond(id, quotas.cpuSecondsPerHour);
    const leave = await this.#queue.enter(id, quotas.concurrency, signal);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  used({ id }: Caller, cpuUs: number): void {
    this.#ledger.add(id, cpuUs);
  }
}
