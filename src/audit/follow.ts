/** New records as they are written, across files. Waits for the folder to change; asks nothing in between. */
import { watch } from "node:fs";
import { closedLength, firstLine, logFileNumbers } from "./log-files.js";
import { makeFolder } from "./make-folder.js";
import { type AuditRecord, asRecord, rawLines } from "./reader.js";

interface Position {
  file: number;
  offset: number;
}

/** Records after this one, until the signal. Lines that cannot be read are left out. */
export async function* follow(folder: string, signal: AbortSignal, afterSeq: number): AsyncGenerator<AuditRecord> {
  makeFolder(folder);
  const changes = new Changes(folder, signal);
  try {
    const at: Position = { file: fileWith(folder, afterSeq + 1), offset: 0 };
    let seq = afterSeq;
    while (!signal.aborted) {
      // Asked before reading: what changes while we read is seen by the next round.
      const changed = changes.next();
      for await (const record of newRecords(folder, at)) {
        if (record.seq <= seq) continue;
        seq = record.seq;
        yield record;
      }
      await changed;
    }
  } finally {
    changes.close();
  }
}

/** Where that line is, or will be: other files may have begun since somebody looked. */
function fileWith(folder: string, seq: number): number {
  const numbers = logFileNumbers(folder);
  const found = numbers.findLast((number) => (firstLine(folder, number)?.seq ?? Number.POSITIVE_INFINITY) <= seq);
  return found ?? numbers[0] ?? 0;
}

/** Only whole lines move the position: half a line may be cut off again by the writer that finds it. */
async function* newRecords(folder: string, at: Position): AsyncGenerator<AuditRecord> {
  for (const file of logFileNumbers(folder)) {
    if (file < at.file) continue;
    if (file > at.file) Object.assign(at, { file, offset: 0 });
    const closedAt = closedLength(folder, file);
    for await (const line of rawLines(folder, file, at.offset)) {
      if (!line.isWhole || line.endOffset > closedAt) break;
      at.offset = line.endOffset;
      const record = asRecord(line.text);
      if (record !== null) yield record;
    }
  }
}

/** Any number of changes since the last question count as one. */
class Changes {
  readonly #watcher;
  #hasChanged = false;
  #wake: () => void = () => {};

  constructor(folder: string, signal: AbortSignal) {
    this.#watcher = watch(folder, { signal }, () => this.#changed());
    this.#watcher.on("error", () => this.#changed());
    signal.addEventListener("abort", () => this.#changed(), { once: true });
  }

  next(): Promise<void> {
    this.#hasChanged = false;
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#hasChanged) resolve();
    });
  }

  close(): void {
    this.#watcher.close();
  }

  #changed(): void {
    this.#hasChanged = true;
    this.#wake();
  }
}
