/** A place for a command, and the account of what it used: all that a caller's quota speaks of. */
import type { ExecExit } from "../../core/exec.js";
import type { Caller } from "../auth/caller.js";
import { CpuLedger } from "./cpu-ledger.js";
import { FairQueue, type QueueOptions } from "./fair-queue.js";
import { SandboxQuota } from "./sandbox-quota.js";

interface PlacesOptions extends QueueOptions {
  /** The default for a caller that is not trusted and whose key names no limit. */
  readonly sandboxesOfCaller: number;
  /** Where processor time is accounted for; without it the account ends with this process. */
  readonly ledger?: CpuLedger;
}

export class Places {
  readonly #options: PlacesOptions;
  readonly #queue: FairQueue;
  readonly #sandboxes: SandboxQuota;
  readonly #ledger: CpuLedger;

  constructor(options: PlacesOptions) {
    this.#options = options;
    this.#queue = new FairQueue(options);
    this.#ledger = options.ledger ?? new CpuLedger();
    this.#sandboxes = new SandboxQuota(options.sandboxesOfCaller);
  }

  get running(): number {
    return this.#queue.running;
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  /**
   * Does the work once there is a place for it. `leaveAlone` is for a command that goes on while nobody waits for it: it
   * counts as one of the caller's until the work is done, and keeps nobody else waiting.
   */
  async at<T>(caller: Caller, signal: AbortSignal, work: (leaveAlone: () => void) => Promise<T>): Promise<T> {
    const { id, quotas, isTrusted } = caller;
    this.#ledger.refuseBeyond(id, quotas.cpuSecondsPerHour);
    const most = quotas.concurrency ?? (isTrusted ? null : this.#options.places);
    const place = await this.#queue.enter(id, most, signal);
    try {
      return await work(place.leaveAlone);
    } finally {
      place.leave();
    }
  }

  used({ id }: Caller, cpuUs: number): void {
    this.#ledger.add(id, cpuUs);
  }

  /** However it ends, and whoever still waits for it then. */
  charge(caller: Caller, { exited }: { readonly exited: Promise<ExecExit> }): void {
    exited.then(
      ({ usage }) => this.used(caller, usage.userUs + usage.systemUs),
      // The sandbox has died, and what it had used with it.
      () => {},
    );
  }

  /** Room for one more sandbox. Returns how to give it back, once it is among `all` or gone. */
  reserveSandbox(caller: Caller, all: readonly { readonly owner: string | null }[]): () => void {
    return this.#sandboxes.reserve(caller, all);
  }
}
