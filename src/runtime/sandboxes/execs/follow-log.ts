/** A detached command's output, and what comes of it from now on. */
import type { Buffer } from "node:buffer";
import type { ExecLog } from "./exec-log.js";
import { START } from "./log-format.js";
import { type LogPiece, readLog } from "./log-reader.js";

export interface LogOptions {
  /** Goes on until the command has ended. */
  readonly follow: boolean;
  /** Only about so many of the last bytes of what is there. */
  readonly tailBytes?: number | undefined;
  /** Only so many of the last lines of what is there, those of both streams together. */
  readonly tailLines?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** `log` is null where the command is over. */
export async function* followLog(
  folder: string,
  id: string,
  log: ExecLog | null,
  { follow, tailBytes = Number.POSITIVE_INFINITY, tailLines, signal }: LogOptions,
): AsyncGenerator<LogPiece, void> {
  const growth = log === null ? null : new Growth(log, signal);
  try {
    const kept = tailBytes === Number.POSITIVE_INFINITY ? tailBytes : await lengthOf(folder, id);
    let skip = kept === Number.POSITIVE_INFINITY ? 0 : Math.max(0, kept - tailBytes);
    const lines = tailLines === undefined ? null : new LastLines(await linesOf(folder, id), tailLines);
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
          else if (!("bytes" in piece) || lines === null) yield piece;
          else {
            const bytes = lines.kept(piece.bytes);
            if (bytes.length > 0) yield { ...piece, bytes };
          }
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

const LINE_FEED = 0x0a;

/** Lines of what is there now; the last one may have no end yet. */
async function linesOf(folder: string, id: string): Promise<number> {
  let ends = 0;
  let last = LINE_FEED;
  for await (const piece of readLog(folder, id)) {
    if (!("bytes" in piece)) continue;
    for (const byte of piece.bytes) if (byte === LINE_FEED) ends++;
    last = piece.bytes.at(-1) ?? last;
  }
  return last === LINE_FEED ? ends : ends + 1;
}

/** Leaves out the lines before the last ones. */
class LastLines {
  #left: number;

  constructor(all: number, wanted: number) {
    this.#left = Math.max(0, all - wanted);
  }

  kept(bytes: Buffer): Buffer {
    let from = 0;
    while (this.#left > 0) {
      const end = bytes.indexOf(LINE_FEED, from);
      if (end < 0) return bytes.subarray(bytes.length);
      from = end + 1;
      this.#left--;
    }
    return bytes.subarray(from);
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
