/** A folder listing as it streams in: newline-separated JSON objects, each bounded, all of them bounded. */
import { Buffer } from "node:buffer";
import { parseJsonObject } from "./json.js";
import { type DirEntry, readDirEntry } from "./messages.js";
import { GuestViolation } from "./violation.js";

export const MAX_DIR_ENTRIES = 100_000;
const MAX_LINE_BYTES = 4096;
const NEWLINE = 0x0a;

export class DirListing {
  readonly entries: DirEntry[] = [];
  readonly #line = Buffer.allocUnsafe(MAX_LINE_BYTES);
  #fill = 0;

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      const newline = chunk.indexOf(NEWLINE, at);
      const end = newline < 0 ? chunk.length : newline;
      if (this.#fill + end - at > MAX_LINE_BYTES) throw tooLong("entry");
      this.#fill += chunk.copy(this.#line, this.#fill, at, end);
      at = end + 1;
      if (newline >= 0) this.#entry();
    }
  }

  /** The last entry may come without its newline. */
  finish(): void {
    if (this.#fill > 0) this.#entry();
  }

  #entry(): void {
    if (this.#fill === 0) return;
    if (this.entries.length === MAX_DIR_ENTRIES) throw tooLong("listing");
    const line = this.#line.subarray(0, this.#fill);
    this.#fill = 0;
    this.entries.push(readDirEntry(parseJsonObject(line)));
  }
}

function tooLong(what: string): GuestViolation {
  return new GuestViolation("oversize", `a folder ${what} that is too long`);
}
