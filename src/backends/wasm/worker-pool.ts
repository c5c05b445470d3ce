/**
 * Workers that wait for the next call of the same kind. Calls are of one kind where they have the same module, the same
 * limits and the same caller; nothing else is ever shared. A worker serves one call at a time.
 */
import { AgentKernelError } from "../../core/errors.js";
import type { WasmWorker } from "./worker.js";

/** How long one waits that nobody asks for. */
const IDLE_MS = 60_000;

interface Waiter {
  readonly kind: string;
  /** Null: there is room to start one. */
  readonly take: (worker: WasmWorker | null) => void;
  readonly refuse: (error: unknown) => void;
}

interface Idle {
  readonly kind: string;
  readonly worker: WasmWorker;
  readonly sinceMs: number;
}

export class WorkerPool {
  readonly #limit: number;
  /** The one that has waited longest is first. */
  #idle: Idle[] = [];
  readonly #waiting: Waiter[] = [];
  /** Those that serve a call or are being started. */
  #busy = 0;
  readonly #ending = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): { readonly idle: number; readonly busy: number } {
    return { idle: this.#idle.length, busy: this.#busy };
  }

  /** A worker of this kind, or null: the caller starts one. Either way it is given back, with `give` or `drop`. */
  async take(kind: string, signal?: AbortSignal): Promise<WasmWorker | null> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw new AgentKernelError("conflict", "the process that runs modules is ending");
    const index = this.#idle.findLastIndex((idle) => idle.kind === kind && idle.worker.isAlive);
    if (index >= 0) {
      const [idle] = this.#idle.splice(index, 1);
      this.#busy += 1;
      return idle?.worker ?? null;
    }
    if (this.#busy + this.#idle.length >= this.#limit && this.#idle.length > 0) this.#endOldest();
    if (this.#busy < this.#limit) {
      this.#busy += 1;
      return null;
    }
    return await this.#wait(kind, signal);
  }

  /** It is as good as before: the next call may have it. */
  give(kind: string, worker: WasmWorker): void {
    const isUsable = !this.#isClosed && worker.isAlive;
    const index = isUsable ? this.#waiting.findIndex((waiter) => waiter.kind === kind) : -1;
    const [waiter] = index < 0 ? [] : this.#waiting.splice(index, 1);
    if (waiter !== undefined) {
      waiter.take(worker);
    } else if (!isUsable || this.#waiting.length > 0) {
      // Somebody waits for another kind, and has its place.
      this.drop(worker);
    } else {
      this.#busy -= 1;
      this.#idle.push({ kind, worker, sinceMs: performance.now() });
      this.#timer ??= setTimeout(() => this.#endStale(), IDLE_MS).unref();
    }
  }

  /** It has served its last call; null where none could be started. */
  drop(worker: WasmWorker | null): void {
    if (worker !== null) this.#end(worker);
    this.#busy -= 1;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#busy += 1;
    next.take(null);
  }

  /** Ends all that wait; those at work end when they are given back. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    for (const { worker } of this.#idle) this.#end(worker);
    this.#idle = [];
    for (const { refuse } of this.#waiting.splice(0)) {
      refuse(new AgentKernelError("conflict", "the process that runs modules is ending"));
    }
    await Promise.all(this.#ending);
  }

  #wait(kind: string, signal?: AbortSignal): Promise<WasmWorker | null> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(signal?.reason);
      };
      const settle = () => signal?.removeEventListener("abort", leave);
      const waiter: Waiter = {
        kind,
        take: (worker) => {
          settle();
          resolve(worker);
        },
        refuse: (error) => {
          settle();
          reject(error);
        },
      };
      this.#waiting.push(waiter);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  #endOldest(): void {
    const oldest = this.#idle.shift();
    if (oldest !== undefined) this.#end(oldest.worker);
  }

  #endStale(): void {
    this.#timer = null;
    const before = performance.now() - IDLE_MS;
    for (const { worker, sinceMs } of this.#idle) if (sinceMs <= before || !worker.isAlive) this.#end(worker);
    this.#idle = this.#idle.filter(({ worker, sinceMs }) => sinceMs > before && worker.isAlive);
    const [oldest] = this.#idle;
    if (oldest === undefined) return;
    this.#timer = setTimeout(() => this.#endStale(), Math.max(1, oldest.sinceMs - before)).unref();
  }

  #end(worker: WasmWorker): void {
    const over = worker
      .end()
      .catch(() => {
        // The jail's own supervisor tells the next sweep what it left.
      })
      .finally(() => this.#ending.delete(over));
    this.#ending.add(over);
  }
}
