/** A detached command's output, and what comes of it from now on. */
import type { ExecLog } from "./exec-log.js";
import { START } from "./log-format.js";
import { type LogPiece, readLog } from "./log-reader.js";

export interface LogOptions {
  /** Goes on until the command has ended. */
  readonly follow: boolean;
  /** Only about so many of the last bytes of what is there. */
  readonly tailBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** `log` is null where the command is over. */
export async function* followLog(
  folder: string,
  id: string,
  log: ExecLog | null,
  { follow, tailBytes = Number.POSITIVE_INFINITY, signal }: LogOptions,
): AsyncGenerator<LogPiece, void> {
  const growth = log === null ? null : new Growth(log, signal);
  try {
    const kept = tailBytes === Number.POSITIVE_INFINITY ? tailBytes : await lengthOf(folder, id);
    let skip = kept === Number.POSITIVE_INFINITY ? 0 : Math.max(0, kept - tailBytes);
    let place = START;
    for (;;) {
      const isLast = log === null || log.isClosed || !follow || signal?.aborted === true;
      const pieces = readLog(folder, id, place);
      try {
        for (let next = await pieces.next(); ; next = await pieces.next()) {
          if (next.done === true) {
            place = next.value;
            break;
          }
          const piece = next.value;
          if (signal?.aborted === true) return;
          if ("bytes" in piece && skip >= piece.bytes.length) skip -= piece.bytes.length;
          else yield piece;
        }
      } finally {
        // Whoever leaves early leaves a file open otherwise.
        await pieces.return(place);
      }
      if (isLast) return;
      await growth?.next();
    }
  } finally {
    growth?.stop();
  }
}

async function lengthOf(folder: string, id: string): Promise<number> {
  let length = 0;
  for await (const piece of readLog(folder, id)) if ("bytes" in piece) length += piece.bytes.length;
  return length;
}

/** What grew before it was asked for counts too. */
class Growth {
  readonly #stops: (() => void)[] = [];
  #hasGrown = false;
  #wake: () => void = () => {};

  constructor(log: ExecLog, signal?: AbortSignal) {
    const grow = () => {
      this.#hasGrown = true;
      this.#wake();
    };
    this.#stops.push(log.onGrowth(grow));
    signal?.addEventListener("abort", grow, { once: true });
    this.#stops.push(() => signal?.removeEventListener("abort", grow));
  }

  async next(): Promise<void> {
    if (!this.#hasGrown) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#hasGrown = false;
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }
}
