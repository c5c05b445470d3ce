/**
 * Who may start the next command. There are so many places; when all are taken, callers wait in lines of their own, and a
 * place that gets free goes to whoever has the fewest, then to whoever was served longest ago. So a caller with hundreds
 * of requests never keeps another's single one waiting behind them.
 */
import { AgentKernelError } from "../../core/errors.js";

export interface QueueOptions {
  readonly places: number;
  /** How many of one caller may wait. */
  readonly mostWaiting: number;
}

interface Waiting {
  readonly enter: () => void;
}

/** A slot that a caller holds. */
interface QueueSlot {
  /** Gives it back. */
  readonly leave: () => void;
  /** Others may have it; for its caller's own limit it still counts. */
  readonly leaveAlone: () => void;
}

interface Line {
  running: number;
  /** Running commands that others do not wait for. */
  alone: number;
  readonly waiting: Waiting[];
  servedAt: number;
  limit: number;
}

export class FairQueue {
  readonly #options: QueueOptions;
  readonly #lines = new Map<string, Line>();
  #running = 0;
  #turn = 0;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return [...this.#lines.values()].reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  /** Rejects where too many wait already, or with the signal's reason. */
  async enter(caller: string, limit: number | null, signal: AbortSignal): Promise<QueueSlot> {
    signal.throwIfAborted();
    const line = this.#line(caller, limit);
    if (line.alone >= line.limit) throw allLeftAlone(line.limit);
    if (line.waiting.length >= this.#options.mostWaiting) throw tooMany(this.#options.mostWaiting);
    await new Promise<void>((resolve, reject) => {
      const entry: Waiting = {
        enter: () => {
          signal.removeEventListener("abort", leave);
          resolve();
        },
      };
      const leave = () => {
        line.waiting.splice(line.waiting.indexOf(entry), 1);
        this.#forget(caller, line);
        reject(signal.reason);
      };
      signal.addEventListener("abort", leave, { once: true });
      line.waiting.push(entry);
      this.#admit();
    });
    let state: "here" | "alone" | "gone" = "here";
    return {
      leaveAlone: () => {
        if (state !== "here") return;
        state = "alone";
        line.alone++;
        this.#running--;
        this.#admit();
      },
      leave: () => {
        if (state === "gone") return;
        if (state === "alone") line.alone--;
        else this.#running--;
        state = "gone";
        line.running--;
        this.#forget(caller, line);
        this.#admit();
      },
    };
  }

  #admit(): void {
    while (this.#running < this.#options.places) {
      const next = this.#next();
      const entry = next?.waiting.shift();
      if (next === undefined || entry === undefined) return;
      next.running++;
      next.servedAt = ++this.#turn;
      this.#running++;
      entry.enter();
    }
  }

  #next(): Line | undefined {
    let best: Line | undefined;
    for (const line of this.#lines.values()) {
      if (line.waiting.length === 0 || line.running >= line.limit) continue;
      const isBetter =
        best === undefined ||
        line.running < best.running ||
        (line.running === best.running && line.servedAt < best.servedAt);
      if (isBetter) best = line;
    }
    return best;
  }

  #line(caller: string, limit: number | null): Line {
    const line = this.#lines.get(caller) ?? { running: 0, alone: 0, waiting: [], servedAt: 0, limit: 0 };
    line.limit = limit ?? Number.POSITIVE_INFINITY;
    this.#lines.set(caller, line);
    return line;
  }

  #forget(caller: string, line: Line): void {
    if (line.running === 0 && line.waiting.length === 0) this.#lines.delete(caller);
  }
}

/** They may go on for ever, so nobody waits for them. */
function allLeftAlone(most: number): AgentKernelError {
  return new AgentKernelError(
    "too_many_requests",
    `${most} detached commands of this caller run, which are all it may`,
    {
      hint: "end some of them, or use a key with a higher --concurrency",
      details: { retry_after_s: 60 },
    },
  );
}

function tooMany(most: number): AgentKernelError {
  return new AgentKernelError("too_many_requests", `${most} requests of this caller wait already`, {
    hint: "wait for some of them to end",
    details: { retry_after_s: 1 },
  });
}
