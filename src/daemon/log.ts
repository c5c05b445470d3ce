/**
 * The daemon's own log: rare lines about itself, never words or output of anyone's command. A log that cannot be written
 * must not end the daemon: what is lost is counted, and told when a line gets through again.
 */
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { escapeText } from "../core/escape.js";

export interface Log {
  say(line: string): void;
  /** Lines that could not be written. */
  readonly lost: number;
}

export const MAX_LOG_BYTES = 1 << 20;
const KEPT_FILES = 3;

export class FileLog implements Log {
  readonly #path: string;
  #dropped = 0;
  lost = 0;

  constructor(path: string) {
    this.#path = path;
  }

  say(line: string): void {
    const gap = this.#dropped > 0 ? stamped(`${this.#dropped} lines could not be written`) : "";
    try {
      this.#makeRoom();
      appendFileSync(this.#path, `${gap}${stamped(line)}`, { mode: 0o600 });
      this.#dropped = 0;
    } catch {
      this.#dropped++;
      this.lost++;
    }
  }

  #makeRoom(): void {
    const found = statSync(this.#path, { throwIfNoEntry: false });
    if (found === undefined) mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    if (found === undefined || !found.isFile() || found.size < MAX_LOG_BYTES) return;
    for (let age = KEPT_FILES - 1; age > 0; age--) {
      const older = `${this.#path}.${age}`;
      if (statSync(older, { throwIfNoEntry: false })) renameSync(older, `${this.#path}.${age + 1}`);
    }
    renameSync(this.#path, `${this.#path}.1`);
  }
}

/** For a daemon in the foreground: whoever started it keeps what it says. */
export class StderrLog implements Log {
  lost = 0;

  constructor() {
    process.stderr.on("error", () => {
      this.lost++;
    });
  }

  say(line: string): void {
    process.stderr.write(stamped(line));
  }
}

function stamped(line: string): string {
  return `${new Date().toISOString()} ${escapeText(line)}\n`;
}
